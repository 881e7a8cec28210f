package delimited

import (
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/pkg/source/dialect"
)

// TestStart checks that Start finds the same first record at or after a position as a search byte by byte. An escaped separator does not end a
// record.
func TestStart(t *testing.T) {
	r := testcheck.Rand(t)
	for _, name := range []string{dialect.MySQLText, dialect.Hive, dialect.HiveEscaped, dialect.PostgresTxt} {
		for _, end := range []string{"", "\n", "|\n", "\r\n"} {
			d, err := dialect.Preset(name)
			testcheck.Must(t, err)
			if end != "" {
				d.RecordSep = end
			}
			if !d.Cuttable() {
				t.Fatalf("%s, records end with %q: no place of such a text is found", name, end)
			}
			s := New(&d, 1, nil)
			for range 3000 {
				var text strings.Builder
				for range r.IntN(20) {
					text.WriteString([]string{"a", `\`, "\n", "\r", "|", s.end}[r.IntN(6)])
				}
				starts := recordStarts(text.String(), s.end, d.Escape)
				for at := len(s.end); at <= text.Len(); at++ {
					want := -1
					for _, start := range starts {
						if start >= at {
							want = start
							break
						}
					}
					if got := s.Start([]byte(text.String()), at, true); got != want {
						t.Fatalf("%s, records end with %q: in %q the first record from byte %d on begins at %d, not %d", name, s.end, text.String(), at, got, want)
					}
				}
			}
		}
	}
}

// recordStarts returns the positions of the records after the first.
func recordStarts(text, end, escape string) (starts []int) {
	for i := 0; i < len(text); {
		switch {
		case escape != "" && strings.HasPrefix(text[i:], escape):
			i += 2
		case strings.HasPrefix(text[i:], end):
			i += len(end)
			starts = append(starts, i)
		default:
			i++
		}
	}
	return starts
}
