package delimited

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/source/dialect"
)

// shortText returns a short text of the special bytes of a dialect.
func shortText(r *rand.Rand, d *dialect.Dialect) string {
	var b strings.Builder
	for range r.IntN(14) {
		b.WriteString([]string{d.FieldSep, d.FieldSep, d.Quote, d.Quote, d.Escape, d.RecordSep, d.RecordSep, "\n", "\n", "\r\n", "\r", "a", "bc", "N", " ", "#", d.Comment}[r.IntN(17)])
	}
	return b.String()
}

// shown returns records as text, with their places counted from a place.
func shown(records []plainRecord, from int) string {
	var b strings.Builder
	for _, r := range records {
		fmt.Fprintf(&b, "%d %q %s\n", r.at-from, r.values, r.bad)
	}
	return b.String()
}

// TestFirst compares headers with the first record of the plain reader, which knows how many columns there are, and the text after them with its others.
func TestFirst(t *testing.T) {
	for name, d := range dialects(t) {
		t.Run(name, func(t *testing.T) {
			r, found := testcheck.Rand(t), 0
			header := *d
			header.Null, header.Last = nil, dialect.LastPlain
			for range race.Cases(t, 10_000) {
				text := shortText(r, d)
				begin := 0
				if d.RecordSep == "" { // for two columns, blank lines are no records
					if begin = len(text); len(plainRead(&header, text, 2)) > 0 {
						begin = plainRead(&header, text, 2)[0].at
					}
				}
				whole, text := text, text[begin:]
				want := plainRead(&header, text, 1)
				if len(want) > 0 && strings.Trim(want[0].bad, "0123456789") == "" && want[0].bad != "" {
					n := 0
					_, _ = fmt.Sscan(want[0].bad, &n)
					want = plainRead(&header, text, n)
				}
				if len(want) == 0 || want[0].bad != "" {
					names, _, bad := New(d, 1, nil).First([]byte(whole), true)
					if names != nil || (bad != nil) != (len(want) > 0) || bad != nil && bad.Reason != want[0].bad {
						t.Fatalf("%q: %q, %+v, want %v", text, names, bad, want)
					}
					continue
				}
				found++
				after, all := want[1:], len(want[0].values)
				if d.Last == dialect.LastSeparated && all > 1 && want[0].values[all-1] == "" {
					want[0].values = want[0].values[:all-1]
				}
				names, next, bad := New(d, 1, nil).First([]byte(whole), true)
				next -= begin
				if bad != nil || fmt.Sprintf("%q", names) != fmt.Sprintf("%q", want[0].values) {
					t.Fatalf("%q: %q, %+v, want %q", text, names, bad, want[0].values)
				}
				if rest := plainRead(&header, text[next:], all); len(after) > 0 && next > after[0].at || shown(rest, -next) != shown(after, 0) {
					t.Fatalf("%q: after byte %d there is\n%swant\n%s", text, next, shown(rest, -next), shown(after, 0))
				}
				// Before the text is whole there is no header, or the same one.
				if early, _, bad := New(d, 1, nil).First([]byte(whole), false); bad == nil && early != nil && !slices.Equal(early, names) {
					t.Fatalf("%q: %q, and %q before the text is whole", text, names, early)
				}
			}
			if found == 0 {
				t.Error("there was no header")
			}
		})
	}
}

// TestRecordsAlone takes single records out of texts, as a reject file keeps them, and reads each again from the text without its end and from one with
// another record after it.
func TestRecordsAlone(t *testing.T) {
	for name, d := range dialects(t) {
		t.Run(name, func(t *testing.T) {
			r, alone := testcheck.Rand(t), d.Records()
			end, lines := d.RecordSep, false
			if end == "" {
				end, lines = "\n", true
			}
			found := 0
			for range race.Cases(t, 10_000) {
				text, cols := shortText(r, d), 1+r.IntN(3)
				s := New(d, cols, nil)
				records := plainRead(d, text, cols)
				for i, record := range records {
					if record.bad != "" {
						break
					}
					next := len(text)
					if i+1 < len(records) {
						next = records[i+1].at
					}
					kept := string(s.TrimEnd(s.One([]byte(text[record.at:next]))))
					if !strings.HasPrefix(text[record.at:], kept) {
						t.Fatalf("%q of %d columns: %q is kept of %q", text, cols, kept, text[record.at:next])
					}
					if lines && strings.HasSuffix(kept, "\r") {
						kept += "\r"
					}
					record.at = 0
					again := plainRead(&alone, kept+end, cols)
					if shown(again, 0) != shown([]plainRecord{record}, 0) || !Whole(&alone, nil, []byte(kept+end)) {
						t.Fatalf("%q of %d columns: %q is kept of %q, which reads\n%swant\n%s", text, cols, kept, text[record.at:next], shown(again, 0), shown([]plainRecord{record}, 0))
					}
					found++
				}
			}
			if found == 0 {
				t.Error("there was no record")
			}
		})
	}
}

// TestWhole checks that a text is whole if no text after it can belong to its last record.
func TestWhole(t *testing.T) {
	for name, d := range dialects(t) {
		t.Run(name, func(t *testing.T) {
			r, both := testcheck.Rand(t), map[bool]int{}
			alone := d.Records()
			alone.Null = nil
			for range race.Cases(t, 10_000) {
				text := shortText(r, &alone)
				records := plainRead(&alone, text, 1)
				bad := ""
				if n := len(records); n > 0 {
					bad = records[n-1].bad
				}
				want := bad == ""
				switch bad {
				case reasonUnclosed, reasonEscape:
				case "":
					more := plainRead(&alone, text+"zz", 1)
					want = text == "" || len(more) == len(records)+1 && more[len(records)].at == len(text)
				default:
					continue // the plain reader ends there
				}
				if got := Whole(&alone, nil, []byte(text)); got != want {
					t.Fatalf("%q: whole %v, but %s", text, got, shown(records, 0))
				}
				both[want]++
			}
			if len(both) != 2 {
				t.Errorf("%v", both)
			}
		})
	}
}

// TestTrimEnd checks what is taken off the end of a record: blank lines too where they are no records, but nothing that is escaped.
func TestTrimEnd(t *testing.T) {
	csv, tsv, own := preset(t, dialect.CSV, nil), preset(t, dialect.MySQLText, func(d *dialect.Dialect) { d.RecordSep = "" }), preset(t, dialect.Hive, func(d *dialect.Dialect) { d.RecordSep = "|\n" })
	for _, tt := range []struct {
		d          *dialect.Dialect
		cols       int
		text, want string
	}{
		{csv, 2, "a,b\r\n\n\r\n", "a,b"}, {csv, 1, "a\n\n", "a\n"}, {csv, 2, "a,b\r", "a,b"}, {csv, 2, "a,b", "a,b"}, {csv, 2, "\n", ""},
		{tsv, 2, "a\tb\\\n\n", "a\tb\\\n"}, {tsv, 2, "a\tb\\\r\n", "a\tb\\\r"}, {tsv, 2, "a\tb\\\\\r\n", "a\tb\\\\"}, {tsv, 2, "a\\\n", "a\\\n"}, {own, 2, "a\x01b\r|\n|\n", "a\x01b\r|\n"},
	} {
		if got := string(New(tt.d, tt.cols, nil).TrimEnd([]byte(tt.text))); got != tt.want {
			t.Errorf("%s, %d columns: %q of %q, want %q", tt.d.Name, tt.cols, got, tt.text, tt.want)
		}
	}
}
