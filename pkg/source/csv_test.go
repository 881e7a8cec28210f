package source

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"bulkload/internal/formats/compression"
	"bulkload/internal/formats/orc"
	"bulkload/internal/formats/sniff"
	"bulkload/internal/test/testcheck"
)

func TestCSV(t *testing.T) {
	ab := []string{"a", "b"}
	for _, tt := range []struct {
		name, in string
		o        Options
		want     [][]string
		columns  []string
		err      string
	}{
		{name: "header", in: "a,b\n1,2\n", want: [][]string{{"1", "2"}}, columns: ab},
		{name: "no last line feed", in: "a,b\n1,2", want: [][]string{{"1", "2"}}},
		{name: "CR LF", in: "a,b\r\n1,2\r\n3,\r\n", want: [][]string{{"1", "2"}, {"3", ""}}, columns: ab},
		{name: "CR at the end", in: "a,b\n1,2\r", want: [][]string{{"1", "2"}}},
		{name: "CR within a field", in: "a,b\n1\r1,2\n", want: [][]string{{"1\r1", "2"}}},
		{name: "byte order mark", in: "\ufeffa,b\n1,2\n", want: [][]string{{"1", "2"}}, columns: ab},
		{name: "quoted header after byte order mark", in: "\ufeff\"a\",\"b\"\n1,2\n", want: [][]string{{"1", "2"}}, columns: ab},
		{name: "header with quotes", in: "\"a\"\"\n,\",b\n1,2\n", want: [][]string{{"1", "2"}}, columns: []string{"a\"\n,", "b"}},
		{name: "header only", in: "a,b\n", columns: ab},
		{name: "header without line feed", in: "a,b", columns: ab},
		{name: "blank lines before the header", in: "\n\r\na,b\n1,2\n", want: [][]string{{"1", "2"}}, columns: ab},
		{name: "blank lines", in: "a,b\n\n1,2\n\r\n\n3,4\n\n", want: [][]string{{"1", "2"}, {"3", "4"}}},
		{name: "blank lines of one column", in: "a\n\nx\n\r\n", want: [][]string{{""}, {"x"}, {""}}},
		{name: "only blank lines", in: "\n\r\n\n"},
		{name: "nothing", in: ""},
		{name: "only a byte order mark", in: "\ufeff"},
		{name: "given names", in: "1,2\n3,4\n", o: Options{Header: HeaderNone, Columns: ab}, want: [][]string{{"1", "2"}, {"3", "4"}}, columns: ab},
		{name: "byte order mark without header", in: "\ufeff1,2\n", o: Options{Header: HeaderNone, Columns: ab}, want: [][]string{{"1", "2"}}},
		{name: "another order", in: "b,a\n1,2\n3,\"x\"\"y\"\n", o: Options{Columns: ab}, want: [][]string{{"2", "1"}, {`x"y`, "3"}}, columns: ab},
		{name: "semicolons", in: "a;b\n1,5;\"2;\"\n", o: Options{FieldSep: SepOf(';')}, want: [][]string{{"1,5", "2;"}}},
		{name: "trailing empty columns", in: "a,b,c\n1,,\n,,\n", want: [][]string{{"1", "", ""}, {"", "", ""}}},
		{name: "quoted", in: "a,b\n\"\",\"x,y\"\n\"1\r\n2\n\",\"\"\"\"\n\"\"\"a\"\"\",\"\"\r\n", want: [][]string{{"", "x,y"}, {"1\r\n2\n", `"`}, {`"a"`, ""}}},
		{name: "quoted at the end", in: "a,b\n1,\"2\"", want: [][]string{{"1", "2"}}},
		{name: "quoted and CR at the end", in: "a,b\n1,\"2\"\r", want: [][]string{{"1", "2"}}},
		{name: "quoted empty last column", in: "a,b\n1,\"\"", want: [][]string{{"1", ""}}},
		{name: "bare quote", in: "a,b\n1,2\n3,5\" disk\n4,5\n", err: "record 2 at byte 8, column b: a quote within a field that is not quoted"},
		{name: "space before a quote", in: "a,b\n1, \"2\"\n", err: "record 1 at byte 4, column b: a quote within a field that is not quoted"},
		{name: "text after a quote", in: "a,b\n\"1\"x,2\n", err: "record 1 at byte 4, column a: text after a closing quote"},
		{name: "CR after a quote", in: "a,b\n\"1\"\r,2\n", err: "record 1 at byte 4, column a: text after a closing quote"},
		{name: "unclosed quote", in: "a,b\n1,2\n3,\"4\n5,6\n", err: "record 2 at byte 8, column b: a quote is opened and not closed: the quote is at byte 10"},
		{name: "unclosed quote that is doubled", in: "a,b\n1,\"\"\"", err: "record 1 at byte 4, column b: a quote is opened and not closed: the quote is at byte 6"},
		{name: "too few", in: "a,b\n1,2\n\n3\n", err: "record 2 at byte 9: 1 column found, 2 expected"},
		{name: "too many", in: "a,b\n1,2,3\n", err: "record 1 at byte 4: 3 columns found, 2 expected"},
		{name: "too few at the end", in: "a,b\n3", err: "record 1 at byte 4: 1 column found, 2 expected"},
		{name: "quoted blank is not a blank line", in: "a,b\n\"\"\n", err: "record 1 at byte 4: 1 column found, 2 expected"},
		{name: "header without a name", in: "a,\n1,2\n", err: "header: column 2 has no name"},
		{name: "header without names", in: ",b,\n1,2,3\n", err: "header: column 1 has no name"},
		{name: "header without a name, columns are given", in: ",a,b\n1,2,3\n", o: Options{Columns: ab}, err: "header: column 1 has no name"},
		{name: "header without a name, which is passed over", in: ",a,b\n0,1,2\n", o: Options{Columns: ab, Extra: ExtraIgnore}, want: [][]string{{"1", "2"}}, columns: ab},
		{name: "header without names, which are passed over", in: "\"\",b,,a\n0,1,2,3\n", o: Options{Columns: ab, Extra: ExtraIgnore}, want: [][]string{{"3", "1"}}, columns: ab},
		{name: "header with a name twice", in: "a,b,a\n", err: `header: columns 1 and 3 have the same name, of 1 byte`},
		{name: "header with a bare quote", in: "a,b\"\n", err: "header: column 2, byte 3: a quote within a field that is not quoted"},
		{name: "header that does not close", in: "a,\"b\n1,2\n", err: "header: column 2, byte 2: a quote is opened and not closed"},
		{name: "unknown column", in: "a,b,c\n", o: Options{Columns: ab}, err: `unknown column "c" compared with the given names`},
		{name: "missing column", in: "a\n", o: Options{Columns: ab}, err: `column "b" is missing compared with the given names`},
		{name: "no names", in: "1,2\n", o: Options{Header: HeaderNone}, err: "text without a header needs the names of its columns: give `columns`"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := writeFile(t, "x.csv", []byte(tt.in))
			for chunk := range 12 {
				o := tt.o
				o.ChunkSize, o.AllowEmpty = chunk, true // 0 is the default
				in, err := Open(t.Context(), disk, []string{path}, o)
				var got []record
				if err == nil {
					got, err = readAll(t.Context(), in)
				}
				if tt.err != "" {
					// What may follow in parentheses is a hint.
					if got, _, _ := strings.Cut(fmt.Sprint(err), " ("); got != path+": "+tt.err {
						t.Fatalf("chunks of %d: error %v, want %s: %s", chunk, err, path, tt.err)
					}
					continue
				}
				if err != nil {
					t.Fatalf("chunks of %d: %v", chunk, err)
				}
				if diff := cmp.Diff(tt.want, values(got)); diff != "" {
					t.Errorf("chunks of %d (-want +got):\n%s", chunk, diff)
				}
				if tt.columns != nil && !slices.Equal(in.Columns(), tt.columns) {
					t.Errorf("columns %q, want %q", in.Columns(), tt.columns)
				}
			}
		})
	}
}

// text draws a string of the characters that are special to a parser of CSV.
func text(alphabet string) *rapid.Generator[string] {
	return rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]rune(alphabet)), 0, 12), func(r []rune) string { return string(r) })
}

// TestCSVRoundTrip writes records in several forms of CSV, and reads them back.
func TestCSVRoundTrip(t *testing.T) {
	testcheck.Check(t, func(t *rapid.T) {
		cols := rapid.IntRange(1, 5).Draw(t, "cols")
		// Long values are longer than the blocks of the scanner.
		value := rapid.OneOf(text("ab,\"\n\r规"), rapid.Map(rapid.IntRange(0, 200), func(n int) string { return strings.Repeat("x\"", n/3) + strings.Repeat(",", n%3) }))
		rows := rapid.SliceOfN(rapid.SliceOfN(value, cols, cols), 0, 30).Draw(t, "rows")
		end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end")
		quoteAll := rapid.Bool().Draw(t, "quote all")
		var b bytes.Buffer
		if rapid.Bool().Draw(t, "bom") {
			b.WriteString("\ufeff")
		}
		var names []string
		for c := range cols {
			names = append(names, fmt.Sprint("c", c))
		}
		for i, row := range append([][]string{names}, rows...) {
			if i > 0 {
				b.WriteString(end)
			}
			for c, v := range row {
				if c > 0 {
					b.WriteByte(',')
				}
				if quoteAll || cols == 1 || strings.ContainsAny(v, ",\"\n\r") {
					v = `"` + strings.ReplaceAll(v, `"`, `""`) + `"`
				}
				b.WriteString(v)
			}
		}
		if len(rows) == 0 || rapid.Bool().Draw(t, "last end") {
			b.WriteString(end)
		}
		got, err := loadBytes(t, Options{SplitSize: int64(rapid.IntRange(1, b.Len()+1).Draw(t, "split")), ChunkSize: rapid.IntRange(1, 300).Draw(t, "chunk")}, "x.csv", b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(rows, values(got), cmp.Comparer(func(a, b [][]string) bool {
			return slices.EqualFunc(a, b, slices.Equal)
		})); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

// outcome is the whole result of reading: records, bad records, and the error.
type outcome struct {
	Good []record
	Bad  []string
	Err  string
}

func read(t *rapid.T, name string, data []byte, o Options) (out outcome) {
	o.Reject = func(e RowError) error {
		out.Bad = append(out.Bad, fmt.Sprintf("%s | %q", e.Error(), e.Raw))
		return nil
	}
	good, err := loadBytes(t, o, name, data)
	out.Good = good
	if err != nil {
		out.Err = err.Error()
	}
	return out
}

// TestSplitsOfCSV compares all ways to split any text, well formed or not, with reading it as a whole: the same records at the same positions, the
// same bad records with the same numbers, and the same error.
func TestSplitsOfCSV(t *testing.T) {
	testcheck.Check(t, func(t *rapid.T) {
		data := []byte(rapid.OneOf(text("a,\"\n"), text("ab,,\"\"\n\n\r"), rapid.Map(rapid.SliceOfN(text("a,\"\n\r"), 0, 20), func(s []string) string { return strings.Join(s, "\n") })).Draw(t, "data"))
		o := Options{Header: HeaderNone, Columns: []string{"a", "b"}[:rapid.IntRange(1, 2).Draw(t, "cols")]}
		whole := read(t, "x.csv", data, o)
		o.SplitSize = int64(rapid.IntRange(1, len(data)+1).Draw(t, "split"))
		o.ChunkSize = rapid.IntRange(1, 20).Draw(t, "chunk")
		if diff := cmp.Diff(whole, read(t, "x.csv", data, o)); diff != "" {
			t.Fatalf("(-whole +split):\n%s", diff)
		}
	})
}

// FuzzCSV compares the scanner with encoding/csv: the same records, and bad records at the same places. Inputs with a carriage return are skipped,
// because encoding/csv changes CR LF within quotes, and so are inputs that may have stray records.
func FuzzCSV(f *testing.F) {
	f.Add([]byte("a,b\n1,2\n"), 3, 5)
	f.Add([]byte("\"a\"\"\",\n\n,\"\n\"\n"), 1, 1)
	f.Add([]byte("a\"b,c\n\"d\"e,f\n\"g"), 2, 4)
	f.Add([]byte("规则01,\"x\ny\"\n"+strings.Repeat("\"\"\"\",z\n", 40)), 64, 100)
	f.Fuzz(func(t *testing.T, data []byte, chunk, split int) {
		if bytes.ContainsRune(data, '\r') || mayStray(data) || bytes.IndexByte(data, 0) >= 0 || bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) || compression.Begins(data) != "" || isForeign(data) || len(data) > 1<<16 {
			t.Skip()
		}
		want := csv.NewReader(bytes.NewReader(data))
		want.FieldsPerRecord = 2
		var rows [][]string
		for {
			row, err := want.Read()
			if err == io.EOF {
				break
			}
			if err != nil && !errors.Is(err, csv.ErrFieldCount) && !errors.Is(err, csv.ErrQuote) && !errors.Is(err, csv.ErrBareQuote) {
				t.Fatal(err)
			}
			if err != nil {
				row = nil // a bad record
			}
			rows = append(rows, row)
		}
		o := Options{Format: FormatCSV, Header: HeaderNone, Columns: []string{"first column", "second column"}, ChunkSize: 1 + abs(chunk)%4096, SplitSize: int64(1 + abs(split)%(len(data)+1))}
		var bad []int64
		o.Reject = func(e RowError) error {
			bad = append(bad, e.Record)
			return nil
		}
		got, err := loadBytes(t, o, "x.csv", data)
		if row, ok := errors.AsType[*RowError](err); ok && strings.Contains(row.Reason, "not closed") {
			bad = append(bad, int64(len(rows))) // it ends the reading and is the last record of the file
		} else if err != nil {
			t.Fatal(err)
		}
		all := values(got)
		for _, n := range bad {
			all = slices.Insert(all, int(n-1), nil)
		}
		if !slices.EqualFunc(all, rows, slices.Equal) {
			t.Fatalf("%q: got %q, encoding/csv has %q", data, all, rows)
		}
	})
}

// mayStray reports whether the data may have stray records, in files whose columns have their own names.
func mayStray(data []byte) bool {
	return bytes.Contains(data, bom) || bytes.IndexByte(data, sub) >= 0 || bytes.Contains(data, []byte("first column"))
}

// isForeign reports whether the data are in a format that is refused.
func isForeign(data []byte) bool {
	return sniff.ForeignContent(data) != nil ||
		bytes.HasPrefix(data, []byte(orc.Magic)) && orc.Ends(data, data[max(0, len(data)-4):])
}

func abs(n int) int {
	if n < 0 {
		return -(n + 1)
	}
	return n
}
