package delimited

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"bulkload/internal/test/race"
	"bulkload/pkg/source/dialect"
)

// preset returns a preset dialect, modified by change.
func preset(t testing.TB, name string, change func(*dialect.Dialect)) *dialect.Dialect {
	t.Helper()
	d, err := dialect.Preset(name)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&d)
	}
	if err := d.Check(); err != nil {
		t.Fatal(err)
	}
	return &d
}

// dialects returns the presets and some modified dialects.
func dialects(t testing.TB) map[string]*dialect.Dialect {
	all := map[string]*dialect.Dialect{
		"multibyte":      preset(t, dialect.MySQLText, func(d *dialect.Dialect) { d.FieldSep, d.RecordSep = ",;,", "#;#\n" }),
		"long separator": preset(t, dialect.Hive, func(d *dialect.Dialect) { d.FieldSep = ",;," }),
		"long comment":   preset(t, dialect.Hive, func(d *dialect.Dialect) { d.FieldSep, d.Comment = ",", "a bc" }),
		"lenient": preset(t, dialect.MySQLCSV, func(d *dialect.Dialect) {
			d.Escape, d.Map, d.Lenient, d.RecordSep, d.Null = "", dialect.Literal, true, "", []string{"N"}
		}),
		"comment":     preset(t, dialect.PostgresCSV, func(d *dialect.Dialect) { d.Comment = "#" }),
		"trim":        preset(t, dialect.CSV, func(d *dialect.Dialect) { d.Trim, d.Null = dialect.TrimBoth, []string{"N", "NN"} }),
		"trim left":   preset(t, dialect.MySQLCSV, func(d *dialect.Dialect) { d.Trim = dialect.TrimLeft }),
		"null quoted": preset(t, dialect.Spark, func(d *dialect.Dialect) { d.NullQuoted = true }),
		"both":        preset(t, dialect.MySQLCSV, func(d *dialect.Dialect) { d.Doubled = true }),
		"escaped cr":  preset(t, dialect.MySQLText, func(d *dialect.Dialect) { d.RecordSep = "" }),
		"tbl":         preset(t, dialect.Hive, func(d *dialect.Dialect) { d.FieldSep, d.RecordSep, d.Last = "|", "", dialect.LastSeparated }),
		"tbl quoted":  preset(t, dialect.PostgresCSV, func(d *dialect.Dialect) { d.Last = dialect.LastSeparated }),
		"tbl trimmed": preset(t, dialect.MySQLText, func(d *dialect.Dialect) { d.Trim, d.Last = dialect.TrimBoth, dialect.LastSeparated }),
		"rest":        preset(t, dialect.Hive, func(d *dialect.Dialect) { d.FieldSep, d.Last = ",;", dialect.LastRest }),
		"rest escaped": preset(t, dialect.HiveEscaped, func(d *dialect.Dialect) {
			d.FieldSep, d.Trim, d.RecordSep, d.Last = ",", dialect.TrimRight, "", dialect.LastRest
		}),
		"crlf": preset(t, dialect.CSV, func(d *dialect.Dialect) { d.RecordSep = "\r\n" }),
	}
	for _, name := range dialect.Separated() {
		all[name] = preset(t, name, nil)
	}
	return all
}

// scanAll scans a text given in pieces, up to the first bad record.
func scanAll(t *testing.T, s *Scanner, text string, piece func(left int) int) (records []plainRecord) {
	t.Helper()
	start, n := 0, 0
	for {
		n += piece(len(text) - n)
		last := n >= len(text)
		data := make([]byte, n-start+Slack)
		copy(data, text[start:n])
		for i := n - start; i < len(data); i++ {
			data[i] = "\n,\"\\\t\x01"[i%6] // bytes after the text are ignored
		}
		next, bad := s.Scan(data, 0, n-start, last)
		for i, at := range s.Starts {
			r := plainRecord{at: start + int(at)}
			for _, f := range s.Fields[i*s.cols : (i+1)*s.cols] {
				if f.IsNull() {
					r.values = append(r.values, nil)
				} else {
					r.values = append(r.values, string(f.Of(s.Data)))
				}
			}
			records = append(records, r)
		}
		if len(s.Fields) != s.cols*len(s.Starts) {
			t.Fatalf("%d fields of %d records", len(s.Fields), len(s.Starts))
		}
		if bad != nil {
			r := plainRecord{at: start + bad.Start, bad: bad.Reason}
			if bad.Found > 0 {
				r.bad = fmt.Sprint(bad.Found)
			}
			if bad.End <= bad.Start || bad.End != next || bad.At < bad.Start || bad.At > bad.End {
				t.Fatalf("%+v, next %d", bad, next)
			}
			return append(records, r)
		}
		if last {
			if start+next != n {
				t.Fatalf("%q: stopped at %d of %d", text, start+next, n)
			}
			return records
		}
		start += next
	}
}

// TestScanner compares the scanner with a plain reader, in all dialects, for texts that are given as a whole and in
// pieces.
func TestScanner(t *testing.T) {
	rounds := 30000
	if race.Reduced(t) {
		rounds = 4000
	}
	for name, d := range dialects(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(7, uint64(len(name))))
			tokens := []string{d.FieldSep, d.FieldSep, "\n", "\r\n", "\r", "a", "bc", "N", " ", "\t", `\N`, `\`, `"`, `""`, "#", ";", "\x01", "\x10", ",", `\.`, "0"}
			if d.RecordSep != "" {
				tokens = append(tokens, d.RecordSep, d.RecordSep)
			}
			if d.Quote != "" {
				tokens = append(tokens, d.Quote+d.FieldSep, d.FieldSep+d.Quote, d.Quote+"\n", d.Quote+d.Quote)
			}
			for range rounds {
				var b strings.Builder
				for range r.IntN(25) {
					b.WriteString(tokens[r.IntN(len(tokens))])
					if r.IntN(8) == 0 {
						b.WriteString(strings.Repeat("x", r.IntN(70)))
					}
				}
				text, cols := b.String(), 1+r.IntN(3)
				want := fmt.Sprintf("%#v", plainRead(d, text, cols))
				s := New(d, cols, nil)
				if got := fmt.Sprintf("%#v", scanAll(t, s, text, func(left int) int { return left })); got != want {
					t.Fatalf("%q of %d columns:\n%s, want\n%s", text, cols, got, want)
				}
				if got := fmt.Sprintf("%#v", scanAll(t, s, text, func(left int) int { return min(left, r.IntN(9)) })); got != want {
					t.Fatalf("%q of %d columns in pieces:\n%s, want\n%s", text, cols, got, want)
				}
				// At the end of a record the scanner does not wait for more data.
				if records := plainRead(d, text, cols); len(records) > 1 {
					n := records[1+r.IntN(len(records)-1)].at
					data := append([]byte(text[:n]), make([]byte, Slack)...)
					if next, bad := s.Scan(data, 0, n, false); next != n || bad != nil {
						t.Fatalf("%q of %d columns: %d of %d bytes, %+v", text[:n], cols, next, n, bad)
					}
				}
			}
		})
	}
}
