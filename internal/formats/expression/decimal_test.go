package expression

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"bulkload/internal/formats/celltype"
	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/keygen"
)

// numberText draws a text that may be a number, sometimes with more digits than 64 bits can hold.
func numberText(r *rand.Rand) string {
	digits := func(n int) (s string) {
		for range n {
			s += string(rune('0' + r.IntN(10)))
		}
		return s
	}
	text := []string{"", "-", "+", "--"}[r.IntN(4)] + digits(r.IntN(22))
	if r.IntN(2) == 0 {
		text += "." + digits(r.IntN(22))
	}
	return text + []string{"", "", "", "e2", "E-3", " ", "x"}[r.IntN(7)]
}

// TestSmallNumbers compares the fast parser of small numbers with the general one, which reads all numbers that
// celltype reads.
func TestSmallNumbers(t *testing.T) {
	r := testcheck.Rand(t)
	small := 0
	for range race.Cases(t, 100_000) {
		text := numberText(r)
		n, scale, ok := parseSmall([]byte(text))
		var long decimal
		x := &arith{}
		err := long.parseAny([]byte(text), x)
		if ok && (err != nil || long.wide || long.small != n || long.scale != scale) {
			t.Fatalf("%q is %d of scale %d, and %s of %d, %v", text, n, scale, long.append(nil, x), long.scale, err)
		}
		if ok {
			small++
		}
		if err == nil {
			var again decimal
			if err := again.parse(long.append(nil, x), x); err != nil || x.compare(&again, &long) != 0 || again.scale != long.scale {
				t.Fatalf("%q is written %s, which is read as %s, %v", text, long.append(nil, x), again.append(nil, x), err)
			}
		}
	}
	if small == 0 {
		t.Errorf("%d small numbers", small)
	}
}

// TestWhatIsNoNumber checks numbers at the limits, and the errors for numbers beyond them and for texts that are not
// numbers.
func TestWhatIsNoNumber(t *testing.T) {
	nines := strings.Repeat("9", 1000)
	for text, want := range map[string]string{
		"add(" + nines + ", 0)": nines, "multiply('1e500', '1e499')": "1" + strings.Repeat("0", 999), "decimal('1e-1000')": "0." + strings.Repeat("0", 999) + "1", "decimal('-0')": "0",
		"negate('-9223372036854775808')": "9223372036854775808", "subtract('-9223372036854775807', 1)": "-9223372036854775808", "round('9223372036854775807.5', 0)": "9223372036854775808",
		"round(5, -1000)": "0", "round(1.25, 1)": "1.3", "round(-1.25, 1)": "-1.3", "divide(1, 3, 40)": "0." + strings.Repeat("3", 40), "divide('9223372036854775807', '-1', 0)": "-9223372036854775807",
	} {
		p, fields := program(t, text, nil)
		if got, _, err := p.Append(nil, fields); err != nil || string(got) != want {
			t.Errorf("%.60s is %.60s, %v, want %.60s", text, got, err, want)
		}
	}
	for _, text := range []string{"decimal('" + nines + "9')", "multiply('1e500', '1e500', 10)", "decimal('1e1000')", "decimal('1e-1001')", "multiply('1e-600', '1e-600')", "divide(1, 0, 2)", "decimal('')", "decimal('1e')", "decimal('Infinity')"} {
		p, fields := program(t, text, nil)
		_, _, err := p.Append(nil, fields)
		if f, ok := errors.AsType[*keygen.FieldError](err); !ok || len(f.Error()) > 160 {
			t.Errorf("%.60s: %v", text, err)
		}
	}
}

// FuzzExpression checks that no expression panics, whatever the record, and that a record has the same result after
// other records.
func FuzzExpression(f *testing.F) {
	for _, x := range readPage(f).examples {
		f.Add(x[0], []byte("1.5"), []byte(`{"a":[1]}`))
	}
	f.Fuzz(func(t *testing.T, text string, one, two []byte) {
		e, err := keygen.ParseValue(text)
		if err != nil {
			return
		}
		p, err := Compile(e, Options{})
		if err != nil {
			return // such as an invalid path of json
		}
		fields := func(v []byte) (list [][]byte) {
			for range p.Columns() {
				list = append(list, v)
			}
			return list
		}
		first := func() string {
			out, null, err := p.Append(nil, fields(two))
			return fmt.Sprintf("%q %v %v", out, null, err)
		}
		want := first()
		if _, _, err := p.Append(nil, fields(one)); err != nil {
			if _, ok := errors.AsType[*keygen.FieldError](err); !ok {
				t.Fatalf("%s: %v", text, err)
			}
		}
		_, _, _ = p.Append(nil, fields(nil))
		if got := first(); got != want {
			t.Fatalf("%s of %q is %s, after another record %s", text, two, want, got)
		}
	})
}

// TestSplitDecimal checks that the digits of a number have no leading zeros.
func TestSplitDecimal(t *testing.T) {
	var buf [celltype.MaxDigits]byte
	negative, digits, scale, why := celltype.SplitDecimal([]byte("-00120.50"), &buf)
	if why != "" || !negative || scale != 2 || fmt.Sprint(digits) != "[1 2 0 5 0]" {
		t.Error(negative, digits, scale, why)
	}
}
