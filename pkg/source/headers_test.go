package source

import (
	"fmt"
	"strings"
	"testing"

	"bulkload/pkg/source/dialect"

	"github.com/google/go-cmp/cmp"
)

// A headerCase is an input of several files, and the expected rows, or a part of the error.
type headerCase struct {
	name  string
	o     Options
	d     *dialect.Dialect
	files []string // a:text is in directory a
	want  []string // - is NULL, ! a bad record
	err   string
}

func (tt *headerCase) run(t *testing.T) {
	files, inputs := map[string]string{}, []string{}
	for i, text := range tt.files {
		name := fmt.Sprintf("part-%d.txt", i)
		if dir, rest, ok := strings.Cut(text, ":"); ok {
			name, text = dir+"/"+name, rest
		}
		files[name] = text
		inputs = append(inputs, name)
	}
	dir := tree(t, files)
	for i := range inputs {
		inputs[i] = dir + "/" + inputs[i]
	}
	for _, size := range []int64{0, 1, 5} {
		o := tt.o
		o.SplitSize, o.Dialect = size, tt.d
		var got []string
		if tt.err == "" {
			o.Reject = func(e RowError) error {
				got = append(got, "!"+strings.Join(strings.Fields(e.Reason)[:2], " "))
				return nil
			}
		}
		in, err := Open(t.Context(), disk, inputs, o)
		if err == nil {
			err = showRows(t, in, &got)
		}
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("splits of %d: %v, error %v, want %s", size, got, err, tt.err)
			}
			continue
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("splits of %d (-want +got):\n%s%v", size, diff, err)
		}
	}
}

// withHeader returns a dialect with another header.
func withHeader(t *testing.T, name string, h dialect.Header) *dialect.Dialect {
	return dialectOf(t, name, func(d *dialect.Dialect) { d.Header = h })
}

// TestHeaderOfTheFirstFile checks that the header of the first file names the columns of all files, in its order.
func TestHeaderOfTheFirstFile(t *testing.T) {
	d := withHeader(t, dialect.CSV, dialect.HeaderFirst)
	hive := withHeader(t, dialect.Hive, dialect.HeaderFirst)
	iab := []string{"id", "a", "b"}
	for _, tt := range []headerCase{
		{name: "another order", o: Options{Columns: iab}, files: []string{"id,b,a\n1,b1,a1\n", "2,b2,a2\n"}, want: []string{"1/a1/b1", "2/a2/b2"}},
		{name: "the same order", o: Options{Columns: iab}, files: []string{"id,a,b\n1,a1,b1\n", "2,a2,b2\n"}, want: []string{"1/a1/b1", "2/a2/b2"}},
		{name: "no given columns", files: []string{"id,b,a\n1,b1,a1\n", "2,b2,a2\n"}, want: []string{"1/b1/a1", "2/b2/a2"}},
		{name: "others ignored", o: Options{Columns: []string{"id", "a"}, Extra: ExtraIgnore}, files: []string{"id,x,a\n1,x1,a1\n", "2,x2,a2\n"}, want: []string{"1/a1", "2/a2"}},
		{name: "others ignored, one missing", o: Options{Columns: []string{"id", "a"}, Extra: ExtraIgnore, Missing: MissingNull}, files: []string{"id,x\n1,x1\n", "2,x2\n"}, want: []string{"1/-", "2/-"}},
		{name: "one missing", o: Options{Columns: iab, Missing: MissingNull}, files: []string{"id,b\n1,b1\n", "2,b2\n"}, want: []string{"1/-/b1", "2/-/b2"}},
		{name: "the last ones missing", o: Options{Columns: iab, Missing: MissingNull}, files: []string{"id,b,a\n1,b1,a1\n", "2,b2\n"}, want: []string{"1/a1/b1", "2/-/b2"}},
		{name: "the last ones missing, names of the header", o: Options{Missing: MissingNull}, files: []string{"id,b,a\n1,b1,a1\n", "2,b2\n"}, want: []string{"1/b1/a1", "2/b2/-"}},
		{name: "the last ones missing, Hive", d: hive, o: Options{Columns: iab}, files: []string{"id\x01b\x01a\n1\x01b1\x01a1\n", "2\x01b2\n"}, want: []string{"1/a1/b1", "2/-/b2"}},
		{name: "partitions", o: Options{Columns: []string{"dt", "id", "a", "b"}}, files: []string{"dt=1:id,b,a\n1,b1,a1\n", "dt=2:2,b2,a2\n"}, want: []string{"1/1/a1/b1", "2/2/a2/b2"}},
		{name: "partitions, names of the header", files: []string{"dt=1:id,b\n1,b1\n", "dt=2:2,b2\n"}, want: []string{"1/b1/1", "2/b2/2"}},
		{name: "a column of the header in a path", o: Options{Columns: []string{"id", "a", "dt"}}, files: []string{"id,dt,a\n1,0,a1\n", "dt=2:2,a2\n"}, want: []string{"1/a1/0", "2/a2/2"}},
		{name: "too few", o: Options{Columns: iab}, files: []string{"id,b,a\n1,b1,a1\n", "2,b2\n"}, want: []string{"1/a1/b1", "!2 columns"}},
		{name: "repeated header", o: Options{Columns: iab}, files: []string{"id,b,a\n1,b1,a1\n", "id,b,a\n2,b2,a2\n"}, err: "part-1.txt: its first record is the names of the columns"},
		{name: "another header, names of the header", files: []string{"id,a,b\n1,a1,b1\n", "id,b,a\n2,b2,a2\n"}, err: "part-1.txt: its first record is the names of the columns"},
		{name: "another header, others ignored", o: Options{Columns: []string{"id", "a"}, Extra: ExtraIgnore}, files: []string{"id,x,a\n1,x1,a1\n", "id,a,x\n2,a2,x2\n"}, err: "part-1.txt: its first record is the names of the columns"},
		{name: "another header that lacks a name, names of the header", o: Options{Missing: MissingNull}, files: []string{"id,a,b\n1,a1,b1\n", "b,id\n2,3\n"}, err: "part-1.txt: its first record is the names of the columns"},
		{name: "repeated header, names of the header", files: []string{"id,a,b\n1,a1,b1\n", "id,a,b\n2,a2,b2\n"}, want: []string{"1/a1/b1", "!it is", "2/a2/b2"}},
		{name: "header in the middle", o: Options{Columns: iab}, files: []string{"id,b,a\n1,b1,a1\n", "2,b2,a2\nid,b,a\n3,b3,a3\n"}, want: []string{"1/a1/b1", "2/a2/b2", "!it repeats", "3/a3/b3"}},
		{name: "a blank file", o: Options{Columns: iab}, files: []string{"id,b,a\n1,b1,a1\n", "\n", "2,b2,a2\n"}, want: []string{"1/a1/b1", "2/a2/b2"}},
		{name: "a blank first file", o: Options{Columns: iab}, files: []string{"\n", "2,a2,b2\n"}, err: "part-0.txt has no header"},
		{name: "blank files only", o: Options{Columns: iab}, files: []string{"\n", "\n"}},
	} {
		if tt.d == nil {
			tt.d = d
		}
		t.Run(tt.name, tt.run)
	}
}

// TestHeadersThatMatch checks that with header match a first record of column names is a header, in any order, and that any other is data.
func TestHeadersThatMatch(t *testing.T) {
	d := withHeader(t, dialect.CSV, dialect.HeaderMatch)
	iab := []string{"id", "a", "b"}
	null := Options{Columns: iab, Missing: MissingNull}
	hive := withHeader(t, dialect.Hive, dialect.HeaderMatch)
	escaped := withHeader(t, dialect.HiveEscaped, dialect.HeaderMatch)
	for _, tt := range []headerCase{
		{name: "another order", o: Options{Columns: iab}, files: []string{"id,a,b\n1,a1,b1\n", "id,b,a\n2,b2,a2\n"}, want: []string{"1/a1/b1", "2/a2/b2"}},
		{name: "with and without", o: Options{Columns: iab}, files: []string{"1,a1,b1\n", "b,a,id\n2,3,4\n", "5,6,7\n"}, want: []string{"1/a1/b1", "4/3/2", "5/6/7"}},
		{name: "a name twice", o: Options{Columns: iab}, files: []string{"id,a,a\n1,2,3\n"}, want: []string{"id/a/a", "1/2/3"}},
		{name: "one other", o: Options{Columns: iab}, files: []string{"id,a,c\n1,2,3\n"}, want: []string{"id/a/c", "1/2/3"}},
		{name: "partitions", o: Options{Columns: []string{"dt", "id", "a"}}, files: []string{"dt=1:id,a\n1,a1\n", "dt=2:a,id\na2,2\n", "dt=3:3,a3\n"}, want: []string{"1/1/a1", "2/2/a2", "3/3/a3"}},
		{name: "one missing", o: null, files: []string{"b,id\n1,2\n"}, want: []string{"2/-/1"}},
		{name: "one missing, not allowed", o: Options{Columns: iab}, files: []string{"b,id\n1,2,3\n"}, want: []string{"!2 columns", "1/2/3"}},
		{name: "no header, the last ones missing", o: null, files: []string{"1,a1\n", "2,a2,b2\n", "id,a,b\n3,4,5\n"}, want: []string{"1/a1/-", "2/a2/b2", "3/4/5"}},
		{name: "one value", o: Options{Columns: iab}, files: []string{"id\n"}, want: []string{"!1 column"}},
		{name: "one column", o: Options{Columns: iab[:1]}, files: []string{"id\n1\n", "2\n"}, want: []string{"1", "2"}},
		{name: "a mark", o: Options{Columns: iab}, files: []string{"\n\ufeffid,b,a\n1,2,3\n"}, err: "a byte order mark stands before its first name"},
		{name: "a mark before data", o: Options{Columns: iab}, files: []string{"\n\ufeff1,2,3\n4,5,6\n"}, want: []string{"!a byte", "4/5/6"}},
		{name: "Hive, some in another order", d: hive, o: Options{Columns: iab}, files: []string{"b\x01id\n1\x012\n", "id\x01a\x01b\n3\x014\x015\n"}, err: `column "a" is missing`},
		{name: "Hive, the first ones", d: hive, o: Options{Columns: iab}, files: []string{"id\x01a\n1\x012\n"}, err: `column "b" is missing`},
		{name: "Hive, escaped", d: escaped, o: Options{Columns: iab}, files: []string{"b\x01id\n1\x012\n"}, err: `column "a" is missing`},
		{name: "Hive, null", d: hive, o: null, files: []string{"b\x01id\n1\x012\n", "3\x014\n"}, want: []string{"2/-/1", "3/4/-"}},
		{name: "Hive, fail", d: hive, o: Options{Columns: iab, Missing: MissingFail}, files: []string{"b\x01id\n1\x012\x013\n"}, want: []string{"!2 columns", "1/2/3"}},
		{name: "Hive, data of an older file", d: hive, o: Options{Columns: iab}, files: []string{"1\x012\n", "b\x01a\x01id\n3\x014\x015\n"}, want: []string{"1/2/-", "5/4/3"}},
	} {
		if tt.d == nil {
			tt.d = d
		}
		t.Run(tt.name, tt.run)
	}
}

// TestNamesInAnotherOrder checks that text without a header is refused if its first record has the names of the columns in another order.
func TestNamesInAnotherOrder(t *testing.T) {
	iab := []string{"id", "a", "b"}
	csv := withHeader(t, dialect.CSV, dialect.HeaderNo)
	const err = "its first record is the names of the columns"
	for _, tt := range []headerCase{
		{name: "another order", d: csv, o: Options{Columns: iab}, files: []string{"id,b,a\n1,2,3\n"}, err: err},
		{name: "the same order", d: csv, o: Options{Columns: iab}, files: []string{"id,a,b\n1,2,3\n"}, err: err},
		{name: "some", d: csv, o: Options{Columns: iab, Missing: MissingNull}, files: []string{"b,id\n1,2\n"}, err: err},
		{name: "the first ones", d: csv, o: Options{Columns: iab, Missing: MissingNull}, files: []string{"id,a\n1,2\n"}, want: []string{"!it is", "1/2/-"}},
		{name: "some that are too few", d: csv, o: Options{Columns: iab}, files: []string{"b,id\n1,2,3\n"}, want: []string{"!2 columns", "1/2/3"}},
		{name: "a name twice", d: csv, o: Options{Columns: iab}, files: []string{"id,a,a\n1,2,3\n"}, want: []string{"id/a/a", "1/2/3"}},
	} {
		t.Run(tt.name, tt.run)
	}
}

// TestPlainTextThatLacksColumns checks that plain CSV without a header and dumps lack the last columns if their first record does, and that
// both are refused if it has the names of the columns in another order.
func TestPlainTextThatLacksColumns(t *testing.T) {
	iab := []string{"id", "a", "b"}
	csv := Options{Columns: iab, Header: HeaderNone}
	null := csv
	null.Missing = MissingNull
	partitions := null
	partitions.Columns = []string{"id", "dt", "a", "b"}
	const err = "its first record is the names of the columns"
	long := strings.Repeat("x", 100_000)
	for _, tt := range []headerCase{
		{name: "null", o: null, files: []string{"1,a1\n2,a2\n", "3,a3,b3\n"}, want: []string{"1/a1/-", "2/a2/-", "3/a3/b3"}},
		{name: "fail", o: csv, files: []string{"1,a1\n", "3,a3,b3\n"}, want: []string{"!2 columns", "3/a3/b3"}},
		{name: "partitions", o: partitions, files: []string{"dt=7:1,a1\n2,a2\n", "dt=8:3,a3,b3\n"}, want: []string{"1/7/a1/-", "2/7/a2/-", "3/8/a3/b3"}},
		{name: "blank lines and a mark", o: null, files: []string{"\ufeff\r\n\n1,a1\r\n2,a2"}, want: []string{"1/a1/-", "2/a2/-"}},
		{name: "no last line end", o: null, files: []string{"1,a1"}, want: []string{"1/a1/-"}},
		{name: "quotes", o: null, files: []string{"1,\"a,\n1\"\n2,a2\n"}, want: []string{"1/a,\n1/-", "2/a2/-"}},
		{name: "a bad first record", o: null, files: []string{"1,\"\n", "3,a3,b3\n"}, err: "a quote is opened and not closed"},
		{name: "a bad quote in the first record", o: null, files: []string{"1,a\"\n3,a3,b3\n"}, want: []string{"!a quote", "3/a3/b3"}},
		{name: "one value", o: null, files: []string{"1\n", "3,a3,b3\n"}, want: []string{"!1 column", "3/a3/b3"}},
		{name: "a later record", o: null, files: []string{"1,a1,b1\n2,a2\n"}, want: []string{"1/a1/b1", "!2 columns"}},
		{name: "more values", o: null, files: []string{"1,2,3,4\n"}, want: []string{"!4 columns"}},
		{name: "a long first record", o: null, files: []string{"1," + long + "\n"}, want: []string{"!2 columns"}},
		{name: "another order", o: csv, files: []string{"id,b,a\n1,2,3\n"}, err: err},
		{name: "the same order", o: csv, files: []string{"id,a,b\n1,2,3\n"}, want: []string{"!it is", "1/2/3"}},
		{name: "some", o: null, files: []string{"b,id\n1,2\n"}, err: err},

		{name: "dump, null", o: withFormat(null, FormatDump), files: []string{"1\x01a1\x102\x01a2\x10", "3\x01a3\x01b3\x10"}, want: []string{"1/a1/-", "2/a2/-", "3/a3/b3"}},
		{name: "dump, by its content", o: null, files: []string{"1\x01a1\x102\x01a2\x10"}, want: []string{"1/a1/-", "2/a2/-"}},
		{name: "dump, fail", o: withFormat(csv, FormatDump), files: []string{"1\x01a1\x10", "3\x01a3\x01b3\x10"}, want: []string{"!2 columns", "3/a3/b3"}},
		{name: "dump, partitions", o: withFormat(partitions, FormatDump), files: []string{"dt=7:1\x01a1"}, want: []string{"1/7/a1/-"}},
		{name: "dump, no last separator", o: withFormat(null, FormatDump), files: []string{"1\x01a1"}, want: []string{"1/a1/-"}},
		{name: "dump, one value", o: withFormat(null, FormatDump), files: []string{"1\x10"}, want: []string{"!1 column"}},
		{name: "dump, a long first record", o: withFormat(null, FormatDump), files: []string{"1\x01" + long + "\x10"}, want: []string{"!2 columns"}},
		{name: "dump, another order", o: withFormat(csv, FormatDump), files: []string{"id\x01b\x01a\x101\x012\x013\x10"}, err: err},
		{name: "dump, the same order", o: withFormat(csv, FormatDump), files: []string{"id\x01a\x01b\x101\x012\x013\x10"}, want: []string{"!it repeats", "1/2/3"}},
		{name: "dump, some", o: withFormat(null, FormatDump), files: []string{"b\x01id\x101\x012\x10"}, err: err},
		{name: "dump, nothing", o: withFormat(null, FormatDump), files: []string{"1\x012\x013\x10", "\x10"}, want: []string{"1/2/3", "!1 column"}},
	} {
		t.Run(tt.name, tt.run)
	}
}

// TestBlankLinesBeforeHeaders checks that blank lines before a header are skipped where they are no records, as in plain CSV.
func TestBlankLinesBeforeHeaders(t *testing.T) {
	comments := dialectOf(t, dialect.Excel, func(d *dialect.Dialect) { d.Comment = "#" })
	match := dialectOf(t, dialect.CSV, func(d *dialect.Dialect) { d.Header, d.Comment = dialect.HeaderMatch, "#" })
	ab, one := Options{Columns: []string{"a", "b"}}, Options{Columns: []string{"a"}}
	for _, tt := range []headerCase{
		{name: "plain CSV", files: []string{"\n\r\na,b\n1,2\n"}, want: []string{"1/2"}},
		{name: "plain CSV of one column", files: []string{"\na\n1\n"}, want: []string{"1"}},
		{name: "excel", d: dialectOf(t, dialect.Excel, nil), files: []string{"\n\r\na,b\n1,2\n"}, want: []string{"1/2"}},
		{name: "postgres-csv", d: dialectOf(t, dialect.PostgresCSV, nil), files: []string{"\ufeff\na,b\n1,2\n"}, want: []string{"1/2"}},
		{name: "one column", d: dialectOf(t, dialect.Excel, nil), files: []string{"\na\n1\n"}, want: []string{"1"}},
		{name: "comments", d: comments, files: []string{"# x\n\n# y\n\r\na,b\n1,2\n"}, want: []string{"1/2"}},
		{name: "comments and blank lines only", d: comments, o: ab, files: []string{"# x\n\n# y\n\r\n"}},
		{name: "match", d: match, o: ab, files: []string{"\nb,a\n1,2\n", "\n3,4\n", "# x\n\na,b\n5,6\n"}, want: []string{"2/1", "3/4", "5/6"}},
		{name: "match, one column", d: match, o: one, files: []string{"\na\n1\n"}, want: []string{"", "a", "1"}},
		{name: "LF ends records", d: dialectOf(t, dialect.Pandas, nil), files: []string{"\na,b\n1,2\n"}, err: "column 1 has no name"},
	} {
		t.Run(tt.name, tt.run)
	}
}

// TestHeadersThatDiffer reads two files whose headers differ, without given names: the message names what reads them all the same, and no name that may
// be a value.
func TestHeadersThatDiffer(t *testing.T) {
	first := writeFile(t, "s.csv", []byte("id,name\n1,a\n"))
	for text, want := range map[string]string{
		"id\n2\n":            ": it lacks column 2 of " + first + ": `missing` null reads it all the same; if its first line is no header, give `header` no",
		"id,name,x\n2,b,c\n": ": its column 3 is not in " + first + ": `extra` ignore passes over it; if its first line is no header, give `header` no",
	} {
		second := writeFile(t, "t.csv", []byte(text))
		_, err := Open(t.Context(), disk, []string{first, second}, Options{})
		if err == nil || err.Error() != second+want {
			t.Errorf("%v, want %s", err, second+want)
		}
	}
}
