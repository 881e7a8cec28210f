package delimited

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/race"
	"bulkload/pkg/dialect"
)

// preset is a dialect, changed.
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

// dialects are the presets and some of what people make of them.
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
		"crlf":        preset(t, dialect.CSV, func(d *dialect.Dialect) { d.RecordSep = "\r\n" }),
	}
	for _, name := range dialect.Presets() {
		all[name] = preset(t, name, nil)
	}
	return all
}

// plainRecord is a record as the plain reader below has it: its values, nil for NULL, or a reason.
type plainRecord struct {
	at     int
	values []any
	bad    string
}

// plainRead is a reader that looks at one byte after the other. It ends at the first bad record.
func plainRead(d *dialect.Dialect, text string, cols int) (records []plainRecord) {
	end := d.RecordSep
	cr := end == ""
	if cr {
		end = "\n"
	}
	at := 0
	ends := func(i int) int {
		switch {
		case strings.HasPrefix(text[i:], end):
			return len(end)
		case cr && strings.HasPrefix(text[i:], "\r\n"):
			return 2
		}
		return -1
	}
	blank := func(c byte) bool { return c == ' ' || c == '\t' }
	for at < len(text) {
		r := plainRecord{at: at}
		if d.Comment != "" && strings.HasPrefix(text[at:], d.Comment) {
			if i := strings.Index(text[at:], end); i >= 0 {
				at += i + len(end)
				continue
			}
			return records
		}
		whole := false
		i := at
		for !whole {
			begin, quoted := i, false
			var raw, value []byte
			j := i
			if d.Trim != dialect.TrimNone {
				for j < len(text) && blank(text[j]) && !strings.HasPrefix(text[j:], d.FieldSep) {
					j++
				}
			}
			if d.Quote != "" && j < len(text) && text[j] == d.Quote[0] {
				quoted = true
				i = j + 1
				for {
					if i >= len(text) {
						r.bad, r.values = reasonUnclosed, nil
						return append(records, r)
					}
					c := text[i]
					if d.Escape != "" && c == d.Escape[0] {
						if i+1 >= len(text) {
							r.bad, r.values = reasonUnclosed, nil
							return append(records, r)
						}
						b, n := d.Unescaper().One([]byte(text[i+1:]))
						if d.Map == dialect.Postgres && n > 1 {
							panic("no preset")
						}
						value, raw = append(value, b), append(raw, text[i:i+2]...)
						i += 2
						continue
					}
					if c != d.Quote[0] {
						value, raw = append(value, c), append(raw, c)
						i++
						continue
					}
					if d.Doubled && i+1 < len(text) && text[i+1] == c {
						value, raw = append(value, c), append(raw, c, c)
						i += 2
						continue
					}
					if d.Lenient && i+1 < len(text) && !strings.HasPrefix(text[i+1:], d.FieldSep) && ends(i+1) < 0 {
						value, raw = append(value, c), append(raw, c)
						i++
						continue
					}
					i++
					break
				}
				if d.Trim != dialect.TrimNone {
					for i < len(text) && blank(text[i]) && !strings.HasPrefix(text[i:], d.FieldSep) {
						i++
					}
				}
				if cr && i == len(text)-1 && text[i] == '\r' {
					i++
				}
				if i < len(text) && !strings.HasPrefix(text[i:], d.FieldSep) && ends(i) < 0 {
					r.bad, r.values = reasonAfter, nil
					return append(records, r)
				}
			} else {
				escaped := -1 // the last byte that is
				for i < len(text) && !strings.HasPrefix(text[i:], d.FieldSep) && ends(i) < 0 {
					c := text[i]
					if d.Quote != "" && c == d.Quote[0] && !d.Lenient {
						r.bad, r.values = reasonBare, nil
						return append(records, r)
					}
					if d.Escape != "" && c == d.Escape[0] && !d.QuotedOnly {
						if i+1 >= len(text) {
							r.bad, r.values = reasonEscape, nil
							return append(records, r)
						}
						i++
						escaped = i
					}
					i++
				}
				stop := i
				if cr && i == len(text) && i > begin && text[i-1] == '\r' && escaped != i-1 {
					stop--
				}
				raw = []byte(text[begin:stop])
				if d.Trim == dialect.TrimLeft || d.Trim == dialect.TrimBoth {
					raw = bytes.TrimLeft(raw, " \t")
				}
				if d.Trim == dialect.TrimRight || d.Trim == dialect.TrimBoth {
					raw = bytes.TrimRight(raw, " \t")
				}
				value = raw
				if d.Escape != "" && !d.QuotedOnly {
					value = d.Unescaper().Append(nil, raw)
				}
			}
			if d.IsNull(raw, quoted) {
				r.values = append(r.values, nil)
			} else {
				r.values = append(r.values, string(value))
			}
			switch {
			case i >= len(text):
				whole = true
			case strings.HasPrefix(text[i:], d.FieldSep):
				i += len(d.FieldSep)
			default:
				line := text[at:i]
				i += ends(i)
				whole = true
				if line == "" && cr && cols > 1 {
					r.values = nil
				}
			}
			if whole && i >= len(text) && d.Map == dialect.Postgres && strings.TrimSuffix(text[at:], "\n") == `\.` {
				r.values = nil
			}
			if whole && i >= len(text) && cr && cols > 1 && slices.Contains([]string{"\r", "\n", "\r\n"}, text[at:]) {
				r.values = nil
			}
		}
		at = i
		if r.values == nil {
			continue
		}
		if len(r.values) != cols {
			r.bad = fmt.Sprint(len(r.values))
			r.values = nil
			return append(records, r)
		}
		records = append(records, r)
	}
	return records
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
			data[i] = "\n,\"\\\t\x01"[i%6] // memory behind the text means nothing
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

// TestScanner has a plain reader as judge, in all dialects, for texts that are given in one piece and in pieces.
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
				// Where a record ends, nothing that follows is waited for.
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
