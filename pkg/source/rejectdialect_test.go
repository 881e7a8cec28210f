package source

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/pkg/source/dialect"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// dialectOf returns a preset, modified by change.
func dialectOf(t interface{ Fatal(...any) }, name string, change func(*dialect.Dialect)) *dialect.Dialect {
	d, err := dialect.Preset(name)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&d)
	}
	return &d
}

// TestRejectsOfDialectsAreReadAgain corrects records of several dialects and character sets, and reads them with their original settings.
func TestRejectsOfDialectsAreReadAgain(t *testing.T) {
	utf16 := func(s string) (b []byte) {
		for _, r := range s {
			b = append(b, byte(r), byte(r>>8))
		}
		return b
	}
	for name, tt := range map[string]struct {
		d          *dialect.Dialect
		text       []byte
		edit, with string
		want       []string
	}{
		"mysql":     {dialectOf(t, "mysql", nil), []byte("1\tx\n2\\\ny\n3\tz\n"), `"raw":"2\\\ny"`, `"raw":"2\\\ny\t\\N"`, []string{"2\ny", "NULL"}},
		"multibyte": {dialectOf(t, "mysql", func(d *dialect.Dialect) { d.FieldSep, d.RecordSep = "@|@", "#@#\n" }), []byte("1@|@x#@#\n2#@#\n"), `"raw":"2"`, `"raw":"2@|@\n"`, []string{"2", "\n"}},
		"header":    {dialectOf(t, "postgres-csv", func(d *dialect.Dialect) { d.SkipLines, d.SkipEnd, d.Comment = 1, 1, "#" }), []byte("about\na,b\n1,\n2\n3,z\n(3 rows)\n"), `"raw":"2"`, `"raw":"2,\"\""`, []string{"2", ""}},
		// Bytes in settings that are not UTF-8 are escaped.
		"bytes": {dialectOf(t, "hive", func(d *dialect.Dialect) {
			d.FieldSep, d.RecordSep, d.Null = "\xa7\\", "\xfe\n", []string{"\x97", "", "0x1"}
		}), []byte("1\xa7\\x\xfe\n2\xfe\n"), `"raw":"2"`,
			`"raw_base64":"Mqdcl/4KM6dcMHgx/go0p1x6"`, []string{"2", "NULL", "3", "NULL", "4", "z"}},
		// 誠 is D5 5C: the text is not UTF-8, so it is kept in base64.
		"gbk":    {dialectOf(t, "mysql", func(d *dialect.Dialect) { d.Charset = "gbk" }), []byte("1\t\xd5\x5c\n2\xd5\x5c\n"), `"raw_base64":"MtVc"`, `"raw_base64":"MtVcCdVc"`, []string{"2誠", "誠"}},
		"utf-16": {dialectOf(t, "spark", func(d *dialect.Dialect) { d.Charset = "utf-16le" }), utf16("a,b\n1,誠\n2誠\n"), `"raw":"2誠"`, `"raw":"2誠,誠"`, []string{"2誠", "誠"}},
	} {
		o := Options{Dialect: tt.d}
		if tt.d.Header == dialect.HeaderNo {
			o.Columns = []string{"a", "b"}
		}
		_, bad, path := rejected(t, o, writeFile(t, "x.txt", tt.text))
		data, err := os.ReadFile(path)
		if err != nil || len(bad) != 1 {
			t.Fatalf("%s: %q, %v", name, bad, err)
		}
		edited := strings.Replace(string(data), tt.edit, tt.with, 1)
		if edited == string(data) {
			t.Fatalf("%s: no %s in %s", name, tt.edit, data)
		}
		if err := os.WriteFile(path, []byte(edited), 0o600); err != nil {
			t.Fatal(err)
		}
		in, err := Open(t.Context(), disk, []string{path}, Options{Format: FormatRejects})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		rows, err := rowsOf(t, in)
		var got []string
		for _, row := range rows {
			for _, c := range []string{"a", "b"} {
				if row[c] == nil {
					row[c] = "NULL"
				}
				got = append(got, fmt.Sprint(row[c]))
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// TestRejectsOfDialectsAreBadForTheSameReasons reads the bad records of any text in any dialect again, and checks that their texts and reasons are
// unchanged.
func TestRejectsOfDialectsAreBadForTheSameReasons(t *testing.T) {
	dir := t.TempDir()
	testcheck.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom(dialect.Separated()).Draw(rt, "dialect")
		set := rapid.SampledFrom([]string{"", "gbk"}).Draw(rt, "charset")
		d := dialectOf(rt, name, func(d *dialect.Dialect) { d.Charset, d.Header = set, dialect.HeaderNo })
		pieces := rapid.SampledFrom([]string{d.FieldSep, "\n", "\n", d.RecordSep, "a", "\\", "\"", "\"\"", "\xd5\x5c", "\x81", "N", "\r", "x\\\ny"})
		data := []byte(strings.Join(rapid.SliceOfN(pieces, 0, 40).Draw(rt, "text"), ""))
		cols := []string{"c", "d", "e"}[:rapid.IntRange(1, 3).Draw(rt, "cols")]
		o := Options{Dialect: d, Columns: cols, ChunkSize: rapid.IntRange(1, 20).Draw(rt, "chunk")}
		var before, after []string
		f := NewRejectFile(filepath.Join(dir, "r.jsonl"))
		defer f.Abort()
		o.Reject = func(e RowError) error {
			if len(e.Raw) == 0 && len(cols) > 1 {
				rt.Skip("a record without a byte is asked to be removed")
			}
			before = append(before, fmt.Sprintf("%s %q", e.Reason, e.Raw))
			return f.Write(e)
		}
		if _, err := loadBytes(rt, o, "x.txt", data); err != nil {
			rt.Skip(err)
		}
		n, err := f.Finish()
		if err != nil {
			rt.Fatal(err)
		}
		if n == 0 {
			return
		}
		file, err := os.ReadFile(f.Path())
		if err != nil {
			rt.Fatal(err)
		}
		again := Options{Format: FormatRejects, Columns: cols, ChunkSize: o.ChunkSize, Reject: func(e RowError) error {
			after = append(after, fmt.Sprintf("%s %q", e.Reason, e.Raw))
			return nil
		}}
		got, err := loadBytes(rt, again, "r.jsonl", file)
		if d.Escape != "" && bytes.HasSuffix(bytes.TrimRight(data, "\r\n"), []byte(d.Escape)) && strings.Contains(fmt.Sprint(err), "an escape that nothing follows") {
			return // the escape would include the next record
		}
		if err != nil || len(got) > 0 {
			rt.Fatalf("%q, %v", values(got), err)
		}
		if diff := cmp.Diff(before, after); diff != "" {
			rt.Fatalf("(-before +after):\n%s", diff)
		}
	})
}

// TestRawOfText checks the raw text of good and bad records: without separator, comments and blank lines, but with escapes.
func TestRawOfText(t *testing.T) {
	mysql := func(change func(*dialect.Dialect)) *dialect.Dialect { return dialectOf(t, "mysql", change) }
	for _, tt := range []struct {
		d    *dialect.Dialect
		text string
		want []string
	}{
		{mysql(nil), "1\tx\\\n\n2\\\n", []string{"1\tx\\\n", "2\\\n"}},
		{mysql(nil), "1\tx\n2\ty\\\\\n", []string{"1\tx", "2\ty\\\\"}},
		{mysql(func(d *dialect.Dialect) { d.RecordSep = "" }), "1\tx\\\n\n\r\n2\\\n\r\n3\ty\\\r\n4\tz\r\n", []string{"1\tx\\\n", "2\\\n", "3\ty\\\r", "4\tz"}},
		{mysql(func(d *dialect.Dialect) { d.Comment = "#" }), "1\tx\n# 2\n3\n# 4\n5\tz\n#\n", []string{"1\tx", "3", "5\tz"}},
		{dialectOf(t, "csv", func(d *dialect.Dialect) { d.Comment = "#" }), "a,b\n1,x\n\n# 2\n3\n# 4\n\n5,\"z\n\"\n#\n", []string{"1,x", "3", "5,\"z\n\""}},
		{mysql(func(d *dialect.Dialect) { d.Charset = "gbk" }), "1\t\xd5\x5c\n2\xd5\x5c\n", []string{"1\t\xd5\x5c", "2\xd5\x5c"}},
	} {
		var got []string
		reject := func(e RowError) error {
			got = append(got, string(e.Raw))
			return nil
		}
		o := Options{Dialect: tt.d, Reject: reject, Columns: []string{"a", "b"}}
		in, err := Open(t.Context(), memory("/x.txt", []byte(tt.text)), []string{"/x.txt"}, o)
		if err != nil {
			t.Fatal(err)
		}
		r := in.NewReader()
		for i := range in.Splits() {
			if err := r.Read(t.Context(), i, func(b *Batch) error {
				for row := range b.Rows {
					_ = reject(b.RowError(row))
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%q (-want +got):\n%s", tt.text, d)
		}
	}
}
