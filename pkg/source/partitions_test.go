package source

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPartitionedExports reads directories of Hive, Spark and DuckDB.
func TestPartitionedExports(t *testing.T) {
	read := 0
	for _, s := range readSamples(t) {
		if s.Format != "text-dir" && s.Format != "parquet-dir" {
			continue
		}
		if !slices.Contains([]string{"hive/part-text", "spark/part-csv", "spark/part-parquet", "duckdb/part-csv"}, s.Path) {
			continue
		}
		read++
		t.Run(s.Path, func(t *testing.T) {
			o := Options{}
			if d := s.dialect(); s.Format == "text-dir" {
				o.Dialect = &d
				if !s.Read.Header {
					o.Columns = append(slices.Clone(s.Read.Columns), s.Read.Partitions...)
				}
			}
			expected := expectedRows(t, *s.Expected)
			if s.Format == "parquet-dir" { // NULL is compared as empty, except in the path's columns
				for _, row := range expected {
					for name, v := range row {
						if v == nil && !slices.Contains(s.Read.Partitions, name) {
							row[name] = ""
						}
					}
				}
			}
			want := rowSet(expected)
			for _, partitions := range [][]string{nil, {PartitionsAuto}, s.Read.Partitions} {
				o.Partitions = partitions
				in, err := Open(t.Context(), disk, []string{exporterSamples + s.Path}, o)
				if err != nil {
					t.Fatal(err)
				}
				if c := in.Columns(); !slices.Equal(c[len(c)-2:], s.Read.Partitions) || !slices.Equal(in.Partitions(), s.Read.Partitions) {
					t.Errorf("columns %q", c)
				}
				rows, err := rowsOf(t, in)
				if s.Format == "parquet-dir" {
					for _, row := range rows {
						for name, v := range row {
							if v == nil && !slices.Contains(s.Read.Partitions, name) {
								row[name] = ""
							}
						}
					}
				}
				if got := rowSet(rows); err != nil || !slices.Equal(got, want) {
					t.Errorf("%v: other rows than those expected: %d, %v", partitions, len(got), err)
				}
			}
			// Only one of the partition columns, in another place, and only some of its values.
			o.Columns, o.Partitions, o.Extra, o.Where = []string{"region", "id"}, nil, ExtraIgnore, []string{"dt=2026-03-06", "region!=50%"}
			if o.Dialect != nil && !s.Read.Header {
				return
			}
			in, err := Open(t.Context(), disk, []string{exporterSamples + s.Path}, o)
			if err != nil {
				t.Fatal(err)
			}
			rows, err := rowsOf(t, in)
			if err != nil {
				t.Fatal(err)
			}
			regions := map[any]bool{}
			for _, row := range rows {
				regions[row["region"]] = true
			}
			if len(in.Files()) != 2 || !maps.Equal(regions, map[any]bool{"q'#?*": true, "a/b": true}) {
				t.Errorf("%d files, regions %v", len(in.Files()), regions)
			}
		})
	}
	if read != 4 {
		t.Errorf("%d samples", read)
	}
}

// rowSet returns rows in sorted order, since files and rows have different orders.
func rowSet(rows []map[string]any) []string {
	var list []string
	for _, r := range rows {
		list = append(list, fmt.Sprintf("%q", r))
	}
	slices.Sort(list)
	return list
}

// TestPartitionsBesideBadRecords checks that constants are in every batch, whatever ends it, with rows of different
// lengths.
func TestPartitionsBesideBadRecords(t *testing.T) {
	var b strings.Builder
	b.WriteString("a,b\n")
	good := 0
	for i := range 3000 {
		if i%7 == 3 {
			b.WriteString("too,many,fields\n")
			continue
		}
		good++
		fmt.Fprintf(&b, "%d,\"%s\"\"\"\n", i, strings.Repeat("x", i%90))
	}
	dir := tree(t, map[string]string{"t/dt=007/r=%E5%8D%8E/a.csv": b.String()})
	for _, chunk := range []int{0, 100, 1000} {
		in, err := Open(t.Context(), disk, []string{dir + "/t"}, Options{ChunkSize: chunk, Reject: func(RowError) error { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := rowsOf(t, in)
		if err != nil || len(rows) != good {
			t.Fatalf("%d rows of %d, %v", len(rows), good, err)
		}
		for _, row := range rows {
			if row["dt"] != "007" || row["r"] != "华" || !strings.HasSuffix(row["b"].(string), `"`) {
				t.Fatalf("chunks of %d: row %v", chunk, row)
			}
		}
	}
}

// TestPartitionColumns checks how partition columns are found, and which ones are refused.
func TestPartitionColumns(t *testing.T) {
	const data = "a\n1\n"
	dir := tree(t, map[string]string{"t/dt=1/a.csv": data, "t/dt=2/a.csv": data, "u/dt=1/a.csv": data, "u/day=2/b.csv": data, "v/dt=1/a.csv": data, "v/b.csv": data,
		"w/dt=1/sub/r=x/a.csv": data, "x/a=1/a.csv": data, "y/dt=1/dt=2/a.csv": data, "z/_x=1/a.csv": data, "z/_x=2/a=b.csv": data, "q/=1/a.csv": data, "q/.b=1/a.csv": data,
		"p/dt=1/a.dump": "1\x10", "s/dt=%/r=%4/q=%zz/a.csv": data})
	for _, c := range []struct {
		input string
		o     Options
		want  string // columns
		say   []string
	}{
		{"t", Options{}, "a dt", nil},
		{"t/dt=1", Options{}, "a dt", nil},
		{"t/dt=1/a.csv", Options{}, "a dt", nil},
		{"t/*", Options{}, "a dt", nil},
		{"w", Options{}, "a dt r", nil},
		{"w/dt=1/sub", Options{}, "a dt r", nil},
		{"z", Options{}, "a _x", nil},
		{"q", Options{}, "a", nil},
		{"s", Options{}, "a dt r q", nil},
		{"t", Options{Partitions: []string{"off"}}, "a", nil},
		{"w", Options{Partitions: []string{"r"}}, "a r", nil},
		{"w", Options{Partitions: []string{"r", "dt"}}, "", []string{`"dt", "r"`, `"r", "dt"`, "w/dt=1/sub/r=x/a.csv"}},
		{"t", Options{Columns: []string{"dt", "a"}}, "dt a", nil},
		{"t", Options{Columns: []string{"a"}, Extra: ExtraIgnore}, "a", nil},
		{"t", Options{Columns: []string{"a"}}, "", []string{`the path has the partition column "dt", which is not in the given names`, "partition", "t/dt=1/a.csv"}},
		{"p", Options{Columns: []string{"a"}}, "", []string{`the path has the partition column "dt", which is not in the given names`, "`extra` ignore"}},
		{"p", Options{Columns: []string{"a", "dt"}}, "a dt", nil},
		{"p", Options{Columns: []string{"dt"}}, "", []string{"no column"}},
		{"u", Options{}, "", []string{"u/day=2/b.csv", "u/dt=1/a.csv"}},
		{"v", Options{}, "", []string{"v/b.csv", "v/dt=1/a.csv", "none"}},
		{"x", Options{}, "", []string{`column "a" is in the records and in the path`}},
		{"y", Options{}, "", []string{`partition column "dt" twice`}},
		{"t", Options{Where: []string{"dt>1"}}, "a dt", nil},
		{"t", Options{Where: []string{"dt=3"}}, "", []string{"where leaves nothing", "2 partitions", "`allow_empty`"}},
		{"t/dt=1", Options{Where: []string{"dt=2"}}, "", []string{"where leaves nothing"}},
		{"t", Options{Where: []string{"day=3"}}, "", []string{"where day=3", `it has "dt"`}},
		{"t", Options{Where: []string{"dt"}}, "", []string{"is not a condition"}},
		{"t", Options{Where: []string{"dt=1"}, Partitions: []string{"off"}}, "", []string{"turned off"}},
	} {
		in, err := Open(t.Context(), disk, []string{dir + "/" + c.input}, c.o)
		if len(c.say) > 0 {
			wantError(t, c.input, err, c.say...)
			continue
		}
		if err != nil || strings.Join(in.Columns(), " ") != c.want {
			t.Errorf("%s %+v: %v, %v", c.input, c.o, in, err)
		}
	}
	if err := openError(t, Options{Where: []string{"dt=3"}, AllowEmpty: true}, dir, "t"); err != nil {
		t.Errorf("nothing, allowed: %v", err)
	}
	dirs, err := Directories(t.Context(), disk, []string{dir + "/t"}, Options{Where: []string{"dt<=1"}})
	if err != nil || len(dirs) != 1 || filepath.Base(dirs[0].Path) != "dt=1" {
		t.Errorf("directories: %v, %v", dirs, err)
	}
}
