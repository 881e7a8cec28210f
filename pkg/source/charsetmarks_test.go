package source

import (
	"testing"

	"bulkload/pkg/source/dialect"
)

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
