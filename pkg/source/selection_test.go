package source

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
)

// openError opens inputs below a directory.
func openError(t *testing.T, o Options, dir string, inputs ...string) error {
	t.Helper()
	var names []string
	for _, in := range inputs {
		names = append(names, dir+"/"+in)
	}
	_, err := Open(t.Context(), disk, names, o)
	return err
}

func wantError(t *testing.T, what string, err error, say ...string) {
	t.Helper()
	testcheck.Says(t, what, err, say...)
}

// wantRefused is wantError for invalid inputs, whose errors are ErrSelection.
func wantRefused(t *testing.T, what string, err error, say ...string) {
	t.Helper()
	if !errors.Is(err, ErrSelection) {
		t.Errorf("%s: error %v is not an ErrSelection", what, err)
	}
	wantError(t, what, err, say...)
}

// TestHiveTextIsNoDump checks that text with 0x01 between fields and line feeds after records is not read as a dump.
func TestHiveTextIsNoDump(t *testing.T) {
	o := Options{Columns: []string{"a", "b"}}
	lines := func(n int) []byte { return []byte(strings.Repeat("1\x01x\n", n)) }
	feed := o
	feed.RecordSep = SepOf('\n')
	for name, tt := range map[string]struct {
		o    Options
		data []byte
		want int // records
		say  string
	}{
		"one line":                        {o, lines(1), 0, "`record_sep`"},
		"many lines":                      {o, lines(50_000), 0, "`record_sep`"},
		"one line, said to be a dump":     {Options{Columns: o.Columns, Format: FormatDump}, lines(1), 0, "ends with a line feed"},
		"many lines, said to be a dump":   {Options{Columns: o.Columns, Format: FormatDump}, lines(50_000), 0, "ends with a line feed"},
		"with its separators":             {feed, lines(3), 3, ""},
		"a record without end, and no LF": {o, []byte("1\x01x"), 0, "`format` dump"},
		"that one, said to be a dump":     {Options{Columns: o.Columns, Format: FormatDump}, []byte("1\x01x"), 1, ""},
		"a first record of 100 KB":        {o, []byte("1\x01" + strings.Repeat("x", 100_000) + "\x102\x01y\x10"), 2, ""},
		"a dump":                          {o, []byte("1\x01x\n\x102\x01y\n\x10"), 2, ""},
	} {
		got, err := loadBytes(t, tt.o, "part-00000", tt.data)
		if tt.say != "" {
			wantError(t, name, err, tt.say, "/part-00000")
		} else if err != nil || len(got) != tt.want {
			t.Errorf("%s: %d records, %v", name, len(got), err)
		}
	}
}

// TestSumsDependOnContentOnly checks that checksums do not depend on chunks, the order of splits or the reader, and
// that a changed byte changes one of them.
func TestSumsDependOnContentOnly(t *testing.T) {
	rows := checkRows(3000)
	sums := func(path string, o Options, backwards bool) (list []uint32) {
		o.SplitSize = 100_000
		in, err := Open(t.Context(), disk, []string{path}, o)
		if err != nil {
			t.Fatal(err)
		}
		r := in.NewReader()
		order := make([]int, len(in.Splits()))
		for i := range order {
			order[i] = i
		}
		if backwards {
			slices.Reverse(order)
		}
		for _, i := range order {
			if _, ok := in.Sum(i); ok {
				t.Error("a sum of a split that was not read")
			}
			if err := r.Read(t.Context(), i, func(*Batch) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		for i := range order {
			sum, ok := in.Sum(i)
			if !ok {
				t.Error("no sum")
			}
			list = append(list, sum)
		}
		return list
	}
	csv := toCSV(append([][]string{checkColumns}, rows...)...)
	parquet := filepath.Join(t.TempDir(), "x.parquet")
	writeParquet(t, parquet, checkColumns, rows, 1000)
	for name, c := range map[string]struct {
		path string
		o    Options
		text int // offset from which a byte can be changed; 0: none
	}{
		"csv":     {writeFile(t, "x.csv", csv), Options{}, 300},
		"dump":    {writeFile(t, "x.dump", toDump(rows)), Options{Columns: checkColumns}, 1},
		"gz":      {writeFile(t, "x.csv.gz", pack(t, "gz", csv)), Options{}, 0},
		"parquet": {parquet, Options{}, 0},
	} {
		first := sums(c.path, c.o, false)
		if slices.Contains(first, 0) {
			t.Errorf("%s: a sum is 0: %x", name, first)
		}
		for _, chunk := range []int{1000, 4096, 70_000} {
			o := c.o
			o.ChunkSize = chunk
			if got := sums(c.path, o, true); !slices.Equal(got, first) {
				t.Errorf("%s, chunks of %d: %x, want %x", name, chunk, got, first)
			}
		}
		if c.text == 0 {
			continue
		}
		data, err := os.ReadFile(c.path)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.Index(data[c.text:], '2') + c.text
		data[at] = '3'
		if err := os.WriteFile(c.path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		different := 0
		for i, sum := range sums(c.path, c.o, false) {
			if sum != first[i] {
				different++
			}
		}
		if different != 1 {
			t.Errorf("%s: one byte changed %d sums", name, different)
		}
	}
}

// TestHeaderIsInTheSum checks that another order of columns changes the checksum, even if the records are the same.
func TestHeaderIsInTheSum(t *testing.T) {
	var sums []uint32
	for _, header := range []string{"a,b\n", "b,a\n"} {
		in, err := Open(t.Context(), disk, []string{writeFile(t, "x.csv", []byte(header+"1,2\n"))}, Options{Columns: []string{"a", "b"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := readAll(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		sum, _ := in.Sum(0)
		sums = append(sums, sum)
	}
	if sums[0] == sums[1] {
		t.Error("the sums are equal")
	}
}
