package job

import (
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/test/testcheck"
)

// TestTrackerChanges builds files for a table whose store-file tracker another client changes before they are loaded: how they are loaded
// is decided by the tracker of that time, and regions that open again have all rows. DEFAULT loads through HBase's staging directory,
// FILE does not.
func TestTrackerChanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ before, after string }{{"", "FILE"}, {"FILE", "DEFAULT"}} {
		t.Run(c.before+" "+c.after, func(t *testing.T) {
			p := newProgram(t, "")
			admin := p.cluster.AdminT(t)
			run := func(args ...string) string {
				t.Helper()
				out, err := admin.Run(t.Context(), args...)
				testcheck.Must(t, err)
				return out
			}
			if c.before != "" {
				run("tracker", p.table, c.before)
			}
			dir := p.builtDir(false, programRegions)
			run("tracker", p.table, c.after)
			_, err := LoadDir(t.Context(), p.env, p.table, dir, LoadOptions{Verify: "full", State: checkpoint.Options{Dir: t.TempDir()}})
			testcheck.Must(t, err)
			before := run("digest", p.table)
			run("disable", p.table)
			run("enable", p.table)
			if got := run("digest", p.table); got != before {
				t.Errorf("opened again the table has %s, want %s", got, before)
			}
		})
	}
}
