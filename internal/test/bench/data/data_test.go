package data

import (
	"bytes"
	"context"
	"encoding/csv"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/pkg/keygen"
	"bulkload/pkg/partition"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/google/go-cmp/cmp"
)

// rowsOf returns the rows of the generator itself.
func rowsOf(t *testing.T, s Spec) [][]string {
	t.Helper()
	g, err := NewGenerator(s)
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for fields, ok := g.Next(); ok; fields, ok = g.Next() {
		rows = append(rows, texts(fields))
	}
	return rows
}

func texts(fields [][]byte) []string {
	row := make([]string, len(fields))
	for i, v := range fields {
		row[i] = string(v)
	}
	return row
}

func written(t *testing.T, s Spec, f Form) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(t.Context(), &b, s, f); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Readers of each form that share nothing with the writers.
func readDump(b []byte) [][]string {
	var rows [][]string
	for rec := range strings.SplitSeq(strings.TrimSuffix(string(b), "\x10"), "\x10") {
		rows = append(rows, strings.Split(rec, "\x01"))
	}
	return rows
}

func readParquet(t *testing.T, b []byte) (columns []string, rows [][]string) {
	t.Helper()
	r, err := file.NewParquetReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rows = make([][]string, r.NumRows())
	at := 0
	for i := range r.NumRowGroups() {
		group := r.RowGroup(i)
		n := group.NumRows()
		for c := range group.NumColumns() {
			col, err := group.Column(c)
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				columns = append(columns, col.Descriptor().Name())
			}
			levels := make([]int16, n)
			for got := int64(0); got < n; {
				values := make([]parquet.ByteArray, n-got)
				all, present, err := col.(*file.ByteArrayColumnChunkReader).ReadBatch(n-got, values, levels, nil)
				if err != nil || all != int64(present) {
					t.Fatalf("column %d: %d of %d values: %v", c, present, all, err)
				}
				for j, v := range values[:present] {
					k := at + int(got) + j
					rows[k] = append(rows[k], string(v))
				}
				got += all
			}
		}
		at += int(n)
	}
	return columns, rows
}

// TestFormsAgree reads every form and compares it with the generated rows.
func TestFormsAgree(t *testing.T) {
	for _, table := range []Table{Check, Opinion} {
		t.Run(string(table), func(t *testing.T) {
			s := Spec{Table: table, Rows: 3000, Seed: 4, Regions: 50}
			want := rowsOf(t, s)
			if diff := cmp.Diff(want, readDump(written(t, s, Dump))); diff != "" {
				t.Errorf("dump:\n%s", diff)
			}
			records, err := csv.NewReader(bytes.NewReader(written(t, s, CSV))).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(slices.Concat([][]string{table.Columns()}, want), records); diff != "" {
				t.Errorf("csv:\n%s", diff)
			}
			columns, rows := readParquet(t, written(t, s, Parquet))
			if diff := cmp.Diff(table.Columns(), columns); diff != "" {
				t.Errorf("parquet columns:\n%s", diff)
			}
			if diff := cmp.Diff(want, rows); diff != "" {
				t.Errorf("parquet:\n%s", diff)
			}
			flat := s
			flat.Flat = true
			want = rowsOf(t, flat)
			var keys []string
			rows = nil
			for line := range strings.SplitSeq(strings.TrimSuffix(string(written(t, s, TSV)), "\n"), "\n") {
				fields := strings.Split(line, "\t")
				keys, rows = append(keys, fields[0]), append(rows, fields[1:])
			}
			if diff := cmp.Diff(want, rows); diff != "" {
				t.Errorf("tsv:\n%s", diff)
			}
			for i, key := range keys {
				if !strings.HasSuffix(key, want[i][0]) || len(key) != 2+32+32 {
					t.Fatalf("row %d has the key %q", i, key)
				}
			}
		})
	}
}

// TestFlatIsTheSameRows checks that only tabs and newlines differ.
func TestFlatIsTheSameRows(t *testing.T) {
	s := Spec{Rows: 2000, Seed: 9}
	plain := rowsOf(t, s)
	s.Flat = true
	spaces := strings.NewReplacer("\n", " ", "\t", " ", "\r", " ")
	changed := false
	for i, row := range rowsOf(t, s) {
		for j, v := range row {
			if want := spaces.Replace(plain[i][j]); v != want {
				t.Fatalf("row %d column %d: %q, not %q", i, j, v, want)
			}
			changed = changed || v != plain[i][j]
		}
	}
	if !changed {
		t.Error("no value had a newline: the rows do not test what they are for")
	}
}

func TestSameSpecSameBytes(t *testing.T) {
	for _, f := range Forms() {
		s := Spec{Table: Opinion, Rows: 500, Seed: 7, RegionShare: 0.2}
		a, b := written(t, s, f), written(t, s, f)
		if !bytes.Equal(a, b) {
			t.Errorf("%s differs from itself", f)
		}
		s.Seed++
		if bytes.Equal(a, written(t, s, f)) {
			t.Errorf("%s is the same for another seed", f)
		}
	}
}

// TestKnownRow checks the first row, so that files of an older generator are not confused with those of this one:
// when the row changes, the constant version must change.
func TestKnownRow(t *testing.T) {
	got := strings.Join(rowsOf(t, Spec{Rows: 1, Seed: 1})[0], "|")
	const want = `FD382239C8348DFE0FCFF3496478B46C|B2M4H298APDRQ5H59N3FA7|R6987||B|征信报告近期查询频繁|实名信息一致 建议通过"overdue_90d = 0"居住地址与户籍不符|Y||C17|建议通过|u55269|2014-04-09 04:50:05|u55269|2016-01-20 19:15:58||0|0997`
	if got != want {
		t.Errorf("version %d of the generator gives another row\n got %q\nwant %q", version, got, want)
	}
}

// TestShape checks that the rows are like those of the real tables in their effect on a parser and an encoder.
func TestShape(t *testing.T) {
	for table, size := range map[Table]int{Check: 220, Opinion: 330} {
		rows := rowsOf(t, Spec{Table: table, Rows: 20000, Seed: 2})
		bytesAll, special := 0, map[string]int{"\n": 0, `"`: 0, ",": 0, "，": 0}
		perKey, ids := map[string]int{}, map[string]bool{}
		for _, row := range rows {
			if len(row) != len(table.Columns()) {
				t.Fatalf("%s: a row of %d columns", table, len(row))
			}
			bytesAll += len(row)
			for _, v := range row {
				bytesAll += len(v)
				for s := range special {
					special[s] += strings.Count(v, s)
				}
				if v == "" {
					special[""]++
				}
				if strings.ContainsAny(v, "\x01\x10") {
					t.Fatalf("%s: a separator in %q", table, v)
				}
			}
			perKey[row[1]]++
			ids[row[0]] = true
		}
		if mean := bytesAll / len(rows); mean < size*8/10 || mean > size*12/10 {
			t.Errorf("%s: %d bytes a row, about %d wanted", table, mean, size)
		}
		for s, n := range special {
			if n < len(rows)/50 {
				t.Errorf("%s: %q is in %d values only", table, s, n)
			}
		}
		if len(ids) != len(rows) {
			t.Errorf("%s: %d ids for %d rows", table, len(ids), len(rows))
		}
		most := 0
		for _, n := range perKey {
			most = max(most, n)
		}
		if most != maxRowsPerKey || len(perKey) < len(rows)/20 {
			t.Errorf("%s: %d keys, at most %d rows each", table, len(perKey), most)
		}
	}
}

// regionsOf counts the rows of each region with bulkload's own keys and split points.
func regionsOf(t *testing.T, s Spec) []int {
	t.Helper()
	ranges, err := partition.New(partition.SaltSplits(s.Regions))
	if err != nil {
		t.Fatal(err)
	}
	counts := make([]int, s.Regions)
	for line := range bytes.Lines(written(t, s, TSV)) {
		key, _, _ := bytes.Cut(line, []byte{'\t'})
		counts[ranges.Find(key)]++
	}
	return counts
}

func TestRegionShare(t *testing.T) {
	for _, s := range []Spec{
		{Table: Check, Rows: 40000, Regions: 10, RegionShare: 0.5},
		{Table: Opinion, Rows: 200_000, Regions: 50, RegionShare: 0.1},
		{Table: Check, Rows: 2000, Regions: 10, RegionShare: 1},
	} {
		counts := regionsOf(t, s)
		share := float64(counts[0]) / float64(s.Rows)
		if share < s.RegionShare*0.93 || share > s.RegionShare*1.07 {
			t.Errorf("%s: %.3f of the rows in the region, %v wanted (%v)", s.FileName(TSV), share, s.RegionShare, counts)
		}
		even := float64(s.Rows) * (1 - s.RegionShare) / float64(s.Regions-1)
		for region, n := range counts[1:] {
			if float64(n) < even*0.7 || float64(n) > even*1.3 {
				t.Errorf("%s: region %d has %d rows, about %.0f wanted", s.FileName(TSV), region+1, n, even)
			}
		}
	}
}

func TestKeyShare(t *testing.T) {
	s := Spec{Rows: 20000, KeyShare: 0.5}
	counts := map[string]int{}
	for _, row := range rowsOf(t, s) {
		counts[row[1]]++
	}
	most := 0
	for _, n := range counts {
		most = max(most, n)
	}
	if most < 9500 || most > 10500 {
		t.Errorf("the hot key has %d of %d rows", most, s.Rows)
	}
}

func TestValidate(t *testing.T) {
	for name, s := range map[string]Spec{
		"table": {Table: "users"}, "rows": {Rows: -1}, "regions": {Regions: -1}, "share": {RegionShare: 1.5},
		"key": {KeyShare: -0.1}, "one region": {Regions: 1, RegionShare: 0.5},
	} {
		if err := s.Validate(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if err := Write(t.Context(), io.Discard, Spec{}, "xml"); err == nil {
		t.Error("an unknown form was accepted")
	}
}

func TestKeysAreThoseOfTheJobs(t *testing.T) {
	for _, table := range []Table{Check, Opinion} {
		b, err := os.ReadFile(filepath.Join("../../../../examples", string(table)+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(b), "\nkey: "+table.Key()+"\n") {
			t.Errorf("the job file of %s has another key than %q", table, table.Key())
		}
		e, err := keygen.Parse(table.Key())
		if err != nil {
			t.Fatal(err)
		}
		for _, column := range keygen.Columns(e) {
			if !slices.Contains(table.Columns(), column) {
				t.Errorf("%s has no column %s", table, column)
			}
		}
	}
}

func TestWriteFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := Spec{Rows: 10}
	name, err := WriteFile(t.Context(), dir, s, CSV)
	if err != nil {
		t.Fatal(err)
	}
	// An existing file is not written again.
	if err := os.WriteFile(name, []byte("kept"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := WriteFile(t.Context(), dir, s, CSV); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(name); string(b) != "kept" {
		t.Error("a file that was there was made again")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.Seed = 1
	if _, err := WriteFile(ctx, dir, s, CSV); err == nil {
		t.Error("a stopped write gave no error")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%d files are left, 1 wanted: %v", len(entries), err)
	}
	names := map[string]bool{}
	for _, s := range []Spec{{}, {Rows: 1}, {Seed: 1}, {Regions: 50}, {RegionShare: 0.5}, {KeyShare: 0.5}, {Flat: true}, {Table: Opinion}} {
		names[s.FileName(Dump)] = true
	}
	if len(names) != 8 {
		t.Errorf("different specs share file names: %v", names)
	}
}

// TestFlatMemory checks that additional rows need no additional allocations.
func TestFlatMemory(t *testing.T) {
	g, err := NewGenerator(Spec{Table: Opinion, Rows: 1 << 40, RegionShare: 0.3})
	if err != nil {
		t.Fatal(err)
	}
	sink, err := newSink(io.Discard, g.spec, Dump)
	if err != nil {
		t.Fatal(err)
	}
	row := func() {
		fields, _ := g.Next()
		if err := sink.add(fields); err != nil {
			t.Fatal(err)
		}
	}
	for range 2000 {
		row()
	}
	if n := testing.AllocsPerRun(5000, row); n >= 1 {
		t.Errorf("%v allocations a row", n)
	}
}

func BenchmarkWrite(b *testing.B) {
	for _, f := range Forms() {
		b.Run(string(f), func(b *testing.B) {
			b.ReportAllocs()
			const rows = 20000
			for b.Loop() {
				if err := Write(b.Context(), io.Discard, Spec{Rows: rows}, f); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*rows/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
