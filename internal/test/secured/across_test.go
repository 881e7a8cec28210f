package secured

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"bulkload/internal/jobs/job"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// testAcross compares a table of the secured cluster with one of a cluster without Kerberos, in both directions, and repairs the latter. Then it
// loads one build into both clusters.
func testAcross(t *testing.T, s *site) {
	s = s.as(testcluster.HBaseAdmin)
	e := small(t)[0]
	s.create(t, "across", e.salts)
	s.load(t, e, "across")
	other := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, other)
	js := jobtest.Spec(t, "check")
	js.Table, js.Inputs = jobtest.FreshTable(t, env, 10, nil), []string{jobtest.Export(t, "check.csv")}
	_, err := job.Run(t.Context(), env, jobtest.Resolve(t, js), job.RunOptions{})
	testcheck.Must(t, err)
	compare := []string{"compare", "across", js.Table, "--b-conf", other.ConfDir(), "--user", "tina"}
	s.must(t, compare...)
	admin := other.AdminT(t)
	_, err = admin.Run(t.Context(), "put", js.Table, "0-another", "f:id", "of HBase's client")
	testcheck.Must(t, err)
	if r := s.do(t, compare...); r.code != 8 {
		t.Errorf("exit code %d: %s", r.code, r.err)
	}
	s.must(t, append(compare, "--repair-b")...)
	got, err := admin.Digest(t.Context(), js.Table)
	if testcheck.Must(t, err); got != e.digest {
		t.Errorf("HBase's client sees %s, want %s", got, e.digest)
	}
	s.must(t, compare...)

	both := jobtest.FreshTable(t, env, e.salts, nil) // one build, for both clusters
	s.create(t, both, e.salts)
	s.load(t, e, both, "--also", other.ConfDir(), "--state", t.TempDir())
	s.holds(t, e, both)
	got, err = admin.Digest(t.Context(), both)
	if testcheck.Must(t, err); got != e.digest {
		t.Errorf("HBase's client sees %s, want %s", got, e.digest)
	}
}

// testOwnLogin loads into a cluster without Kerberos and into the site's by one command without flags for a login: the configuration of the
// site has one, which HBase's own client also uses.
func testOwnLogin(t *testing.T, s *site) {
	e, own := small(t)[0], testcluster.Shared(t)
	table := jobtest.FreshTable(t, jobtest.ClusterEnv(t, own), e.salts, nil)
	s.create(t, table, e.salts)
	conf := t.TempDir()
	testcheck.Must(t, os.CopyFS(conf, os.DirFS(s.c.ConfDir())))
	site := filepath.Join(conf, "hbase-site.xml")
	text, err := os.ReadFile(site)
	testcheck.Must(t, err)
	for key, value := range map[string]string{"hbase.client.keytab.principal": testcluster.Principal(s.user), "hbase.client.keytab.file": s.c.Keytab(s.user)} {
		text = bytes.Replace(text, []byte("</configuration>"), fmt.Appendf(nil, "<property><name>%s</name><value>%s</value></property></configuration>", key, value), 1)
	}
	testcheck.Must(t, os.WriteFile(site, text, 0o600))

	command := s.with("HADOOP_CONF_DIR="+own.ConfDir(), "HBASE_CONF_DIR="+own.ConfDir(), "BULKLOAD_PRINCIPAL=", "BULKLOAD_KEYTAB=")
	if r := command.do(t, command.loading(e, table, "--also", s.c.ConfDir(), "--state", t.TempDir())...); r.code == 0 {
		t.Error("a cluster with Kerberos is loaded without a login")
	}
	command.load(t, e, table, "--also", conf, "--state", t.TempDir())
	s.holds(t, e, table)
	s.loadedOnce(t, table)
	got, err := own.AdminT(t).Digest(t.Context(), table)
	if testcheck.Must(t, err); got != e.digest {
		t.Errorf("HBase's client sees %s, want %s", got, e.digest)
	}
	for dir, files := range s.storeFiles(t, "/hbase", table) {
		if files[0].owner != s.user {
			t.Errorf("the file in %s is of %s, want %s", dir, files[0].owner, s.user)
		}
	}
}
