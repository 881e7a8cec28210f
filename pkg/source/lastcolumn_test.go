package source

import (
	"reflect"
	"strings"
	"testing"

	"bulkload/pkg/source/dialect"
)

// TestLastColumn reads records whose last column ends with a separator, as in files of TPC-H, or takes the rest of the record, as with Hive's
// serialization.last.column.takes.rest. It also reads files of Oracle's programs, with NULL and empty texts as NULL.
func TestLastColumn(t *testing.T) {
	abc := []string{"a", "b", "c"}
	bars := func(last dialect.Last) func(*dialect.Dialect) {
		return func(d *dialect.Dialect) { d.FieldSep, d.Last = "|", last }
	}
	for _, tt := range []struct {
		name, preset string
		change       func(*dialect.Dialect)
		columns      []string
		text         string
		want         []string // - is NULL
		bad          []string // reasons
	}{
		{name: "separated", preset: dialect.Hive, change: bars(dialect.LastSeparated), columns: abc, text: "1|2|3|\n4|\\N||\n", want: []string{"1/2/3", "4/-/"}},
		{name: "one column", preset: dialect.Hive, change: bars(dialect.LastSeparated), columns: abc[:1], text: "1|\n|\n2\n3|", want: []string{"1", "", "3"}, bad: []string{"no separator ends"}},
		{name: "no separator", preset: dialect.Hive, change: bars(dialect.LastSeparated), columns: abc, text: "1|2|3|\n4|5|6\n7|8|\n1|2|3|4|\n7|8|9|\n",
			want: []string{"1/2/3", "7/8/9"}, bad: []string{"no separator ends", "2 columns found,", "4 columns found,"}},
		{name: "header with one", preset: dialect.PostgresCSV, change: bars(dialect.LastSeparated), text: "a|b|c|\r\n1|\"2|\"|3|\r\n4||\"\"|\r\n", want: []string{"1/2|/3", "4/-/"}},
		{name: "header without", preset: dialect.PostgresCSV, change: bars(dialect.LastSeparated), text: "a|b|c\n1|2|3|\n", want: []string{"1/2/3"}},
		{name: "rest", preset: dialect.Hive, change: func(d *dialect.Dialect) { d.FieldSep, d.Last = "\t", dialect.LastRest }, columns: abc,
			text: "2026\tERROR\tfailed\tat foo\n2027\tINFO\t\\N\n2028\tINFO\t\\N\t\n1\n", want: []string{"2026/ERROR/failed\tat foo", "2027/INFO/-", "2028/INFO/\\N\t"}, bad: []string{"1 column found,"}},
		{name: "rest with a header", preset: dialect.HiveEscaped, change: func(d *dialect.Dialect) { d.FieldSep, d.Last, d.Header = ",", dialect.LastRest, dialect.HeaderYes },
			text: "a,b\n1\\,2,3,4\\,5\n", want: []string{"1,2/3,4,5"}},
		{name: "SQLcl", preset: dialect.Oracle, text: "a,b,c\n1,\"\",\"x\"\n10001,,R\n10003,\"\",R\n", want: []string{"1/-/x", "10001/-/R", "10003/-/R"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := writeFile(t, "x.tbl", []byte(tt.text))
			for _, size := range []int64{0, 1, 7} {
				change := tt.change
				if change == nil {
					change = func(*dialect.Dialect) {}
				}
				var bad []string
				o := Options{SplitSize: size, Dialect: dialectOf(t, tt.preset, change), Columns: tt.columns, Reject: func(e RowError) error {
					bad = append(bad, strings.Join(strings.Fields(e.Reason)[:3], " "))
					return nil
				}}
				in, err := Open(t.Context(), disk, []string{path}, o)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				if err := showRows(t, in, &got); err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(got, tt.want) || !reflect.DeepEqual(bad, tt.bad) {
					t.Errorf("splits of %d: %q, %q", size, got, bad)
				}
			}
		})
	}
}
