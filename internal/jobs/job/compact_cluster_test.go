package job

import (
	"testing"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/loader"
)

// TestCompactAfter loads a table twice and checks that a minor compaction leaves two files, that a major one rewrites them into one in each store,
// and that no row is lost.
func TestCompactAfter(t *testing.T) {
	t.Parallel()
	p := newProgram(t, "")
	dir := p.builtDir(false, programRegions)
	conn, err := p.env.Dial(t.Context())
	testcheck.Must(t, err)
	t.Cleanup(func() { conn.Close() })
	name, err := loader.ParseTableName(p.table)
	testcheck.Must(t, err)
	files := func() (n int) {
		t.Helper()
		regions, err := conn.Regions(t.Context(), name)
		testcheck.Must(t, err)
		for _, r := range regions {
			one, err := conn.StoreFiles(t.Context(), r, "f")
			testcheck.Must(t, err)
			n += len(one)
		}
		return n
	}
	load := func(how string) {
		t.Helper()
		_, err := LoadDir(t.Context(), p.env, p.table, dir, LoadOptions{RunOptions: RunOptions{State: checkpoint.Options{Dir: t.TempDir()}, CompactAfter: how}, Verify: "full"})
		testcheck.Must(t, err)
	}
	load("")
	before := files()
	load("minor")
	if n := files(); n != 2*before {
		t.Errorf("%d files, then %d", before, n)
	}
	digest, err := p.cluster.AdminT(t).Digest(t.Context(), p.table)
	testcheck.Must(t, err)
	load("major")
	testcheck.Eventually(t, 2*time.Minute, "each store has one file", func() (bool, any) {
		n := files()
		return n == before, n
	})
	if got, err := p.cluster.AdminT(t).Digest(t.Context(), p.table); err != nil || got != digest {
		t.Errorf("after the compaction the table has %s, %v, want %s", got, err, digest)
	}
}
