package source

import (
	"fmt"
	"strings"
	"testing"
)

// TestRecordSepOfCSV checks that CSV is refused if it has the separator that is to end records: plain CSV has lines.
func TestRecordSepOfCSV(t *testing.T) {
	one, two := Options{Header: HeaderNone, Columns: []string{"a"}}, Options{Header: HeaderNone, Columns: []string{"a", "b"}}
	for _, tt := range []struct {
		name, file, text string
		o                Options
		record           Sep
		rows             int // -1: refused
	}{
		{"as CSV", "x", "a|b|c\n", withFormat(one, FormatCSV), SepOf('|'), -1},
		{"by its name", "x.csv", "a|b|c\n", one, SepOf('|'), -1},
		{"by its content", "x.txt", "a|b|c\n", one, SepOf('|'), -1},
		{"packed", "x.csv.gz", "a|b|c\n", one, SepOf('|'), -1},
		{"with LF", "x.csv", "1,x\x1e\n2,y\x1e\n", two, SepOf(0x1e), -1},
		{"with a header", "x.csv", "a,b\x1e1,x\x1e", Options{}, SepOf(0x1e), -1},
		{"LF", "x.csv", "1,x\n2,y\n", two, SepOf('\n'), 2},
		{"CR LF", "x.csv", "1,x\r\n2,y\r\n", two, SepOf('\r'), 2},
		{"without the separator", "x.csv", "1,x\n2,y\n", two, SepOf(0x10), 2},
		{"in quotes", "x.csv", "1,\"x|y\"\n2,\"\"\"|\"\n", two, SepOf('|'), 2},
		{"none given", "x.csv", "1,x\x10\n", two, Sep{}, 1},
	} {
		o, data := tt.o, []byte(tt.text)
		if o.RecordSep = tt.record; strings.HasSuffix(tt.file, ".gz") {
			data = pack(t, "gz", data)
		}
		rows, err := loadBytes(t, o, tt.file, data)
		if refused := strings.Contains(fmt.Sprint(err), "CSV has lines"); refused != (tt.rows < 0) || !refused && (err != nil || len(rows) != tt.rows) {
			t.Errorf("%s: %d rows, %v", tt.name, len(rows), err)
		}
	}
}

// TestFieldSepOfCSV checks that the default separator of a dump's records can separate the columns of CSV.
func TestFieldSepOfCSV(t *testing.T) {
	o := Options{Format: FormatCSV, FieldSep: SepOf(0x10)}
	if rows, err := loadBytes(t, o, "x", []byte("a\x10b\n1\x102\n")); err != nil || len(rows) != 1 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	for _, o := range []Options{{FieldSep: SepOf(0x10)}, {Format: FormatDump, FieldSep: SepOf(0x10)}, {Format: FormatCSV, FieldSep: SepOf('|'), RecordSep: SepOf('|')}} {
		if o.Columns = []string{"a"}; o.Validate() == nil {
			t.Errorf("%+v is valid", o)
		}
	}
}

func withFormat(o Options, f Format) Options {
	o.Format = f
	return o
}
