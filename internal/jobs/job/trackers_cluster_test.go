package job

import (
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/test/testcheck"
)

// TestTrackerChanges loads files that were built while the table's store file tracker was DEFAULT: after it became FILE directly, and through
// MIGRATION, as administrators change it step by step. How files are loaded depends on the tracker at the time of the load.
func TestTrackerChanges(t *testing.T) {
	t.Parallel()
	const tracker = "hbase.store.file-tracker."
	for name, steps := range map[string][][]string{
		"at once":           {{"tracker", "FILE"}},
		"through MIGRATION": {{"attribute", tracker + "migration.src.impl=DEFAULT", tracker + "migration.dst.impl=FILE", tracker + "impl=MIGRATION"}, {"attribute", tracker + "impl=FILE"}},
	} {
		t.Run(name, func(t *testing.T) {
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
				_, err := LoadDir(t.Context(), p.env, p.table, dir, LoadOptions{RunOptions: RunOptions{State: checkpoint.Options{Dir: t.TempDir()}}, Verify: "full"})
				testcheck.Must(t, err)
				return run("digest", p.table)
			}
			want := load()
			for _, step := range steps {
				for _, value := range step[1:] {
					run(step[0], p.table, value)
				}
				if got := load(); got != want {
					t.Errorf("after %v the table has %s, want %s", step, got, want)
				}
				run("disable", p.table)
				run("enable", p.table)
				if got := run("digest", p.table); got != want {
					t.Errorf("after %v, opened again, the table has %s, want %s", step, got, want)
				}
			}
		})
	}
}
