package fixedwidth

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/formats/charset"
	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/source/dialect"
	"bulkload/pkg/source/span"

	"golang.org/x/text/encoding/charmap"
)

// randomLayout returns a dialect of fixed columns, among them packed numbers, with gaps between them, and its character set.
func randomLayout(r *rand.Rand) (*dialect.Dialect, *charset.Charset) {
	d := &dialect.Dialect{Name: dialect.Fixed, Trim: []dialect.Trim{dialect.TrimNone, dialect.TrimLeft, dialect.TrimRight, dialect.TrimBoth}[r.IntN(4)], Null: [][]string{nil, {""}, {"", "-"}}[r.IntN(3)]}
	d.Unseparated, d.RecordSep = r.IntN(3) == 0, []string{"", "", "#@\n"}[r.IntN(3)]
	var set *charset.Charset
	if d.Unseparated && r.IntN(2) == 0 {
		set, _ = charset.Lookup("cp037")
	}
	at := 1
	for range 1 + r.IntN(4) {
		at += r.IntN(2)
		p := dialect.Position{From: at, To: at + r.IntN(5)}
		if r.IntN(3) == 0 && (d.Unseparated || d.RecordSep != "") {
			p.Kind, p.Scale = dialect.Packed, r.IntN(3)
		}
		d.Positions, at = append(d.Positions, p), p.To+1
	}
	if !d.Unseparated && r.IntN(3) == 0 {
		d.Positions = append(d.Positions, dialect.Position{From: at})
	} else if r.IntN(2) == 0 {
		d.RecordLength = at + r.IntN(3)
	}
	r.Shuffle(len(d.Positions), func(i, j int) { d.Positions[i], d.Positions[j] = d.Positions[j], d.Positions[i] })
	return d, set
}

// randomField returns the bytes of a value in a column of a length, and its text; wrong bytes have none.
func randomField(r *rand.Rand, d *dialect.Dialect, p dialect.Position, n int) (raw []byte, text string, ok bool) {
	if p.Kind != "" {
		digits := make([]byte, 2*n-1)
		for i := range digits {
			digits[i] = byte('0' + r.IntN(10))
		}
		sign := "cdx"[r.IntN(20)/9]
		raw, err := hex.DecodeString(strings.Replace(string(digits)+string(sign), "x", "3", 1))
		if text, ok = plainDecimal(raw, p); err != nil {
			panic(err)
		}
		return raw, text, ok
	}
	value := []string{"", "-", "a", "x y", `\N`, "abcde"}[r.IntN(6)]
	value = value[:min(len(value), n)]
	left := r.IntN(n - len(value) + 1)
	value = strings.Repeat(" ", left) + value + strings.Repeat(" ", n-left-len(value))
	switch text = value; d.Trim {
	case dialect.TrimLeft:
		text = strings.TrimLeft(text, " ")
	case dialect.TrimRight:
		text = strings.TrimRight(text, " ")
	case dialect.TrimBoth:
		text = strings.Trim(text, " ")
	}
	return []byte(value), text, true
}

// randomRecord returns the bytes of a record, its texts, and the column that is wrong, -1 for none. A CR may be its last byte if its length is fixed
// and it is not a line.
func randomRecord(r *rand.Rand, d *dialect.Dialect, set *charset.Charset) (raw []byte, texts []string, wrong int) {
	length, least := d.Length()
	if least {
		length += r.IntN(4)
	}
	raw, wrong = bytes.Repeat([]byte{'.'}, length), -1
	if !least && (d.Unseparated || d.RecordSep != "") {
		raw[length-1] = ".\r"[r.IntN(2)]
	}
	for i, p := range d.Positions {
		to := p.To
		if to == 0 {
			to = length
		}
		value, text, ok := []byte(nil), "", true
		if n := to - p.From + 1; n > 0 {
			value, text, ok = randomField(r, d, p, n)
		}
		if set != nil && p.Kind == "" {
			encoded, err := charmap.CodePage037.NewEncoder().Bytes(value)
			if err != nil {
				panic(err)
			}
			value = encoded
		}
		copy(raw[p.From-1:], value)
		if texts = append(texts, text); !ok && wrong < 0 {
			wrong = i
		}
		if slices.Contains(d.Null, text) {
			texts[i] = "NULL"
		}
	}
	return raw, texts, wrong
}

// TestRecordsOfLayouts reads texts of random records by random layouts: every record and every value is found, and wrong ones are named.
func TestRecordsOfLayouts(t *testing.T) {
	r := testcheck.Rand(t)
	bad := 0
	for range race.Cases(t, 100_000) {
		d, set := randomLayout(r)
		records, ends := New(d, set), []string{string(End(d))}
		length, least := d.Length()
		if d.RecordSep == "" {
			ends = []string{"\n", "\r\n"}
		}
		if d.Unseparated {
			ends = []string{""}
		}
		var text []byte
		fields := make([]span.Span, len(d.Positions))
		for range 1 + r.IntN(3) {
			raw, want, wrong := randomRecord(r, d, set)
			reason := ""
			if wrong >= 0 {
				reason = "decimal"
			}
			if !least && !d.Unseparated && r.IntN(9) == 0 {
				raw, wrong, reason = append(raw, ".."...), -1, fmt.Sprintf("it has %d bytes, and records have %d", length+2, length)
			}
			start := len(text)
			text = append(append(text, raw...), ends[r.IntN(len(ends))]...)
			if next := records.Next(text, start); next != len(text) || records.Next(text[:len(text)-1], start) <= len(text)-1 {
				t.Fatalf("%+v: the next record of %q is at %d", d, text[start:], next)
			}
			end := start + len(records.TrimEnd(text[start:]))
			buf, used, column, got := records.Values(slices.Clone(text), len(text), start, end, fields)
			if end-start != len(raw) || column != wrong || (got == "") != (reason == "") || !strings.Contains(got, reason) {
				t.Fatalf("%+v: %q of %q: column %d, %q, want %d, %q", d, text[start:end], text[start:], column, got, wrong, reason)
			}
			if reason != "" {
				bad++
				continue
			}
			for i, f := range fields {
				value := string(f.Of(buf[:max(used, len(text))]))
				if f.IsNull() {
					value = "NULL"
				}
				if value != want[i] {
					t.Fatalf("%+v: column %d of %q is %q, want %q", d, i, raw, value, want[i])
				}
			}
		}
	}
	if bad == 0 {
		t.Error("no record was wrong")
	}
}
