package source

import (
	stdcmp "cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bulkload/pkg/source/dialect"

	"github.com/google/go-cmp/cmp"
)

// strayMark is a byte order mark.
const strayMark = "\ufeff"

// stray is a file with its options, and the expected records or error.
type stray struct {
	name, in string
	o        Options
	want     []string
	err      string
}

// TestStrays reads files that were concatenated from several, and files with the line ends and last bytes of other programs. Parts that are not data
// are bad records or errors, however the file is split. Expected records have / between values; those that begin with ! are bad, and have the
// beginning of the reason.
func TestStrays(t *testing.T) {
	for _, tt := range slices.Concat(strayHeaders(t), strayMarks(t), strayLineEnds(t), strayLastBytes(t)) {
		t.Run(tt.name, func(t *testing.T) {
			path := writeFile(t, "x.txt", []byte(tt.in))
			if tt.o.Format == FormatAuto && tt.o.Dialect == nil {
				tt.o.Format = FormatCSV
			}
			for cut := range 40 {
				tt.read(t, path, cut)
			}
		})
	}
}

// TestHeaderAfterBlankLines checks that a header after blank lines is taken for one in the split that has both.
func TestHeaderAfterBlankLines(t *testing.T) {
	o := Options{Format: FormatCSV, Header: HeaderNone, Columns: []string{"a", "b"}}
	tt := stray{in: "\n\r\na,b\n1,2\n", o: o, want: []string{"!it is the names of the columns, as a header is", "1/2"}}
	tt.read(t, writeFile(t, "x.txt", []byte(tt.in)), 0)
}

// strayDialect returns a preset with changes.
func strayDialect(t *testing.T, name string, changes ...func(*dialect.Dialect)) *dialect.Dialect {
	d := dialectOf(t, name, nil)
	for _, change := range changes {
		change(d)
	}
	return d
}

// strayCSV returns CSV with changes.
func strayCSV(t *testing.T, header dialect.Header, changes ...func(*dialect.Dialect)) *dialect.Dialect {
	return strayDialect(t, "csv", append(changes, func(d *dialect.Dialect) { d.Header, d.Null = header, []string{"NULL"} })...)
}

// strayDump returns the options of a dump.
func strayDump() Options {
	return Options{Format: FormatDump, Columns: []string{"a", "b"}}
}

// strayHeaders returns files with headers between records.
func strayHeaders(t *testing.T) []stray {
	ab := []string{"a", "b"}
	return []stray{
		{name: "header again", in: "a,b\n1,2\na,b\n3,4\n", want: []string{"1/2", "!it repeats", "3/4"}},
		{name: "header again, quoted, with CR LF", in: "\"a\",b\n1,2\na,\"b\"\r\n3,4\n", want: []string{"1/2", "!it repeats", "3/4"}},
		{name: "header again of one column", in: "a\n1\na\n3\n", want: []string{"1", "!it repeats", "3"}},
		{name: "a value that is the name of its column", in: "a,b\na,2\n1,b\n", want: []string{"a/2", "1/b"}},
		{name: "a word of one column", in: "a\nb\n", o: Options{Dialect: strayCSV(t, "no"), Columns: []string{"a"}}, want: []string{"a", "b"}},
		{name: "header in text without one", in: "1,2\na,b\n", o: Options{Dialect: strayCSV(t, "no"), Columns: ab}, want: []string{"1/2", "!it repeats"}},
		{name: "header of CSV without one", in: "a,b\n1,2\n", o: Options{Header: HeaderNone, Columns: ab}, want: []string{"!it is the names of the columns, as a header is", "1/2"}},
		{name: "header of CSV without one, again", in: "a,b\n1,2\na,b\n", o: Options{Header: HeaderNone, Columns: ab}, want: []string{"!it is the names of the columns, as a header is", "1/2", "!it repeats"}},
		{name: "header of CSV without one, after a mark", in: strayMark + "a,b\n1,2\n", o: Options{Header: HeaderNone, Columns: ab}, want: []string{"!it is the names of the columns, as a header is", "1/2"}},
		{name: "header twice", in: "a,b\na,b\n1,2\n", want: []string{"!it repeats", "1/2"}},
		{name: "header of match", in: "1,2\na,b\n", o: Options{Dialect: strayCSV(t, "match"), Columns: ab}, want: []string{"1/2", "!it repeats"}},
		{name: "header in a dump", in: "1\x012\x10a\x01b\x103\x014\x10", o: strayDump(), want: []string{"1/2", "!it repeats", "3/4"}},
		{name: "header in other columns", in: "b,a\n1,2\nb,a\n", o: Options{Columns: ab}, want: []string{"2/1", "!it repeats"}},
		{name: "header of pandas with its index", in: ",a,b\n0,1,2\n,a,b\n,3,4\n", o: Options{Dialect: strayDialect(t, "pandas"), Columns: ab, Extra: ExtraIgnore}, want: []string{"1/2", "!it repeats", "3/4"}},
	}
}

// strayMarks returns files with byte order marks between records, and text of another encoding.
func strayMarks(t *testing.T) []stray {
	ab := []string{"a", "b"}
	return []stray{
		{name: "mark and header", in: strayMark + "a,b\n1,2\n" + strayMark + "a,b\n3,4\n", want: []string{"1/2", "!a byte order mark", "3/4"}},
		{name: "mark before a record", in: "a,b\n1,2\n" + strayMark + "3,4\n", want: []string{"1/2", "!a byte order mark"}},
		{name: "mark of a dialect", in: "1\t2\n" + strayMark + "3\t4\n", o: Options{Dialect: strayDialect(t, "mysql"), Columns: ab}, want: []string{"1/2", "!a byte order mark"}},
		{name: "mark in a dump", in: strayMark + "1\x012\x10" + strayMark + "3\x014\x10", o: strayDump(), want: []string{"!a byte order mark", "!a byte order mark"}},
		{name: "mark before a quote", in: "a,b\n1,2\n" + strayMark + "\"3\",\"4\"\n5,6\n", want: []string{"1/2", "!a byte order mark", "5/6"}},
		{name: "mark before a record of another length", in: "a,b\n1,2\n" + strayMark + "3,4,5\n", want: []string{"1/2", "!a byte order mark"}},
		{name: "mark behind a quote", in: "a,b\n\"" + strayMark + "1\",2\n", want: []string{strayMark + "1/2"}},
		{name: "mark within a value", in: "a,b\n1,x" + strayMark + "y\n", want: []string{"1/x" + strayMark + "y"}},
		{name: "bytes of a mark in other bytes", in: "a,b\n" + strayMark + "\xff,2\n", want: []string{strayMark + "\xff/2"}},
		{name: "mark of UTF-16", in: utf16Text(strayMark+"a,b\n1,2\n"+strayMark+"3,4\n", true), o: Options{Dialect: strayCSV(t, "yes", func(d *dialect.Dialect) { d.Charset = "utf-16" })}, want: []string{"1/2", "!a byte order mark"}},
		{name: "mark of GB18030", in: "a,b\n1,2\n\x84\x31\x95\x333,4\n", o: Options{Dialect: strayCSV(t, "yes", func(d *dialect.Dialect) { d.Charset = "gb18030" })}, want: []string{"1/2", "!a byte order mark"}},
		{name: "two marks", in: strayMark + strayMark + "a,b\n1,2\n", err: "header: a byte order mark stands before its first name"},
		{name: "two marks, no header", in: strayMark + strayMark + "1,2\n", o: Options{Header: HeaderNone, Columns: ab}, want: []string{"!a byte order mark"}},
		{name: "blank line, mark", in: "\n" + strayMark + "a,b\n1,2\n", err: "header: a byte order mark stands before its first name"},
		{name: "marks, match", in: strayMark + strayMark + "a,b\n1,2\n", o: Options{Dialect: strayCSV(t, "match"), Columns: ab}, err: "header: a byte order mark stands before its first name"},
		{name: "UTF-16 behind UTF-8", in: "a,b\n" + strings.Repeat("1,2\n", 12) + utf16Text(strayMark+"3,4\n5,6\n", true), err: "record 13 at byte 52: UTF-16 begins here"},
		{name: "UTF-16 behind UTF-8 of one column", in: "a\n" + strings.Repeat("1\n", 12) + utf16Text(strayMark+"3\n5\n", true), err: "record 13 at byte 26: UTF-16 begins here"},
		{name: "UTF-16 of the other order", in: utf16Text(strayMark+"a,b\n1,2\n", true) + "\xfe\xff\x003\x00,\x004\x00\n", o: Options{Dialect: strayCSV(t, "yes", func(d *dialect.Dialect) { d.Charset = "utf-16" })}, err: "record 2 at byte 8: UTF-16 begins here"},
		{name: "no mark of UTF-16 but a separator", in: "1\xfe2\n\xfe\xff\x00\n", o: Options{Dialect: strayCSV(t, "no", func(d *dialect.Dialect) { d.FieldSep = "\xfe" }), Columns: ab}, want: []string{"1/2", "/\xff\x00"}},
		{name: "no mark of UTF-16 but CSV's separator", in: "1\xfe2\n\xfe\xff\x00\n", o: Options{Header: HeaderNone, FieldSep: SepOf(0xfe), Columns: ab}, want: []string{"1/2", "/\xff\x00"}},
	}
}

// strayLineEnds returns files with line ends of other programs.
func strayLineEnds(t *testing.T) []stray {
	ab := []string{"a", "b"}
	return []stray{
		{name: "CR CR LF", in: "a,b\n1,2\r\r\n3,4\r\n", want: []string{"!its line ends with CR CR LF", "3/4"}},
		{name: "CR CR LF of one column", in: "a\n1\r\r\n\r\r\n3\r\n", want: []string{"!its line ends with CR CR LF", "!its line ends with CR CR LF", "3"}},
		{name: "CR CR LF and blank lines", in: "a,b\n1,2\r\r\n\n3,4\r\r\n\r\n5,6\r\n\r\n", want: []string{"!its line ends with CR CR LF", "!its line ends with CR CR LF", "5/6"}},
		{name: "CR CR LF in the header", in: "a,b\r\r\n1,2\r\r\n", err: "header: its line ends with CR CR LF"},
		{name: "CR CR LF behind a quote", in: "a,b\n1,\"2\"\r\r\n3,4\n", want: []string{"!its line ends with CR CR LF", "3/4"}},
		{name: "CR CR at the end", in: "a,b\n1,2\n3,4\r\r", want: []string{"1/2", "!its line ends with CR CR LF"}},
		{name: "CR within quotes", in: "a,b\n1,\"2\r\"\r\n", want: []string{"1/2\r"}},
		{name: "CR CR LF as it is meant", in: "a,b\r\r\n1,2\r\r\n3,4\r\r\n", o: Options{Dialect: strayCSV(t, "yes", func(d *dialect.Dialect) { d.RecordSep = "\r\r\n" })}, want: []string{"1/2", "3/4"}},
		{name: "CR CR LF of a dialect", in: "1,2\r\r\n3,4\r\n", o: Options{Dialect: strayCSV(t, "no"), Columns: ab}, want: []string{"!its line ends with CR CR LF", "3/4"}},
		{name: "CR that is escaped", in: "1,2\\\r\r\n3,4\r\n", o: Options{Dialect: strayCSV(t, "no", func(d *dialect.Dialect) { d.Escape, d.Map = `\`, dialect.Literal }), Columns: ab}, want: []string{"1/2\r", "3/4"}},
		{name: "CR of MySQL", in: "1\t2\r\n3\t4\r\n", o: Options{Dialect: strayDialect(t, "mysql"), Columns: ab}, want: []string{"1/2\r", "3/4\r"}},
		{name: "CR LF of PostgreSQL", in: "1\t2\r\n3\t4\\r\n", o: Options{Dialect: strayDialect(t, "postgres"), Columns: ab}, want: []string{"!its line ends with CR LF", "3/4\r"}},
		{name: "CR LF of a dialect with LF, header", in: "a\tb\r\n1\t2\r\n", o: Options{Dialect: strayDialect(t, "mysql-batch")}, err: "header: its line ends with CR LF"},
		{name: "CR LF of a dialect with LF, match", in: "a\tb\r\n1\t2\r\n", o: Options{Dialect: strayDialect(t, "mysql-batch", func(d *dialect.Dialect) { d.Header = "match" }), Columns: ab}, err: "header: its line ends with CR LF"},
		{name: "CR CR LF before a comment", in: "1,2\r\r\n#c\n3,4\r\n#\r\r\n5,6\n#\x1a", o: Options{Dialect: strayCSV(t, "no", func(d *dialect.Dialect) { d.Comment = "#" }), Columns: ab}, want: []string{"!its line ends with CR CR LF", "3/4", "5/6"}},
		{name: "CR CR LF behind a NULL word, before a comment", in: "1,NULL\r\r\n#c\n3,4\r\n", o: Options{Dialect: strayDialect(t, "csv", func(d *dialect.Dialect) { d.Header, d.Comment, d.Null = "no", "#", []string{"NULL\r"} }), Columns: ab}, want: []string{"!its line ends with CR CR LF", "3/4"}},
		{name: "CR behind an escape of quotes alone", in: "1,2\\\r\r\n3,4\r\n", o: Options{Dialect: strayCSV(t, "no", func(d *dialect.Dialect) { d.Escape, d.Map, d.QuotedOnly = `\`, dialect.Literal, true }), Columns: ab}, want: []string{"!its line ends with CR CR LF", "3/4"}},
		{name: "CR LF alone, of PostgreSQL's one column", in: "1\n\r\n3\n", o: Options{Dialect: strayDialect(t, "postgres"), Columns: ab[:1]}, want: []string{"1", "!its line ends with CR LF", "3"}},
	}
}

// strayLastBytes returns files with the last byte that other programs write after a text.
func strayLastBytes(t *testing.T) []stray {
	ab := []string{"a", "b"}
	return []stray{
		{name: "Control-Z of one column", in: "a\n1\n\x1a", want: []string{"1", "!the text ends with 0x1A"}},
		{name: "Control-Z on a line", in: "a\n1\n\x1a\r\n", want: []string{"1", "!the text ends with 0x1A"}},
		{name: "many", in: "a\n1\n\x1a\x1a\x1a", want: []string{"1", "!the text ends with 0x1A"}},
		{name: "of several columns", in: "a,b\n1,2\n\x1a", want: []string{"1/2", "!the text ends with 0x1A"}},
		{name: "behind a value", in: "a,b\n1,2\x1a", want: []string{"!the text ends with 0x1A"}},
		{name: "in a dump", in: "1\x012\x103\x014\x1a", o: strayDump(), want: []string{"1/2", "!the text ends with 0x1A"}},
		{name: "before a header", in: "a,b\n1,2\n\x1aa,b\n3,4\n", want: []string{"1/2", "!it repeats", "3/4"}},
		{name: "before a mark", in: "a,b\n1,2\n\x1a" + strayMark + "a,b\n3,4\n", want: []string{"1/2", "!a byte order mark", "3/4"}},
		{name: "as data", in: "a,b\n\x1a1,\x1a\n3,4\n", want: []string{"\x1a1/\x1a", "3/4"}},
		{name: "as a separator", in: "1\x1a2\n\x1a\n", o: Options{Dialect: strayDialect(t, "hive", func(d *dialect.Dialect) { d.FieldSep = "\x1a" }), Columns: ab}, want: []string{"1/2", "/"}},
	}
}

// TestMarksInCharset reads texts in character sets whose separators are above 0x80, or are the last bytes of characters too: escapes are escapes
// there, and the ends of characters are not.
func TestMarksInCharset(t *testing.T) {
	ab := []string{"a", "b"}
	with := func(preset, set, sep, quote string) Options {
		return Options{Columns: ab, Dialect: strayDialect(t, preset, func(d *dialect.Dialect) {
			d.Charset, d.FieldSep, d.Quote, d.Header = set, sep, quote, dialect.HeaderNo
		})}
	}
	for _, tt := range []stray{
		{name: "escaped ends", in: "1\xa7x\\\ny\\\nz\n2\xa7v\\\nw\n", o: with(dialect.HiveEscaped, "cp1252", "\xa7", ""), want: []string{"1/x\ny\nz", "2/v\nw"}},
		{name: "escaped ends in UTF-8", in: "1§x\\\ny\\\nz\n2§v\\\nw\n", o: with(dialect.HiveEscaped, "utf-8", "§", ""), want: []string{"1/x\ny\nz", "2/v\nw"}},
		{name: "the escaped end of a bad record", in: "1\xa7\"a\"b\\\n2\xa7x\n3\xa7y\n", o: with(dialect.MySQLText, "cp1252", "\xa7", `"`), want: []string{"!text after a closing quote", "3/y"}},
		{name: "CR behind a character", in: "1\t\xd5\\\r\n2\t\xd5\\\\\r\n", o: with(dialect.PostgresTxt, "gb18030", "\t", ""), want: []string{"!its line ends with CR LF", "2/誠\r"}},
		{name: "0x1A behind a character", in: "1\tx\n2\t\xd5\\\x1a", o: with(dialect.MySQLText, "gb18030", "\t", ""), want: []string{"1/x", "!the text ends with 0x1A"}},
		{name: "a byte that continues a character", in: "1,\"x\"y\xa6\n2,v\xa6\n3,w\xa6\n", o: Options{Columns: ab, Dialect: strayDialect(t, dialect.PostgresCSV, func(d *dialect.Dialect) {
			d.Charset, d.RecordSep, d.Header = "utf-8", "\xa6\n", dialect.HeaderNo
		})}, want: []string{"!text after a closing quote", "2/v", "3/w"}},
		{name: "a quote behind a character", in: "1|\xd6|\"x\n2|\"\n9|z\n\"\n3|y\n", o: with(dialect.CSV, "gb18030", "|", `"`), want: []string{"!a quote within a field", "2/\n9|z\n", "3/y"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := writeFile(t, "x.txt", []byte(tt.in))
			for cut := range 40 {
				tt.read(t, path, cut)
			}
		})
	}
}

// TestLastByteOfPackedText checks that a last line of 0x1A is no row wherever a chunk of packed text ends, and that one before the last line is.
func TestLastByteOfPackedText(t *testing.T) {
	for _, tt := range []struct {
		text, want string
		change     func(*Options)
	}{
		{"a\nb\nc\n\x1a\n", "a b c !", func(*Options) {}}, {"a\r\nb\r\n\x1a\r\n", "a b !", func(*Options) {}}, {"a\n\x1a\nb\n", "a \x1a b", func(*Options) {}}, {"a\nb\x1a\n", "a b\x1a", func(*Options) {}},
		{"a\nb\n\x1a\n", "a b !", func(o *Options) { o.Dialect = strayDialect(t, dialect.Hive) }},
		{"a\nb\n\x1a\n", "a b !", func(o *Options) { o.Format, o.FieldSep, o.RecordSep = FormatDump, SepOf(','), SepOf('\n') }},
	} {
		for chunk := 1; chunk < 14; chunk++ {
			for name, data := range map[string][]byte{"x.txt": []byte(tt.text), "x.txt.gz": pack(t, "gz", []byte(tt.text))} {
				var got []string
				o := Options{Format: FormatCSV, Header: HeaderNone, Columns: []string{"v"}, ChunkSize: chunk, Reject: func(e RowError) error {
					got = append(got, "!")
					if e.Reason != reasonSub {
						return &e
					}
					return nil
				}}
				if tt.change(&o); o.Dialect != nil {
					o.Format, o.Header = "", 0
				}
				in, err := Open(t.Context(), memory("/"+name, data), []string{"/" + name}, o)
				if err == nil {
					err = showRows(t, in, &got)
				}
				if text := strings.Join(got, " "); err != nil || text != tt.want {
					t.Errorf("%s of %q in chunks of %d: %q, want %q, %v", name, tt.text, chunk, text, tt.want, err)
				}
			}
		}
	}
}

// TestPathValuesSpareHeldText reads records that end with 0x1A with a column of the file's path, in chunks of all sizes: the bytes that are held back
// at the end of a chunk stay as they are.
func TestPathValuesSpareHeldText(t *testing.T) {
	long := strings.Repeat("v", 80) + "\x1a"
	want := strings.Repeat(long+"/1 ", 6)
	for name, change := range map[string]func(*Options){
		"dump":    func(o *Options) { o.Format, o.FieldSep, o.RecordSep = FormatDump, SepOf(','), SepOf('\n') },
		"csv":     func(o *Options) { o.Format, o.Header = FormatCSV, HeaderNone },
		"dialect": func(o *Options) { o.Dialect = strayDialect(t, dialect.Hive) },
	} {
		o := Options{Columns: []string{"v", "dt"}}
		change(&o)
		for o.ChunkSize = 1; o.ChunkSize < 170; o.ChunkSize++ {
			in, err := Open(t.Context(), memory("/dt=1/x.txt", []byte(strings.Repeat(long+"\n", 6)+"v\n")), []string{"/dt=1/x.txt"}, o)
			var got []string
			if err == nil {
				err = showRows(t, in, &got)
			}
			if text := strings.Join(got, " "); err != nil || text != want+"v/1" {
				t.Fatalf("%s in chunks of %d: %q, %v", name, o.ChunkSize, text, err)
			}
		}
	}
}

// strayRecord is a record, or the reason why it is bad, with its offset.
type strayRecord struct {
	offset int64
	text   string
}

// read reads a file in chunks and splits of a size.
func (tt *stray) read(t *testing.T, path string, cut int) {
	t.Helper()
	o := tt.o
	o.ChunkSize, o.SplitSize = cut%13, int64(cut)
	var bad []RowError
	o.Reject = func(e RowError) error {
		e.Reason = strings.Clone(e.Reason)
		bad = append(bad, e)
		return nil
	}
	in, err := Open(t.Context(), disk, []string{path}, o)
	var got []strayRecord
	if err == nil {
		r := in.NewReader()
		for i := range in.Splits() {
			err = stdcmp.Or(err, r.Read(t.Context(), i, func(b *Batch) error {
				for row := range b.Rows {
					var values []string
					for c := range b.Cols {
						values = append(values, string(b.Field(row, c)))
					}
					got = append(got, strayRecord{b.Offsets[row], strings.Join(values, "/")})
				}
				return nil
			}))
		}
	}
	if tt.err != "" {
		if text := fmt.Sprint(err); !strings.HasPrefix(text, path+": "+tt.err) {
			t.Fatalf("cut at %d: error %v, want %s", cut, err, tt.err)
		}
		return
	}
	if err != nil {
		t.Fatalf("cut at %d: %v", cut, err)
	}
	for _, e := range bad {
		got = append(got, strayRecord{e.Offset, "!" + e.Reason})
	}
	slices.SortStableFunc(got, func(a, b strayRecord) int { return int(a.offset - b.offset) })
	var texts []string
	for i, g := range got {
		if i < len(tt.want) && strings.HasPrefix(tt.want[i], "!") && strings.HasPrefix(g.text, tt.want[i]) {
			g.text = tt.want[i]
		}
		texts = append(texts, g.text)
	}
	if diff := cmp.Diff(tt.want, texts); diff != "" {
		t.Fatalf("cut at %d (-want +got):\n%s", cut, diff)
	}
	if n := in.Records(); n != int64(len(tt.want)) {
		t.Errorf("cut at %d: %d records, want %d", cut, n, len(tt.want))
	}
}
