package sniff

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"bulkload/internal/test/testcheck"
)

// foreignHeads are the first bytes of files in unsupported formats, as written by the formats' programs.
var foreignHeads = map[string]string{
	"a SequenceFile of Hadoop": "53455106196f72672e", "an RCFile of Hive": "5243460100", "an Excel workbook": "d0cf11e0a1b11ae10000", "a file of Arrow or Feather": "4152524f57310000ff",
	"a database of SQLite": "53514c69746520666f726d6174203300", "packed with compress": "1f8b", "a zip archive": "504b0304140000", "a 7z archive": "377abcaf271c0004", "a RAR archive": "526172211a0700",
	"packed with LZO": "894c5a4f000d0a1a0a10", "packed with lz4's legacy frame": "02214c18", "a dump of PostgreSQL that pg_restore reads": "5047444d50010e", "an HFile of HBase": hex.EncodeToString([]byte("DATABLK*")),
}

// TestForeign checks that unsupported formats are recognized by their first bytes and by the file name extension, and that text is not mistaken for
// one.
func TestForeign(t *testing.T) {
	for what, head := range foreignHeads {
		b, err := hex.DecodeString(head)
		testcheck.Must(t, err)
		if what == "packed with compress" {
			if k := ForeignContent(b); k != nil { // gzip, whose second byte differs
				t.Error(k.what)
			}
			b = []byte("\x1f\x9d\x90")
		}
		k := ForeignContent(b)
		if k == nil || k.what != what {
			t.Errorf("%s: %+v", what, k)
			continue
		}
		for n := range len(b) {
			if short := ForeignContent(b[:n]); short != nil && short != k {
				t.Errorf("%d bytes of %s are %s", n, what, short.what)
			}
		}
		if text := k.Text("x"); !strings.HasPrefix(text, "x is "+what+", which cannot be read: ") || strings.Contains(text, "FILE") {
			t.Error(text)
		}
	}
	for _, magic := range []string{"ustar\x00", "ustar  \x00"} {
		tar := make([]byte, 512)
		copy(tar[257:], magic)
		if k := ForeignContent(tar); k == nil || k.what != "a tar archive" || ForeignContent(tar[:511]) != nil {
			t.Errorf("tar with %q: %+v", magic, k)
		}
	}
	for i := range foreign {
		for _, end := range foreign[i].endings {
			if k := ForeignName("a.b" + end); k == nil || !slices.Contains(k.endings, end) {
				t.Errorf("%s: %+v", end, k)
			}
		}
	}
	for _, text := range []string{"", "SEQ,RCF\n1,2\n", "SEQ\n", "RCF,a\n", "ARROW1,a\n", "PK,id\n", "Rar!,a\n", "-- a remark\n", "id,v\n", "GIF", "Obj"} {
		if k := ForeignContent([]byte(text)); k != nil {
			t.Errorf("%q is taken for %s", text, k.what)
		}
	}
	for name, sql := range map[string]bool{"t.sql": true, "t.csv": false, "sql": false} {
		if k := ForeignStatements(name); (k != nil) != sql || ForeignName(name) != nil {
			t.Errorf("%s: %v", name, k)
		}
	}
}

// TestWide compares the detection of UTF-16 by NUL bytes for texts in UTF-16 and in UTF-8.
func TestWide(t *testing.T) {
	r := testcheck.Rand(t)
	for range 300 {
		n := 8 + r.IntN(500)
		text := make([]rune, n)
		for i := range text {
			text[i] = rune(' ' + r.IntN(94))
		}
		if Wide([]byte(string(text))) {
			t.Fatalf("%q", string(text))
		}
		for _, swap := range []int{0, 1} {
			var b []byte
			for _, u := range utf16.Encode(text) {
				two := [2]byte{byte(u), byte(u >> 8)}
				b = append(b, two[swap], two[1-swap])
			}
			if !Wide(b) {
				t.Fatalf("%q", b)
			}
		}
	}
	for _, b := range []string{"", "\x00", "a\x00b", strings.Repeat("\x00", 100), strings.Repeat("a", 98) + "\x00\x00"} {
		if Wide([]byte(b)) {
			t.Errorf("%q", b)
		}
	}
}

// TestAmbiguous checks that text is ambiguous if another byte consistently separates its columns, or if a value is exactly \N; the message has the
// position.
func TestAmbiguous(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "id,v\na,1\n": "", "id\na\nb\n": "", "id;v\na;1\n": `';'`, "id\tv\na\t1\nb\t2\n": `with TAB as often in each: is ` + "`field_sep`" + ` '\t' right?`, "sep=;\r\nid;v\r\na;1\r\n": "`dialect` excel", "sep=,\nid,v\n": "`dialect` excel", "sep=ab\nid\n": "", "id|v\r\na|1\r\n": `'|'`, "id;v\na;1;2\n": "", "id;v\n": "", "id;v\n\n\na;1\n": `';'`,
		"\"id;v\"\n\"a;1\"\n": "", "id;v,w\na;1,2\n": "", "id,v\na,\\N\n": "record 1, column 2", "id,v\r\n\\N,1\r\n": "record 1, column 1", "id,v\n\"\\N\",1\n": "", "id,v\na,x\\N\n": "",
		"id,v\n\"x\n,\",1\na,\\N": "record 2, column 2", BOM + "\\N,v\n": "its header, column 1",
	} {
		err := Ambiguous([]byte(text), true, true)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	// A last line that may continue beyond the head is ignored.
	if err := Ambiguous([]byte("id;v\na;1\nb"), true, false); err == nil {
		t.Error("a last line that is a part is looked at")
	}
	if err := Ambiguous([]byte("id,v\na,\\N"), true, false); err != nil {
		t.Error(err)
	}
	// Without a header the first line is a record.
	if err := Ambiguous([]byte("1,v\n2,\\N\n"), false, true); err == nil || !strings.Contains(err.Error(), "record 2, column 2") {
		t.Error(err)
	}
}

// TestBareNullAlike compares the position of \N with a simple search in random records.
func TestBareNullAlike(t *testing.T) {
	r := testcheck.Rand(t)
	values := []string{"", "a", `\N`, `\NN`, `"\N"`, `",` + "\n" + `\N"`, `""`}
	for range 2000 {
		var text bytes.Buffer
		wantRecord, wantColumn := 0, 0
		records := 1 + r.IntN(3)
		for record := 1; record <= records; record++ {
			columns := 1 + r.IntN(3)
			for column := 1; column <= columns; column++ {
				v := values[r.IntN(len(values))]
				if v == `\N` && wantRecord == 0 {
					wantRecord, wantColumn = record, column
				}
				text.WriteString(v)
				if column < columns {
					text.WriteByte(',')
				}
			}
			if record < records || r.IntN(2) == 0 {
				text.WriteString([]string{"\n", "\r\n"}[r.IntN(2)])
			}
		}
		if record, column := bareNull(text.Bytes(), ','); record != wantRecord || column != wantColumn {
			t.Fatalf("%q: %d, %d, want %d, %d", text.String(), record, column, wantRecord, wantColumn)
		}
	}
}

// TestHeaders checks that invalid names in headers are found, with their positions.
func TestHeaders(t *testing.T) {
	for want, names := range map[string][]string{
		"column 2 has a name of 4097 bytes": {"a", strings.Repeat("x", 4097)}, "column 1 has NUL bytes": {"a\x00"}, "columns 1 and 3 have the same name, of 2 bytes": {"ab", "c", "ab"}, "": {"a", "", "", "b"},
	} {
		if err := CheckTextHeader(names); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v", names, err)
		} else if err != nil && strings.Contains(err.Error(), "ab") {
			t.Errorf("the message has data: %v", err)
		}
	}
	if CheckHeader([]string{"a", ""}) == nil {
		t.Error("a column without a name is taken where the schema does not judge it")
	}
	for want, c := range map[string]struct{ name, line, sep string }{
		"byte order mark": {BOM + "a", "a\n", ""}, "CR CR LF": {"a", "a\r\r\n", ""}, "those of the dialect with LF alone": {"a", "a\r\n", "\n"}, "": {"a", "a\r\n", ""},
	} {
		if err := CheckHeaderLine([]string{c.name}, []byte(c.line), c.sep); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	names := []string{"a", "b"}
	for text, want := range map[string]bool{"a|b": true, BOM + "a|b": true, "a|b\r": true, "a|b\r\r": true, "a": false, "b|a": false, "a|b|": false, "a|" + BOM + "b": false} {
		if values := strings.Split(text, "|"); Alike(values, names) != want || !slices.Equal(values, strings.Split(text, "|")) {
			t.Errorf("%q is taken for the header: %v", text, !want)
		}
	}
}

// TestBeginsObject checks that an object begins, after blanks, with a brace that a name, a closing brace or the end of the text follows.
func TestBeginsObject(t *testing.T) {
	for text, want := range map[string]bool{"": false, "{": true, "{}": true, " \r\n\t{ \n\"a\"": true, BOM + "{\"": true, "{a": false, "[{": false, "x{\"": false, "{{": false} {
		if BeginsObject([]byte(text)) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
	for text, want := range map[string]bool{"": true, "\r\n\n": true, " \n": false, "a": false} {
		if Blank([]byte(text)) != want {
			t.Error(fmt.Sprintf("%q", text), !want)
		}
	}
}

// TestNamed checks which values are names of columns.
func TestNamed(t *testing.T) {
	names := []string{"id", "a", "b"}
	for values, want := range map[string]bool{"id,a,b": true, "b,id,a": true, "a,id": true, "a": true, "\ufeffb,a,id\r": true, "": false, "id,a,a": false, "id,a,c": false, "id,a,b,b": false, "id,a,b,c": false} {
		if got := Named(strings.Split(values, ","), names); got != want {
			t.Errorf("%q: %v", values, got)
		}
	}
	if Named(nil, names) || Named(nil, nil) {
		t.Error("no values are names")
	}
}
