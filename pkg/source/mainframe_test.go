package source

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/source/dialect"
)

var (
	packedForm = regexp.MustCompile(`^([0-9]+)([a-f])$`)
	zonedForms = []*regexp.Regexp{regexp.MustCompile(`^((?:f[0-9])*)([a-f])([0-9])$`), regexp.MustCompile(`^((?:3[0-9])*)(3)([0-9])$`)}
)

// plainDecimal reads a number by the digits of its bytes in hexadecimal, as manuals print them, and writes it by way of a big one.
func plainDecimal(b []byte, p dialect.Position) (string, bool) {
	text, digits, sign := hex.EncodeToString(b), "", ""
	if p.Kind == dialect.Packed {
		m := packedForm.FindStringSubmatch(text)
		if m == nil {
			return "", false
		}
		digits, sign = m[1], m[2]
	} else {
		if at := strings.IndexByte("{ABCDEFGHI", b[len(b)-1]); at >= 0 {
			text, sign = fmt.Sprintf("%s3%d", text[:len(text)-2], at), "c"
		} else if at := strings.IndexByte("}JKLMNOPQR", b[len(b)-1]); at >= 0 {
			text, sign = fmt.Sprintf("%s3%d", text[:len(text)-2], at), "d"
		} else if at := strings.IndexByte("pqrstuvwxy", b[len(b)-1]); at >= 0 {
			text, sign = fmt.Sprintf("%s3%d", text[:len(text)-2], at), "d"
		}
		for _, form := range zonedForms {
			if m := form.FindStringSubmatch(text); m != nil {
				for i := 1; i < len(m[1]); i += 2 {
					digits += m[1][i : i+1]
				}
				if digits += m[3]; sign == "" {
					sign = m[2]
				}
			}
		}
		if digits == "" {
			return "", false
		}
	}
	n, _ := new(big.Int).SetString(digits, 10)
	if sign == "b" || sign == "d" {
		n.Neg(n)
	}
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(p.Scale)), nil)
	return new(big.Rat).SetFrac(n, scale).FloatString(p.Scale), true
}

// TestMainframeNumbers holds packed and zoned decimals, and random bytes near them, to the plain reading.
func TestMainframeNumbers(t *testing.T) {
	r := testcheck.Rand(t)
	good := 0
	for range race.Cases(t, 200_000) {
		p := dialect.Position{Kind: []string{dialect.Packed, dialect.Zoned}[r.IntN(2)], Scale: r.IntN(6)}
		if r.IntN(10) == 0 {
			p.Scale = r.IntN(2 * dialect.MostNumber)
		}
		b := make([]byte, 1+r.IntN(8))
		if r.IntN(10) == 0 {
			b = make([]byte, 1+r.IntN(dialect.MostNumber))
		}
		zone := []byte{0xf0, 0x30}[r.IntN(2)]
		for i := range b {
			digit := byte(r.IntN(10))
			if r.IntN(3) == 0 {
				digit = 0
			}
			if b[i] = zone | digit; p.Kind == dialect.Packed {
				b[i] = digit<<4 | byte(r.IntN(10))
			}
		}
		last := &b[len(b)-1]
		switch {
		case p.Kind == dialect.Packed:
			*last = *last&0xf0 | byte(10+r.IntN(6))
		case zone == 0xf0:
			*last = *last&0x0f | byte(10+r.IntN(6))<<4
		case r.IntN(2) == 0:
			*last = "{ABCDEFGHI}JKLMNOPQRpqrstuvwxy"[r.IntN(30)]
		}
		if r.IntN(3) == 0 {
			b[r.IntN(len(b))] = byte(r.IntN(256))
		}
		want, fine := plainDecimal(b, p)
		got, ok := appendDecimal([]byte("x"), b, p)
		if ok != fine || string(got) != "x"+want {
			t.Fatalf("%x as %s(%d) is %q, %v, want %q, %v", b, p.Kind, p.Scale, got, ok, want, fine)
		}
		if fine {
			good++
		}
	}
	if good == 0 {
		t.Error("no number was right")
	}
}

// TestMainframeRecords reads records of an unload with numbers among texts of EBCDIC. A record with other nibbles is bad, by its column, and is read again from the file of
// bad records.
func TestMainframeRecords(t *testing.T) {
	records := []string{"\xc1\xc2\xf0\xf0\xf1\xd5\x12\x34\x5c.", "\xc3 \xf0\xf0\xf0\xd0\x00\x00\x0d.", "\xc1\xc2\xf0\xf0\xf1\xd5\x12\x34\x56.", "\xc1\xc2\xf0\x40\xf1\xd5\x12\x34\x5c.", "\xc4\xc4\xf9\xf9\xf9\xf9\x0a\x15\x2f."}
	records[1] = strings.Replace(records[1], " ", "\x40", 1)
	rejects := NewRejectFile(filepath.Join(t.TempDir(), "bad.jsonl"))
	var bad []string
	o := Options{SplitSize: 15, Dialect: fixed(t, func(d *dialect.Dialect) { d.Charset, d.Unseparated, d.RecordLength = "cp037", true, 10 }, "name=1-2", "n=3-6:zoned", "amount=7-9:packed(2)"),
		Reject: func(e RowError) error {
			bad = append(bad, e.Column+": "+e.Reason)
			return rejects.Write(e)
		}}
	in, err := Open(t.Context(), disk, []string{writeFile(t, "unload", []byte(strings.Join(records, "")))}, o)
	testcheck.Must(t, err)
	var got []string
	testcheck.Must(t, showRows(t, in, &got))
	if want := []string{"AB/-15/123.45", "C/0/0.00"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if want := []string{"amount: 3 bytes that are no packed decimal", "n: 4 bytes that are no zoned decimal", "amount: 3 bytes that are no packed decimal"}; !slices.Equal(bad, want) {
		t.Errorf("%q, want %q", bad, want)
	}
	_, err = rejects.Finish()
	testcheck.Must(t, err)
	again := 0
	in, err = Open(t.Context(), disk, []string{rejects.Path()}, Options{Format: FormatRejects, Reject: func(e RowError) error {
		again++
		if !strings.Contains(e.Reason, "decimal") || !slices.Contains(records, string(e.Raw)) {
			t.Errorf("%q: %s", e.Raw, e.Reason)
		}
		return nil
	}})
	testcheck.Must(t, err)
	if rows, err := readAll(t.Context(), in); err != nil || len(rows) != 0 || again != 3 {
		t.Errorf("%d rows, %d bad ones, %v", len(rows), again, err)
	}
}

// TestMainframePositions reads what follows the place of a number, and refuses what is none.
func TestMainframePositions(t *testing.T) {
	for _, text := range []string{"a=1-10:packed", "a b=7:zoned", "x=y=3-5:packed(2)", "n=1-4:zoned(4)"} {
		if p, err := dialect.ParsePosition(text); err != nil || p.String() != text {
			t.Errorf("%q is %s, %v", text, p, err)
		}
	}
	for _, text := range []string{"a=1-10:", "a=1:comp", "a=1:packed(", "a=1:packed(x)", "a=1:packed(-1)", "a=1:packed(65)", "a=1:packed(2)x", ":packed"} {
		if p, err := dialect.ParsePosition(text); err == nil {
			t.Errorf("%q is %s", text, p)
		}
	}
	path := writeFile(t, "x.txt", []byte("abcdef\n"))
	for want, d := range map[string]*dialect.Dialect{
		"column a is packed, and may have the bytes of a record's end": fixed(t, nil, "a=1-3:packed"),
		"a=1-:zoned is no place of a number":                           fixed(t, nil, "a=1-:zoned"),
		"a=1-33:zoned is no place of a number":                         fixed(t, nil, "a=1-33:zoned"),
	} {
		if _, err := Open(t.Context(), disk, []string{path}, Options{Dialect: d}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
