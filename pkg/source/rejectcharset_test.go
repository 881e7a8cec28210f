package source

import (
	"os"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/pkg/source/dialect"
)

// TestRejectsOfOtherSets checks that the text of a bad record in another set than UTF-8 is shown only if it is the same text in UTF-8, and that a
// correction with other characters is refused: their bytes would be read in that set, as different characters.
func TestRejectsOfOtherSets(t *testing.T) {
	csv := func(set string) Options {
		return Options{Dialect: strayCSV(t, "no", func(d *dialect.Dialect) { d.Charset = set }), Columns: []string{"a", "b"}}
	}
	lines := Options{Format: FormatJSON, Charset: "gbk", Columns: []string{"a", "b"}}
	ebcdic := Options{Dialect: dialectOf(t, "fixed", func(d *dialect.Dialect) {
		d.Charset, d.Unseparated = "cp037", true
		d.Positions = []dialect.Position{{Name: "a", From: 1, To: 2}, {Name: "b", From: 3, To: 4}}
	})}
	for name, c := range map[string]struct {
		o        Options
		bad      string // its bytes in the set
		shown    string
		edit     string // the correction
		err, got string
	}{
		"text of ASCII":             {csv("gbk"), "2\n", `"raw":"2"`, `"raw":"2,x"`, "", "2/x"},
		"corrected in UTF-8":        {csv("gbk"), "2\n", `"raw":"2"`, `"raw":"2,é"`, "raw has characters that have other bytes in gb18030", ""},
		"corrected in the set":      {csv("gbk"), "2\n", `"raw":"2"`, `"raw_base64":"MizVXA=="`, "", "2/誠"},
		"bytes that look as UTF-8":  {csv("gbk"), "\xc3\xa9\n", `"raw_base64":"w6k="`, `"raw_base64":"w6ksMg=="`, "", "茅/2"},
		"single bytes":              {csv("latin1"), "\xc3\xa9\n", `"raw_base64":"w6k="`, `"raw":"é,2"`, "raw has characters that have other bytes in cp1252", ""},
		"UTF-8 itself":              {csv("utf-8"), "é\n", `"raw":"é"`, `"raw":"é,誠"`, "", "é/誠"},
		"saved in another set":      {csv("utf-8"), "é\n", `"raw":"é"`, "\"raw\":\"2,\xe9\"", "line 2: it is not UTF-8: save the file in UTF-8, or give the record's bytes as raw_base64", ""},
		"saved in the job's set":    {csv("gbk"), "2\n", `"raw":"2"`, "\"raw\":\"2,\xd5\x5c\x5c\"", "it is not UTF-8: save the file in UTF-8, or give the record's bytes as raw_base64", ""},
		"JSON lines":                {lines, `{"a":"1" "b":2}` + "\n", `"raw":"{\"a\":\"1\" \"b\":2}"`, `"raw":"{\"a\":\"é\"}"`, "raw has characters that have other bytes in gb18030", ""},
		"JSON lines, bytes of them": {lines, "{\"a\":\"\xc3\xa9\",}\n", `"raw_base64":"eyJhIjoiw6kiLH0="`, `"raw_base64":"eyJhIjoiw6kifQ=="`, "", "茅/"},
		"EBCDIC":                    {ebcdic, "\x40", `"raw_base64":"QA=="`, `"raw":"12ab"`, "raw has characters that have other bytes in cp037", ""},
	} {
		good := "1,x\n"
		switch {
		case c.o.Format == FormatJSON:
			good = `{"a":1,"b":2}` + "\n"
		case c.o.Dialect.Fixed():
			good = "\xf1\xf2\x81\x82"
		}
		_, bad, path := rejected(t, c.o, writeFile(t, "x.txt", []byte(good+c.bad)))
		data, err := os.ReadFile(path)
		if err != nil || len(bad) != 1 || !strings.Contains(string(data), c.shown) {
			t.Errorf("%s: %q, %v, no %s in %s", name, bad, err, c.shown, data)
			continue
		}
		testcheck.Must(t, os.WriteFile(path, []byte(strings.Replace(string(data), c.shown, c.edit, 1)), 0o600))
		var rows []record
		in, err := Open(t.Context(), disk, []string{path}, Options{Format: FormatRejects})
		if err == nil {
			rows, err = readAll(t.Context(), in)
		}
		switch {
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: %v, %v", name, rows, err)
		case c.err == "" && (err != nil || len(rows) != 1 || strings.Join(rows[0].Values, "/") != c.got):
			t.Errorf("%s: %v, %v, want %s", name, rows, err, c.got)
		}
	}
}
