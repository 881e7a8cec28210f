package source

import (
	"fmt"
	"reflect"
	"testing"

	"bulkload/pkg/source/dialect"
)

// TestReports reads inputs that users of other loaders have reported as read wrongly or with an unclear error, and checks for the right rows, or a
// bad record at its position. Other reports are in TestColumnsOlderFilesLack, TestLastColumn, TestZeroPadding, TestSkippableFramesFirst and
// TestFixed.
func TestReports(t *testing.T) {
	for _, tt := range []struct {
		name   string
		preset string
		change func(*dialect.Dialect)
		names  []string
		files  []string
		want   []string // - is NULL, ! a bad record with its position and the beginning of its reason
	}{
		{name: "DuckDB 25164: CR CR LF", preset: dialect.CSV, files: []string{"id,name\r\n1,a\r\r\n2,b\r\r\n"}, want: []string{"!9 its line ends ", "!15 its line ends "}},
		{name: "DuckDB 25164, with its record_sep", preset: dialect.CSV, change: func(d *dialect.Dialect) { d.RecordSep = "\r\r\n" }, files: []string{"id,name\r\r\n1,a\r\r\n2,b\r\r\n"}, want: []string{"1/a", "2/b"}},
		{name: "TiDB 40744: marks before quoted names, in each file", preset: dialect.CSV, files: []string{"\ufeff\"id\",\"name\"\n1,a\n", "\ufeff\"id\",\"name\"\n2,b\n"}, want: []string{"1/a", "2/b"}},
		{name: "TiDB 40744: a mark in the middle", preset: dialect.CSV, files: []string{"id,name\n1,a\n\ufeff2,b\n3,c\n"}, want: []string{"1/a", "!12 a byte order m", "3/c"}},
		{name: "files put together, with marks and headers", preset: dialect.PostgresCSV, files: []string{"\ufeffid,name\n1,a\n\ufeffid,name\n2,b\nid,name\n"}, want: []string{"1/a", "!15 a byte order m", "2/b", "!30 it repeats the"}},
		{name: "DSBulk 397: NULL and an empty text", preset: dialect.PostgresCSV, files: []string{"id,key,x\n10001,,R\n10003,\"\",R\n"}, want: []string{"10001/-/R", "10003//R"}},
		{name: "TiDB 49596: both in one file without a text for NULL", preset: dialect.CSV, files: []string{"id,key,x\n10001,,R\n10003,\"\",R\n"}, want: []string{"10001//R", "10003//R"}},
		{name: "SQL*Plus: lines that are wrapped", preset: dialect.Hive, change: func(d *dialect.Dialect) { d.FieldSep = "|" }, names: []string{"id", "name", "city"}, files: []string{"1|Ann|Oslo\n2|Bob Longname|\nRome\n"},
			want: []string{"1/Ann/Oslo", "2/Bob Longname/", "!27 1 column found"}},
		{name: "SQL*Plus: rows selected", preset: dialect.Oracle, files: []string{"\"ID\",\"NAME\"\n1,\"a\"\n2,\n\n2 rows selected.\n"}, want: []string{"1/a", "2/-", "!22 1 column found"}},
		{name: "SQL*Plus: rows selected, skipped", preset: dialect.Oracle, change: func(d *dialect.Dialect) { d.SkipEnd = 2 }, files: []string{"\"ID\",\"NAME\"\n1,\"a\"\n2,\n\n2 rows selected.\n"}, want: []string{"1/a", "2/-"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var paths []string
			for _, text := range tt.files {
				paths = append(paths, writeFile(t, "x0", []byte(text)))
			}
			for _, size := range []int64{0, 1, 10} {
				var got []string
				o := Options{SplitSize: size, Dialect: dialectOf(t, tt.preset, tt.change), Columns: tt.names, Reject: func(e RowError) error {
					got = append(got, fmt.Sprintf("!%d %.14s", e.Offset, e.Reason))
					return nil
				}}
				in, err := Open(t.Context(), disk, paths, o)
				if err != nil {
					t.Fatal(err)
				}
				if err := showRows(t, in, &got); err != nil || !reflect.DeepEqual(got, tt.want) {
					t.Errorf("splits of %d: %q, %v", size, got, err)
				}
			}
		})
	}
}
