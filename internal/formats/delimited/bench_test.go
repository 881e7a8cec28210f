package delimited

import (
	"strings"
	"testing"

	"bulkload/pkg/source/dialect"
)

// checkRow returns a row like those of the table check, in a dialect: 18 columns, some NULL or empty, one with Chinese
// text.
func checkRow(d *dialect.Dialect, awkward bool) string {
	values := []string{"10473829", "C20171012000047", "R0012", "0.734", "N", "a hit of the second kind", "企业法人代表变更次数过多，需人工复核", "1", "", "CC-17", "pass", "system",
		"2017-10-12 08:15:42", "system", "2017-10-12 08:15:42", "", "0", "7"}
	null := ""
	if len(d.Null) > 0 {
		null = d.Null[0]
	}
	for i := range values {
		switch {
		case i == 9 || i == 15:
			values[i] = null
		case awkward && i == 5 && d.Escape != "" && !d.QuotedOnly:
			values[i] = `a hit\` + d.FieldSep + `of the \\second\\ kind`
		case awkward && i == 5 && d.Quote != "":
			values[i] = d.Quote + "a hit, of the second kind" + d.Quote
		}
	}
	end := d.RecordSep
	if end == "" {
		end = "\n"
	}
	if d.Last == dialect.LastSeparated {
		end = d.FieldSep + end
	}
	return strings.Join(values, d.FieldSep) + end
}

func BenchmarkScan(b *testing.B) {
	for name, d := range dialects(b) {
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			text := strings.Repeat(checkRow(d, false)+checkRow(d, true)+checkRow(d, false)+checkRow(d, false), 700)
			data := make([]byte, len(text)+Slack, 2*len(text)+Slack)
			copy(data, text)
			s := New(d, 18, nil)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if next, bad := s.Scan(data, 0, len(text), true); next != len(text) || bad != nil {
					b.Fatal(next, bad)
				}
			}
		})
	}
}

// TestNoAllocation checks that a repeated Scan does not allocate.
func TestNoAllocation(t *testing.T) {
	for name, d := range dialects(t) {
		text := strings.Repeat(checkRow(d, true), 50)
		data := make([]byte, len(text)+Slack, 2*len(text)+Slack)
		copy(data, text)
		s := New(d, 18, nil)
		s.Scan(data, 0, len(text), true)
		if n := testing.AllocsPerRun(20, func() { s.Scan(data, 0, len(text), true) }); n > 0 {
			t.Errorf("%s: %g allocations", name, n)
		}
	}
}
