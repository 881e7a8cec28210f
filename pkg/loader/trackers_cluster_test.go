package loader

import (
	"testing"

	"bulkload/internal/test/testcheck"
)

// TestTrackersOfFamilies loads one region with files of two families, of which one keeps its store files by another tracker than its table.
func TestTrackersOfFamilies(t *testing.T) {
	t.Parallel()
	const key, source, destination = "hbase.store.file-tracker.impl", "hbase.store.file-tracker.migration.src.impl", "hbase.store.file-tracker.migration.dst.impl"
	for name, configuration := range map[string]map[string]string{
		"FILE": {key: "FILE"}, "MIGRATION": {key: "MIGRATION", source: "DEFAULT", destination: "FILE"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(c *Config) { c.RootDir = "/hbase" })
			table := b.tableSpec(t, TableSpec{Families: []Family{{Name: "f", Configuration: configuration}, {Name: "g"}}})
			files := []HFile{b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 10)), b.hfile(t, b.fs, b.dir, "g", rowsOf("a", 10))}
			for _, f := range files {
				b.open(t, f)
			}
			report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: files, FS: b.fs})
			testcheck.Must(t, err)
			if report.Loaded != 1 || report.Token != "" {
				t.Errorf("report %+v, want one region, loaded directly", report)
			}
			b.checkRows(t, table, rowsOf("a", 10), "f")
			b.checkRows(t, table, rowsOf("a", 10), "g")
		})
	}
}
