package source

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/pkg/source/dialect"

	"golang.org/x/text/encoding/simplifiedchinese"
)

// TestErrorsOfUTF16 checks that errors in UTF-16 text name the file and the position in its text, and do not call a compressed file damaged.
func TestErrorsOfUTF16(t *testing.T) {
	big := utf16Text("a,b\n1,2\n", false)
	for _, c := range []struct{ charset, text, want string }{
		{"utf-16", big, "x: no byte order mark, and"},
		{"utf-16", "\x2f\x65\x2f\x65", "x: no byte order mark, and neither order"},
		{"utf-16le", "\xfe\xff" + big, "x: the byte order mark says utf-16be, not utf-16le"},
		{"utf-16le", utf16Text("a,b\n1,2\n", true) + "x", "x: no character of utf-16le at byte 16"},
		{"utf-16le", utf16Text("a,b\n1,", true) + "\x00\xd8" + utf16Text("\n", true), "x: no character of utf-16le at byte 12"},
	} {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, err := z.Write([]byte(c.text))
		testcheck.Must(t, err)
		testcheck.Must(t, z.Close())
		o := Options{Dialect: strayCSV(t, "yes", func(d *dialect.Dialect) { d.Charset = c.charset })}
		for name, data := range map[string][]byte{"x": []byte(c.text), "x.gz": packed.Bytes()} {
			want := "/" + strings.Replace(c.want, "x:", name+":", 1)
			if _, err := loadBytes(t, o, name, data); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s in %s: %v, want %s", c.charset, name, err, want)
			}
		}
	}
	// Damage of the compressed data is reported as for other text.
	if _, err := loadBytes(t, Options{Dialect: strayCSV(t, "yes", func(d *dialect.Dialect) { d.Charset = "utf-16le" })}, "x.gz", []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xff\xff")); err == nil || !strings.Contains(err.Error(), "x.gz: the ") {
		t.Error(err)
	}
}

// TestMarkOfUTF8 checks that a text that begins with the byte order mark of UTF-8 is refused in another set, in which its characters would differ.
func TestMarkOfUTF8(t *testing.T) {
	for _, c := range []struct{ charset, want string }{{"", ""}, {"utf-8", ""}, {"gbk", "gb18030"}, {"latin1", "cp1252"}, {"shift_jis", "shift_jis"}} {
		csv := Options{Dialect: strayCSV(t, "yes", func(d *dialect.Dialect) { d.Charset = c.charset })}
		lines := Options{Format: FormatJSON, Charset: c.charset, Columns: []string{"a", "b"}}
		for name, of := range map[string]struct {
			o    Options
			text string
		}{"x.csv": {csv, "a,b\n1,é\n"}, "x.jsonl": {lines, `{"a":1,"b":"é"}` + "\n"}} {
			rows, err := loadBytes(t, of.o, name, []byte(strayMark+of.text))
			switch {
			case c.want == "":
				if err != nil || len(rows) != 1 || rows[0].Values[1] != "é" {
					t.Errorf("%s in %q: %v, %v", name, c.charset, rows, err)
				}
			case err == nil || err.Error() != "/"+name+": the byte order mark says utf-8, not "+c.want:
				t.Errorf("%s in %q: %v, %v", name, c.charset, rows, err)
			}
		}
	}
}

// TestSplitsOfLongRuns checks that text with quotes and escapes in a set with characters of several bytes is cut where many bytes follow one another that
// may belong to longer characters, and that its records are those of one split.
func TestSplitsOfLongRuns(t *testing.T) {
	gb := func(text string) string {
		raw, err := simplifiedchinese.GB18030.NewEncoder().String(text)
		testcheck.Must(t, err)
		return raw
	}
	for name, value := range map[string]string{"Chinese": strings.Repeat(gb("誠亅"), 100), "hex": strings.Repeat("0123456789abcdef", 20), "both": strings.Repeat(gb("誠")+"5c", 90), "long": strings.Repeat(gb("誠"), 3000)} {
		var text strings.Builder
		var want []string
		for i := 0; text.Len() < 700<<10; i++ {
			fmt.Fprintf(&text, "%d,\"%s\\\"\"\n", i, value)
			want = append(want, fmt.Sprint(i))
		}
		o := Options{Dialect: dialectOf(t, "mysql-csv", func(d *dialect.Dialect) { d.Charset = "gb18030" }), Columns: []string{"id", "a"}, SplitSize: 32 << 10}
		in, err := Open(t.Context(), disk, []string{writeFile(t, "x.txt", []byte(text.String()))}, o)
		testcheck.Must(t, err)
		records, err := readAll(t.Context(), in)
		testcheck.Must(t, err)
		decoded, err := simplifiedchinese.GB18030.NewDecoder().String(value)
		testcheck.Must(t, err)
		for i, r := range records {
			if i >= len(want) || !slices.Equal(r.Values, []string{want[i], decoded + `"`}) {
				t.Fatalf("%s: record %d: %.40q", name, i, r.Values)
			}
		}
		if n := len(in.Splits()); len(records) != len(want) || n < 20 {
			t.Errorf("%s: %d of %d records, %d splits", name, len(records), len(want), n)
		}
	}
}
