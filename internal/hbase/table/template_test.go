package table

import (
	"maps"
	"slices"
	"testing"

	"bulkload/pkg/loader"
)

// replicated returns the request that is copied from a table with attributes of all kinds.
func replicated() loader.TableSpec {
	t := &loader.Table{
		Families: []loader.Family{{Name: "f", Compression: "NONE", Encoding: "NONE", Bloom: "ROWPREFIX_FIXED_LENGTH", BloomParam: "4", BlockSize: 65536, Versions: 3, TTL: loader.Forever,
			Attributes: map[string]string{
				"VERSIONS": "3", "BLOOMFILTER": "ROWPREFIX_FIXED_LENGTH", "REPLICATION_SCOPE": "1", "MIN_VERSIONS": "2", "KEEP_DELETED_CELLS": "TTL", "IS_MOB": "true", "MOB_THRESHOLD": "2048",
				"BLOCKCACHE": "true", "IN_MEMORY": "false", "ENCRYPTION": "AES", "ENCRYPTION_KEY": "\x00\xff", "COMPRESSION_COMPACT_MAJOR": "GZ", "team": "it's #1",
			},
			Configuration: map[string]string{prefixLength: "4", "hbase.hstore.engine.class": "Striped"}}},
		Attributes: map[string]string{
			"IS_META": "false", "READONLY": "true", "OWNER": "etl", "DURABILITY": "ASYNC_WAL", "REGION_REPLICATION": "1", "MERGE_ENABLED": "false",
			"coprocessor$1": "hdfs:///a.jar|Observer|1001|in=$x", fileTracker: "FILE",
		},
		Configuration: map[string]string{},
	}
	return Like(t).Spec(loader.TableName{Namespace: "default", Qualifier: "x"}, nil)
}

// TestStatementAttributes checks that a statement has all attributes that are part of a table's design: by name what HBase's shell knows, as METADATA
// what it would ignore, and neither defaults nor what belongs to one table.
func TestStatementAttributes(t *testing.T) {
	const want = `create 'x',
  {NAME => 'f', COMPRESSION => 'NONE', DATA_BLOCK_ENCODING => 'NONE', BLOOMFILTER => 'ROWPREFIX_FIXED_LENGTH', BLOCKSIZE => '65536', VERSIONS => '3', TTL => 'FOREVER', ` +
		`ENCRYPTION => 'AES', IS_MOB => 'true', KEEP_DELETED_CELLS => 'TTL', MIN_VERSIONS => '2', MOB_THRESHOLD => '2048', REPLICATION_SCOPE => '1', ` +
		`METADATA => {'COMPRESSION_COMPACT_MAJOR' => 'GZ', 'team' => "it's \#1"}, CONFIGURATION => {'RowPrefixBloomFilter.prefix_length' => '4', 'hbase.hstore.engine.class' => 'Striped'}},
  {DURABILITY => 'ASYNC_WAL', MERGE_ENABLED => 'false', METADATA => {'coprocessor$1' => 'hdfs:///a.jar|Observer|1001|in=$x', 'hbase.store.file-tracker.impl' => 'FILE'}}`
	if got := Statement(replicated()); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestDifferencesOfAttributes checks that a table that lacks an attribute of the request, or has another one than the table that the request is copied
// from, differs; that attributes of one table and of the servers do not count; and that a request that names none leaves them to the table.
func TestDifferencesOfAttributes(t *testing.T) {
	template := func(change func(f *loader.Family, table map[string]string)) *Template {
		s := replicated()
		h := &Template{Families: slices.Clone(s.Families), Attributes: maps.Clone(s.Attributes), Configuration: s.Configuration}
		f := &h.Families[0]
		f.Attributes, f.Configuration = maps.Clone(f.Attributes), maps.Clone(f.Configuration)
		change(f, h.Attributes)
		return h
	}
	for name, c := range map[string]struct {
		change func(f *loader.Family, table map[string]string)
		want   []string
	}{
		"same": {func(*loader.Family, map[string]string) {}, nil},
		"not replicated": {func(f *loader.Family, _ map[string]string) { delete(f.Attributes, "REPLICATION_SCOPE") },
			[]string{"REPLICATION_SCOPE of f is 0, not 1"}},
		"configuration of the family": {func(f *loader.Family, _ map[string]string) { f.Configuration["hbase.hstore.engine.class"] = "Dated" },
			[]string{"hbase.hstore.engine.class of f is Dated, not Striped"}},
		"prefix": {func(f *loader.Family, _ map[string]string) { f.BloomParam = "5" }, []string{"RowPrefixBloomFilter.prefix_length of f is 5, not 4"}},
		"attributes of the table": {func(_ *loader.Family, table map[string]string) {
			delete(table, "coprocessor$1")
			table["DURABILITY"], table["PRIORITY"], table[maxFileSize] = "SKIP_WAL", "7", "99"
		}, []string{"DURABILITY is SKIP_WAL, not ASYNC_WAL", "max file size is 99, not -1", "PRIORITY is 7, not 0", "coprocessor$1 is not set, not hdfs:///a.jar|Observer|1001|in=$x"}},
		"its own": {func(f *loader.Family, table map[string]string) {
			f.Attributes["ENCRYPTION_KEY"], f.Attributes["EVICT_BLOCKS_ON_CLOSE"] = "other", "false"
			table["OWNER"], table["SPLIT_ENABLED"] = "hbase", "TRUE"
		}, nil},
	} {
		if got := differences(template(c.change), replicated()); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
	h := template(func(*loader.Family, map[string]string) {})
	s := replicated()
	delete(s.Attributes, fileTracker)
	if got := differences(h, s); len(got) > 0 {
		t.Errorf("the tracker that the master has added: %q", got)
	}
	f := h.Families[0]
	f.Attributes, f.Configuration, f.BloomParam = nil, nil, ""
	if got := differences(h, loader.TableSpec{Families: []loader.Family{f}, Attributes: map[string]string{}}); len(got) > 0 {
		t.Errorf("a request without attributes: %q", got)
	}
	if got := differences(h, loader.TableSpec{Families: []loader.Family{f}, Attributes: map[string]string{maxFileSize: "7"}}); !slices.Equal(got, []string{"max file size is -1, not 7"}) {
		t.Errorf("a request of a size: %q", got)
	}
}
