package delimited

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/formats/swar"
	"bulkload/internal/test/race"
	"bulkload/pkg/source/dialect"
	"bulkload/pkg/source/span"
)

// sweepDialects returns the dialects that a sweep reads, and modified ones.
func sweepDialects(t testing.TB) map[string]*dialect.Dialect {
	mysql := func(change func(*dialect.Dialect)) *dialect.Dialect { return preset(t, dialect.MySQLText, change) }
	return map[string]*dialect.Dialect{
		dialect.MySQLText:   mysql(nil),
		dialect.MySQLTSV:    preset(t, dialect.MySQLTSV, nil),
		dialect.PostgresTxt: preset(t, dialect.PostgresTxt, nil),
		dialect.Hive:        preset(t, dialect.Hive, nil),
		dialect.HiveEscaped: preset(t, dialect.HiveEscaped, nil),
		dialect.JQText:      preset(t, dialect.JQText, nil),
		dialect.Dump:        preset(t, dialect.Dump, nil),
		"cr":                mysql(func(d *dialect.Dialect) { d.RecordSep = "" }),
		"no NULL":           mysql(func(d *dialect.Dialect) { d.Null = nil }),
		"long NULL":         mysql(func(d *dialect.Dialect) { d.Null = []string{"(none)"} }),
		"other escape":      mysql(func(d *dialect.Dialect) { d.Escape, d.Null = "^", []string{"^-"} }),
	}
}

// TestSweep compares the sweep with a plain reader for long texts whose records are well formed except for a few.
func TestSweep(t *testing.T) {
	rounds := 150
	if race.Reduced(t) {
		rounds = 25
	}
	for name, d := range sweepDialects(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(11, uint64(len(name))))
			end := d.RecordSep
			if end == "" {
				end = "\n"
			}
			for range rounds {
				cols := []int{2, 3, 18, 70, 200}[r.IntN(5)]
				escapes := []int{2, 10, 1000, 100000}[r.IntN(4)] // one piece in this many has an escape
				bad := r.IntN(4) == 0
				var b strings.Builder
				for size := r.IntN(40_000); b.Len() < size; {
					n := cols
					if bad && r.IntN(300) == 0 {
						n = r.IntN(2 * cols)
					}
					for i := range n {
						if i > 0 {
							b.WriteString(d.FieldSep)
						}
						if len(d.Null) > 0 && r.IntN(4) == 0 {
							b.WriteString(d.Null[0])
							continue
						}
						for range r.IntN(4) {
							switch {
							case d.Escape != "" && r.IntN(escapes) == 0:
								what := []string{d.FieldSep, end, d.Escape, d.Escape + d.Escape + d.Escape, "N", "n", "041", "\r"}[r.IntN(8)]
								b.WriteString(d.Escape + what)
							case r.IntN(30) == 0:
								b.WriteString(strings.Repeat("x", r.IntN(300)))
							default:
								b.WriteString([]string{"a", "bc", "N", "NULL", "\x81\x8a\xdc", "\x08\x0b", "defghi"}[r.IntN(7)])
							}
						}
					}
					if d.RecordSep == "" && r.IntN(2) == 0 {
						b.WriteByte('\r')
					}
					b.WriteString(end)
				}
				text := b.String()
				if d.Map == dialect.Postgres {
					text = strings.ReplaceAll(text, `\041`, `\n`) // the plain reader does not know it
				}
				if cut := r.IntN(10); cut < len(text) && cut < 3 {
					text = text[:len(text)-cut]
				}
				want := plainRead(d, text, cols)
				s := New(d, cols, nil)
				if !s.sweep.usable {
					t.Fatal("no sweep")
				}
				differ := func(got []plainRecord) {
					t.Helper()
					for i := range min(len(got), len(want)) {
						if g, w := fmt.Sprintf("%#v", got[i]), fmt.Sprintf("%#v", want[i]); g != w {
							t.Fatalf("record %d of %d columns:\n%s, want\n%s", i, cols, g, w)
						}
					}
					if len(got) != len(want) {
						t.Fatalf("%d records, want %d", len(got), len(want))
					}
				}
				differ(scanAll(t, s, text, func(left int) int { return left }))
				differ(scanAll(t, s, text, func(left int) int { return min(left, 1+r.IntN(9000)) }))
			}
		})
	}
}

// TestSweeps checks that sweeps read the whole text of every exporter for which they are meant, without the slow path,
// and that other dialects do not use them.
func TestSweeps(t *testing.T) {
	for name, d := range sweepDialects(t) {
		text := strings.Repeat(checkRow(d, false)+checkRow(d, true), 300)
		if name == "other escape" {
			text = strings.ReplaceAll(text, `\`, "^")
		}
		data := make([]byte, len(text)+Slack)
		copy(data, text)
		s := New(d, 18, nil)
		s.Data = data
		if next := s.storeSwept(0, len(text)); next != len(text) || len(s.Starts) != 600 || len(s.Fields) != 600*18 {
			t.Errorf("%s: %d of %d bytes, %d records", name, next, len(text), len(s.Starts))
		}
	}
	for _, d := range []*dialect.Dialect{
		preset(t, dialect.CSV, nil), preset(t, dialect.Spark, nil), preset(t, dialect.MySQLCSV, nil),
		preset(t, dialect.MySQLText, func(d *dialect.Dialect) { d.FieldSep = "||" }),
		preset(t, dialect.MySQLText, func(d *dialect.Dialect) { d.Comment = "#" }),
		preset(t, dialect.MySQLText, func(d *dialect.Dialect) { d.Null = []string{`\N`, "NULL"} }),
		preset(t, dialect.MySQLText, func(d *dialect.Dialect) { d.Trim = dialect.TrimBoth }),
		preset(t, dialect.Hive, func(d *dialect.Dialect) { d.FieldSep = "\xfe" }),
	} {
		if New(d, 18, nil).sweep.usable {
			t.Errorf("%+v", d)
		}
	}
	if New(preset(t, dialect.MySQLText, nil), 1, nil).sweep.usable {
		t.Error("one column")
	}
}

// TestEscapeState compares masks of blocks with a test of each byte.
func TestEscapeState(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	for range race.Cases(t, 1_000_000) {
		text := make([]byte, swar.Block*(1+r.IntN(4)))
		rare := 1 + r.IntN(30)
		for i := range text {
			text[i] = 'x'
			if r.IntN(rare) == 0 {
				text[i] = `\\\\,,x`[r.IntN(7)]
			}
		}
		blocks := len(text) / swar.Block
		var seps, escapes, wantSeps, wantOdd [4]uint64
		f := swar.NewFinder(',', ',', '\\')
		f.TwoAndThird(seps[:blocks], escapes[:blocks], text)
		escaped, open, some := false, false, false
		for i, c := range text {
			bit := uint64(1) << (i % swar.Block)
			switch {
			case c == ',' && !escaped:
				wantSeps[i/swar.Block] |= bit
				if open {
					wantOdd[i/swar.Block] |= bit
				}
				open = false
			case c == '\\':
				open, some = true, true
			}
			escaped = c == '\\' && !escaped
		}
		// In two calls, the second with the state of the first.
		var e escapeState
		half := r.IntN(blocks + 1)
		first := e.apply(seps[:half], escapes[:half])
		second := e.apply(seps[half:blocks], escapes[half:blocks])
		if seps != wantSeps || escapes != wantOdd || (first || second) != some ||
			e != (escapeState{one(escaped), one(open)}) {
			t.Fatalf("%q: %x %x %t %t %+v, want %x %x %t %t %t", text, seps, escapes, first, second, e, wantSeps, wantOdd, some, escaped, open)
		}
	}
}

func one(is bool) uint64 {
	if is {
		return 1
	}
	return 0
}

// TestPlaces compares the positions derived from masks with a test of each bit.
func TestPlaces(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	for range race.Cases(t, 1_000_000) {
		m := r.Uint64() & r.Uint64()
		some := m & r.Uint64() & r.Uint64()
		if r.IntN(20) == 0 {
			m = ^uint64(0)
			some = m
		}
		var fields [swar.Block]span.Span
		var want, got, ranks []uint32
		for i := range uint32(swar.Block) {
			if (m>>i)&1 != 0 {
				want = append(want, 1000+i)
			}
			if (some>>i)&1 != 0 {
				ranks = append(ranks, 7+uint32(bits.OnesCount64(m&(1<<i-1))))
			}
		}
		n := places(fields[:], m, 1000)
		for _, f := range fields[:n] {
			got = append(got, f.Off)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%x: %v, want %v", m, got, want)
		}
		if got := appendRanks([]uint32{5}, 7, m, some); !slices.Equal(got[1:], ranks) || got[0] != 5 {
			t.Fatalf("%x of %x: %v, want %v", some, m, got, ranks)
		}
	}
}
