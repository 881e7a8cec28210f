package loader

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"bulkload/pkg/hfile"
)

// TestMissingCodec loads into a family whose codec the region servers lack, and which a table without sanity checks may have.
func TestMissingCodec(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	table := b.tableSpec(t, TableSpec{Families: []Family{{Name: "f", Compression: "ZSTD"}}, Attributes: map[string]string{"hbase.table.sanity.checks": "false"}})
	_, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{b.packed(t, b.fs, b.dir, "f", rowsOf("a", 10), hfile.CompressionZSTD)}, FS: b.fs})
	e, ok := errors.AsType[*RefusedError](err)
	if !ok {
		t.Fatal(err)
	}
	t.Log(err)
	if !slices.ContainsFunc(e.Causes, func(c string) bool { return strings.Contains(c, "family f has ZSTD") && len(c) <= 160 }) {
		t.Errorf("causes %q", e.Causes)
	}
}
