package delimited

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"bulkload/internal/formats/charset"
	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/source/dialect"
)

// TestMarksInCharset compares text in a character set with the same text in ASCII, in which other bytes take the place of each character: where
// its records and its bad records begin and end, and what a record's end is, do not depend on whether there is a set. Separators are above 0x80,
// or are the last bytes of characters, as escapes and quotes are.
func TestMarksInCharset(t *testing.T) {
	for _, tt := range []struct {
		preset, set, sep, end string
		wide                  []string // characters
		change                func(*dialect.Dialect)
	}{
		{preset: dialect.HiveEscaped, set: "cp1252", sep: "\xa7", end: "\n", wide: []string{"\xe9"}},
		{preset: dialect.MySQLText, set: "cp1252", sep: "\xa7", end: "\n", wide: []string{"\xe9"}, change: func(d *dialect.Dialect) { d.Quote = `"` }},
		{preset: dialect.MySQLText, set: "utf-8", sep: "§", wide: []string{"中"}},
		{preset: dialect.MySQLCSV, set: "latin1", sep: ",", end: "\xa6\n", wide: []string{"\xe9"}},
		{preset: dialect.HiveEscaped, set: "gb18030", sep: "~", end: "|", wide: []string{"\xd6|", "\xd5\\", "\xd6~"}},
		{preset: dialect.Hive, set: "big5", sep: "~", end: "|", wide: []string{"\xa4|", "\xa4~"}, change: func(d *dialect.Dialect) { d.Comment = "#" }},
		{preset: dialect.MySQLText, set: "gb18030", sep: "~", end: "|", wide: []string{"\xd6|", "\xd5\\", "\xd6~"}, change: func(d *dialect.Dialect) { d.Quote = `"` }},
		{preset: dialect.PostgresCSV, set: "gb18030", sep: "|", end: "~", wide: []string{"\xd6|", "\xd5~"}},
		{preset: dialect.PostgresCSV, set: "gb18030", sep: "|", end: "~", wide: []string{"\xd6|", "\xd5~", "\xd5^"}, change: func(d *dialect.Dialect) { d.Quote = "^" }},
		{preset: dialect.CSV, set: "gb18030", sep: "|", wide: []string{"\xd6|"}},
	} {
		t.Run(tt.preset+" "+tt.set+" "+tt.sep+" "+tt.end, func(t *testing.T) {
			d := preset(t, tt.preset, func(d *dialect.Dialect) {
				if d.FieldSep, d.RecordSep = tt.sep, tt.end; tt.change != nil {
					tt.change(d)
				}
			})
			testcheck.Must(t, d.Check())
			set, err := charset.Lookup(tt.set)
			testcheck.Must(t, err)
			r := testcheck.Rand(t)
			tokens := []string{"a", "\r", "\n", d.FieldSep, d.FieldSep, New(d, 2, nil).end, d.Quote, d.Escape, d.Escape, d.Comment, d.FieldSep + d.Quote, d.Quote + d.FieldSep}
			for range race.Cases(t, 20_000) {
				var raw, plain strings.Builder
				for range r.IntN(24) {
					if token := r.IntN(len(tokens) + 6); token < len(tokens) {
						raw.WriteString(tokens[token])
						plain.WriteString(tokens[token])
					} else {
						wide := tt.wide[r.IntN(len(tt.wide))]
						raw.WriteString(wide)
						plain.WriteString(strings.Repeat("x", len(wide)))
					}
				}
				from := r.IntN(raw.Len() + 1)
				got, want := marks(d, set, raw.String(), from), marks(d, nil, plain.String(), from)
				if got != want {
					t.Fatalf("%q:\n%swant\n%s", raw.String(), got, want)
				}
			}
		})
	}
}

// marks returns all places that a scanner finds in a text. One block of it begins at from.
func marks(d *dialect.Dialect, set Charset, text string, from int) string {
	var b strings.Builder
	data := append([]byte(text), make([]byte, Slack)...)
	s := New(d, 2, set)
	for at := 0; at < len(text); {
		next, bad := s.Scan(bytes.Clone(data), at, len(text), true)
		fmt.Fprintf(&b, "records at %d", s.Starts)
		if bad == nil {
			break
		}
		fmt.Fprintf(&b, ", a fault %+v\n", *bad)
		at = next
	}
	fmt.Fprintf(&b, "; %d bytes without the end\n", len(s.TrimEnd([]byte(text))))
	if d.Quote == "" {
		for at := len(s.end); at <= len(text); at++ {
			fmt.Fprintf(&b, "from %d on: %d\n", at, s.Start([]byte(text), at, true))
		}
	} else if d.Cuttable() {
		fmt.Fprintf(&b, "from %d on: %+v\n", from, s.Block(data, len(text), from, len(text), true, true))
	}
	return b.String()
}

// counting is a character set that counts the bytes in which it has looked for characters.
type counting struct {
	Charset
	bytes int
}

func (c *counting) Starts(text []byte, skip int) (uint64, int) {
	c.bytes += min(len(text), 64)
	return c.Charset.Starts(text, skip)
}

// TestMarksInManyCharacters checks that the search for the end of a record steps over each character once, however many of them have its bytes.
func TestMarksInManyCharacters(t *testing.T) {
	gb18030, err := charset.Lookup("gb18030")
	testcheck.Must(t, err)
	const most = 100 << 10
	for _, tt := range []struct{ preset, text string }{{dialect.Hive, "\xd6|"}, {dialect.HiveEscaped, "\xd6|"}, {dialect.HiveEscaped, "\xd6\xd6\\|"}, {dialect.HiveEscaped, "\xd6\\\\|"}} {
		set := &counting{Charset: gb18030}
		s := New(preset(t, tt.preset, func(d *dialect.Dialect) { d.RecordSep = "|" }), 1, set)
		text := []byte("\n" + strings.Repeat(tt.text, most/len(tt.text)))
		if at := s.Start(text, 1, false); at >= 0 {
			t.Errorf("%s of %q: a record begins at %d", tt.preset, tt.text, at)
		}
		if set.bytes > 8*len(text) {
			t.Errorf("%s of %q: %d bytes for %d", tt.preset, tt.text, set.bytes, len(text))
		}
	}
	set := &counting{Charset: gb18030}
	s := New(preset(t, dialect.MySQLText, func(d *dialect.Dialect) { d.RecordSep, d.Quote = "|", `"` }), 1, set)
	text := append([]byte(`"a"b`+strings.Repeat("\xd6\xd6\\|", most/4)), make([]byte, Slack)...)
	if _, bad := s.Scan(text, 0, len(text)-Slack, true); bad == nil || bad.End != len(text)-Slack || set.bytes > 8*len(text) {
		t.Errorf("%+v, %d bytes for %d", bad, set.bytes, len(text))
	}
}
