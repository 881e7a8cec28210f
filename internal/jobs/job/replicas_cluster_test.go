package job

import (
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// TestRegionReplicas loads a table whose regions have a replica on another server, and checks that each file goes only to the primary, once, and that
// verification reads the primaries.
func TestRegionReplicas(t *testing.T) {
	t.Parallel()
	c := testcluster.Own(t, testcluster.Harmed())
	env := jobtest.ClusterEnv(t, c)
	admin := c.AdminT(t)
	table := "test:" + testcheck.Name(t)
	run := func(args ...string) string {
		t.Helper()
		out, err := admin.Run(t.Context(), args...)
		testcheck.Must(t, err)
		return out
	}
	run("create", table, "--splits", "1,2,3,4,5,6,7,8,9", "--attribute", "REGION_REPLICATION=2")
	for _, mode := range []string{"full", "files"} {
		s := jobtest.Spec(t, "check")
		s.Table, s.Inputs, s.Verify = table, []string{jobtest.Export(t, "check.csv")}, mode
		r, err := Run(t.Context(), env, jobtest.Resolve(t, s), RunOptions{WorkOptions: build.WorkOptions{SpillDir: t.TempDir()}, State: checkpoint.Options{Dir: t.TempDir()}})
		if err != nil || r.Manifest.Digest.Rows != 3000 {
			t.Fatalf("verified by %s: %+v, %v", mode, r, err)
		}
		if got, want := run("digest", table), jobtest.DigestLine(t, "check", "skip"); strings.TrimSpace(got) != want {
			t.Errorf("verified by %s: the table has %s, want %s", mode, got, want)
		}
	}
	run("drop", table)
}
