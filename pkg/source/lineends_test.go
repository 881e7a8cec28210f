package source

import (
	"strings"
	"testing"

	"bulkload/pkg/source/dialect"
)

// TestLineEndsOfDialects checks that text whose lines end with CR only is rejected in dialects too, and text whose lines end with LF where
// another separator is to end records.
func TestLineEndsOfDialects(t *testing.T) {
	ab, ia := Options{Columns: []string{"a", "b"}}, Options{Columns: []string{"id", "a"}, Extra: ExtraIgnore, Missing: MissingNull}
	one := Options{Columns: []string{"a"}}
	of := func(name string, change func(*dialect.Dialect)) *dialect.Dialect { return dialectOf(t, name, change) }
	excel, pandas, dump := of(dialect.Excel, nil), of(dialect.Pandas, nil), of(dialect.Dump, nil)
	headless := of(dialect.Excel, func(d *dialect.Dialect) { d.Header = dialect.HeaderNo })
	lines := of(dialect.Hive, func(d *dialect.Dialect) { d.RecordSep = "\r\n" })
	skip := of(dialect.Excel, func(d *dialect.Dialect) { d.SkipLines = 1 })
	escape := of(dialect.Excel, func(d *dialect.Dialect) { d.Header, d.Doubled, d.Escape = dialect.HeaderNo, false, "^" })
	comments := of(dialect.Excel, func(d *dialect.Dialect) { d.Comment = "#" })
	const cr, lf = "line ends are CR only", "and the file ends with a line feed"
	for _, tt := range []headerCase{
		{name: "one column", d: headless, o: one, files: []string{"a\rb\rc"}, err: cr},
		{name: "one column, CR at the end", d: headless, o: one, files: []string{"a\rb\rc\r"}, err: cr},
		{name: "columns", d: headless, o: ab, files: []string{"1,2\r3,4\r"}, err: cr},
		{name: "quotes", d: headless, o: ab, files: []string{"\"1\",\"2\n3\"\r\"4\",\"5\"\r"}, err: cr},
		{name: "after another file", d: excel, o: ia, files: []string{"id,a\n7,g\n", "id,a\r1,x\r2,y\r"}, err: cr},
		{name: "LF ends records", d: pandas, o: ia, files: []string{"id,a\n7,g\n", "id,a\r1,x\r2,y\r"}, err: cr},
		{name: "after the header", d: excel, o: Options{Columns: []string{"id", "a"}}, files: []string{"id,a\n1,2\r3,4\r"}, err: cr},
		{name: "after a mark", d: excel, files: []string{"\ufeffid,a\r1,2\r"}, err: cr},
		{name: "after skipped lines", d: skip, files: []string{"a \"report\nid,a\r1,2\r"}, err: cr},
		{name: "in skipped lines", d: skip, files: []string{"a \"report\rid,a\r1,2\r"}, err: cr},
		{name: "comments", d: comments, files: []string{"# a\rid,a\r1,2\r"}, err: cr},
		{name: "after comments", d: comments, files: []string{"# a\n# b\nid,a\r1,2\r"}, err: cr},
		{name: "long", d: headless, o: ab, files: []string{strings.Repeat("1,2\r", 40000)}, err: cr},
		{name: "dump", d: dump, o: ab, files: []string{"1\x01x\n"}, err: lf},
		{name: "dump of one column", d: dump, o: one, files: []string{"a\nb\nc\n"}, err: lf},
		{name: "long dump", d: dump, o: ab, files: []string{"1\x01" + strings.Repeat("x\n", 80000)}, err: lf},
		{name: "CR LF", d: lines, o: one, files: []string{"a\nb\n"}, err: lf},

		{name: "a CR in a value", d: excel, files: []string{"a,b\n1\r1,2\n"}, want: []string{"1\r1/2"}},
		{name: "a CR in quotes", d: headless, o: ab, files: []string{"1,\"2\r2\""}, want: []string{"1/2\r2"}},
		{name: "an escaped CR", d: escape, o: ab, files: []string{"1,2^\r2"}, want: []string{"1/2\r2"}},
		{name: "a CR at the end", d: headless, o: ab, files: []string{"1,2\r"}, want: []string{"1/2"}},
		{name: "a CR in quotes and one at the end", d: headless, o: ab, files: []string{"1,\"2\r2\"\r"}, want: []string{"1/2\r2"}},
		{name: "a header and a CR", d: excel, files: []string{"a,b\r"}},
		{name: "a long record, then LF", d: headless, o: ab, files: []string{"1," + strings.Repeat("\r", 70000) + "x\n3,4\n"}, want: []string{"1/" + strings.Repeat("\r", 70000) + "x", "3/4"}},
		{name: "LF ends records, a CR in the only one", d: of(dialect.Hive, nil), o: ab, files: []string{"1\x012\r2"}, want: []string{"1/2\r2"}},
		{name: "LF ends records, a CR in the only one after the header", d: pandas, files: []string{"a,b\n1,2\r2"}, want: []string{"1/2\r2"}},
		{name: "CR in comments", d: comments, o: ab, files: []string{"# a\rb\rc\n"}},
		{name: "CR in comments before records", d: comments, o: ab, files: []string{"# a\rb\rc\na,b\n1,2\n"}, want: []string{"1/2"}},
		{name: "a dump of one record", d: dump, o: ab, files: []string{"1\x01x"}, want: []string{"1/x"}},
		{name: "a LF at the end of a dump's record", d: dump, o: ab, files: []string{"1\x01x\n\x102\x01y\n"}, want: []string{"1/x\n", "2/y\n"}},
		{name: "a long record of a dump", d: dump, o: ab, files: []string{"1\x01" + strings.Repeat("x\n", 40000) + "\x102\x01y\n"}, want: []string{"1/" + strings.Repeat("x\n", 40000), "2/y\n"}},
		{name: "CR LF, one record without an end", d: lines, o: one, files: []string{"a"}, want: []string{"a"}},
	} {
		t.Run(tt.name, tt.run)
	}
}
