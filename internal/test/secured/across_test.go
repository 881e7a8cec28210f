package secured

import (
	"testing"

	"bulkload/internal/jobs/job"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// testAcross compares a table of the secured cluster with one of a cluster without Kerberos, either way, and repairs the latter. Then it loads one
// build into both clusters.
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
