package fixedwidth

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"regexp"
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

// plainDecimal reads a number from the hexadecimal digits of its bytes, as manuals print them, and writes it with math/big.
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

// TestMainframeNumbers compares packed and zoned decimals, and random bytes similar to them, with the plain reading.
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
