package loader

import (
	"testing"

	"bulkload/internal/test/testcheck"
)

// TestTrackerOfFamily loads files of two families into one region. One family has another store-file tracker than its table, so all files are loaded
// directly.
func TestTrackerOfFamily(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *Config) { c.RootDir = "/hbase" })
	table := b.tableSpec(t, TableSpec{Families: []Family{{Name: "f", Configuration: map[string]string{"hbase.store.file-tracker.impl": "FILE"}}, {Name: "g"}}})
	files := []HFile{b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 10)), b.hfile(t, b.fs, b.dir, "g", rowsOf("a", 10))}
	for _, f := range files {
		b.open(t, f)
	}
	report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: files, FS: b.fs})
	testcheck.Must(t, err)
	if report.Token != "" {
		t.Errorf("report %+v: the load went through a staging directory", report)
	}
	b.checkRows(t, table, rowsOf("a", 10), "f", "g")
}
