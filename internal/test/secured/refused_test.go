package secured

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// notFit is the exit code for a cluster or a table that is unsuitable for a job.
const notFit = 3

// soon is the time limit for the report of an error in the settings, which needs no waiting. The limit is generous, since
// the machine may be busy.
const soon = 3 * time.Minute

// testRefused runs the job as users without rights, and with clients that do not match the cluster: each is refused by name
// before any of the input is read or anything is written.
func testRefused(t *testing.T, s *site) {
	e := small(t)[0]
	const table = "refused"
	s.create(t, table, e.salts)
	for pattern, code := range map[string]int{"nn/*@" + testcluster.Realm: 0, "hdfs/*": notFit} {
		more := property("hdfs-site.xml", "dfs.namenode.kerberos.principal", "hdfs/_HOST@"+testcluster.Realm)
		more["hdfs-site.xml"]["dfs.namenode.kerberos.principal.pattern"] = pattern
		if r := s.with(s.confWith(t, more)...).do(t, "check", "--job", e.job(), "--table", table, "--input", e.input); r.code != code {
			t.Errorf("pattern %s: exit code %d: %s", pattern, r.code, r.out)
		}
	}
	for _, c := range []struct {
		name  string
		site  *site
		names []string
	}{
		{"nobody", s.as(testcluster.Nobody), []string{"CREATE", table, testcluster.Nobody}},
		{"nocreate", s.as(testcluster.NoCreate), []string{"CREATE", table, testcluster.NoCreate}},
		{"another NameNode", s.with(s.confWith(t, property("hdfs-site.xml", "dfs.namenode.kerberos.principal", "hdfs/_HOST@"+testcluster.Realm))...),
			[]string{"nn/localhost", "hdfs/localhost", "(dfs.namenode.kerberos.principal)"}},
		{"a NameNode without a name", s.with(s.confWith(t, property("hdfs-site.xml", "dfs.namenode.kerberos.principal", ""))...), []string{"(dfs.namenode.kerberos.principal)"}},
		{"another region server", s.with(s.confWith(t, property("hbase-site.xml", "hbase.regionserver.kerberos.principal", "rs/_HOST@"+testcluster.Realm))...),
			[]string{"rs/localhost", "(hbase.regionserver.kerberos.principal)"}},
		{"a simple client", s.with(s.conf(t, "kerberos", "simple")...), []string{"hbase.security.authentication", "kerberos"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := s.written(t, c.site.user)
			r := c.site.do(t, c.site.loading(e, table)...)
			refusedWith(t, r, c.names...)
			if n := s.written(t, c.site.user); n != before {
				t.Errorf("%d calls at the NameNode have written as %s", n-before, c.site.user)
			}
			if check := c.site.do(t, "check", "--job", e.job(), "--table", table); check.code != notFit || !strings.Contains(check.out, c.names[0]) {
				t.Errorf("check: exit code %d: %s", check.code, check.out)
			}
		})
	}
}

// testKerberosRefused runs the job on a cluster without security with clients that log in, at HDFS, at HBase, at both: it is refused
// before anything is built.
func testKerberosRefused(t *testing.T, s *site) {
	e := small(t)[0]
	const table = "refused"
	s.create(t, table, e.salts)
	kdc := testcluster.StartKDC(t, testcluster.AtLevel(testcluster.Privacy))
	login := s.with("KRB5_CONFIG="+kdc.Krb5Conf(), "BULKLOAD_PRINCIPAL="+testcluster.Principal(testcluster.Loader), "BULKLOAD_KEYTAB="+kdc.Keytab(testcluster.Loader))
	hadoop := map[string]string{"hadoop.security.authentication": "kerberos", "dfs.namenode.kerberos.principal": testcluster.Principal("nn/_HOST")}
	hbase := map[string]string{"hbase.security.authentication": "kerberos", "hbase.master.kerberos.principal": testcluster.Principal("hbase/_HOST"),
		"hbase.regionserver.kerberos.principal": testcluster.Principal("hbase/_HOST")}
	for _, c := range []struct {
		name        string
		core, hbase map[string]string
		names       []string
	}{
		{"at HDFS", hadoop, nil, []string{"hadoop.security.authentication", "simple"}},
		{"at HBase", nil, hbase, []string{"hbase.security.authentication", "simple"}},
		{"at both", hadoop, hbase, []string{"security.authentication", "simple"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			conf := s.confWith(t, map[string]map[string]string{"core-site.xml": c.core, "hdfs-site.xml": nil, "hbase-site.xml": c.hbase})
			own := login.with(conf...)
			r := own.do(t, own.loading(e, table)...)
			refusedWith(t, r, c.names...)
		})
	}
}

// property returns a property of a file for confWith.
func property(file, key, value string) map[string]map[string]string {
	more := map[string]map[string]string{"core-site.xml": nil, "hdfs-site.xml": nil, "hbase-site.xml": nil}
	more[file] = map[string]string{key: value}
	return more
}

// confWith returns the environment with a configuration that has additional properties.
func (s *site) confWith(t testing.TB, more map[string]map[string]string) []string {
	t.Helper()
	dir := t.TempDir()
	for name, properties := range more {
		var added strings.Builder
		for key, value := range properties {
			fmt.Fprintf(&added, "<property><name>%s</name><value>%s</value></property>", key, value)
		}
		text := strings.Replace(read(t, filepath.Join(s.c.ConfDir(), name)), "</configuration>", added.String()+"</configuration>", 1)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return []string{"HADOOP_CONF_DIR=" + dir, "HBASE_CONF_DIR=" + dir}
}

// refusedWith checks that a command is refused before its input is read, with a message that contains these texts.
func refusedWith(t *testing.T, r ended, names ...string) {
	t.Helper()
	t.Logf("exit code %d after %.1f s: %s", r.code, r.took.Seconds(), r.message())
	if r.code != notFit {
		t.Errorf("exit code %d, want %d", r.code, notFit)
	}
	if strings.Contains(r.err, "phase=read") {
		t.Errorf("the input was read: %s", r.err)
	}
	if r.took > soon {
		t.Errorf("refused after %s", r.took)
	}
	for _, name := range names {
		if !strings.Contains(r.message(), name) {
			t.Errorf("the message does not name %s", name)
		}
	}
}

// conf returns the environment with a configuration in which one value is replaced in all files.
func (s *site) conf(t testing.TB, from, to string) []string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"core-site.xml", "hdfs-site.xml", "hbase-site.xml"} {
		text := strings.ReplaceAll(read(t, filepath.Join(s.c.ConfDir(), name)), "<value>"+from+"</value>", "<value>"+to+"</value>")
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return []string{"HADOOP_CONF_DIR=" + dir, "HBASE_CONF_DIR=" + dir}
}

// written counts a user's calls at the NameNode that create, change or remove files.
func (s *site) written(t testing.TB, user string) (n int) {
	t.Helper()
	for _, command := range []string{"create", "mkdirs", "rename", "setPermission", "delete", "getDelegationToken"} {
		n += len(s.audited(t, user, command))
	}
	return n
}

// testACL lets HBase's user take the files of a direct load through directories whose mode denies it, by an ACL.
func testACL(t *testing.T, s *site) {
	e := small(t)[0]
	const table = "by_acl"
	s.create(t, table, e.salts)
	closed := path.Join("/user", testcluster.Loader, "closed")
	shell := func(commands ...[]string) {
		t.Helper()
		_, err := s.c.FsShell(t.Context(), commands...)
		testcheck.Must(t, err)
	}
	shell([]string{"-rm", "-r", "-f", "-skipTrash", closed}, []string{"-mkdir", closed}, []string{"-chown", testcluster.Loader, closed}, []string{"-chmod", "700", closed},
		[]string{"-setfacl", "-m", "user:hbase:rwx", closed}, []string{"-chmod", "700", closed}) // the mask removes its effect
	args := s.loading(e, table, "--staging", closed+"/jobs", "--load-mode", "direct")
	if r := s.do(t, args...); r.code != 3 || !strings.Contains(r.err, "the ACL of "+closed+" does not let hbase pass") {
		t.Errorf("a mask without x: exit code %d: %s", r.code, r.err)
	}
	shell([]string{"-setfacl", "-m", "user:hbase:--x", closed}, []string{"-setfacl", "-m", "default:user:hbase:rwx", closed})
	s.must(t, args...)
	s.holds(t, e, table) // the files' modes are those of the job
}

// testGrants runs the commands that check --grants prints as an administrator: then a user without rights can load a table from an
// input and with a staging directory that were inaccessible.
func testGrants(t *testing.T, s *site) {
	e := small(t)[0]
	const table, dir = "granted", "/granted"
	s.create(t, table, e.salts)
	local := e.input
	e.input = "hdfs://" + dir + "/in/check.csv"
	_, err := s.c.FsShell(t.Context(), []string{"-rm", "-r", "-f", "-skipTrash", dir}, []string{"-mkdir", "-p", dir + "/in"}, []string{"-put", local, dir + "/in"},
		[]string{"-chmod", "-R", "700", dir}, []string{"-setfacl", "-m", "user:" + testcluster.Nobody + ":--x", dir})
	testcheck.Must(t, err)
	own := s.as(testcluster.Nobody)
	staging := []string{"--staging", dir + "/jobs", "--verify", "files"} // HBase's files are closed, too
	if r := own.do(t, own.loading(e, table, staging...)...); r.code == 0 {
		t.Fatal("a user without rights loads the table")
	}
	r := own.must(t, append([]string{"check", "--job", e.job(), "--table", table, "--input", e.input, "--grants"}, staging...)...)
	var shell [][]string
	for line := range strings.Lines(r.out) {
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "grant "):
			f := strings.Split(line, "'")
			s.adm(t, "grant", f[5], f[1], f[3])
		case strings.HasPrefix(line, "hdfs dfs "):
			shell = append(shell, words[2:])
		case !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "key.acl."):
			t.Errorf("not a command: %s", line)
		}
	}
	_, err = s.c.FsShell(t.Context(), shell...)
	testcheck.Must(t, err)
	own.must(t, own.loading(e, table, append(staging, "--restart")...)...)
	s.holds(t, e, table)
	s.loadedOnce(t, table)
}
