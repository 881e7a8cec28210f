package job

import (
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/test/testcheck"
)

// TestTrackerChanges builds files for a table whose store-file tracker another client changes before they are loaded: how they are loaded
// is decided by the tracker of that time, and regions that open again have all rows.
func TestTrackerChanges(t *testing.T) {
	t.Parallel()
	p := newProgram(t, "")
	admin := p.cluster.AdminT(t)
	run := func(args ...string) string {
		t.Helper()
		out, err := admin.Run(t.Context(), args...)
		testcheck.Must(t, err)
		return out
	}
	dir := p.builtDir(false, programRegions)
	load := func() string {
		t.Helper()
		_, err := LoadDir(t.Context(), p.env, p.table, dir, LoadOptions{Verify: "full", State: checkpoint.Options{Dir: t.TempDir()}})
		testcheck.Must(t, err)
		return run("digest", p.table)
	}
	want := load()
	run("tracker", p.table, "FILE")
	if got := load(); got != want {
		t.Errorf("after the change the table has %s, want %s", got, want)
	}
	run("disable", p.table)
	run("enable", p.table)
	if got := run("digest", p.table); got != want {
		t.Errorf("opened again the table has %s, want %s", got, want)
	}
}
