package expression

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/keygen"
)

// writer writes random expressions.
type writer struct{ *rand.Rand }

func (w writer) one(list ...string) string { return list[w.IntN(len(list))] }

// list returns least to most random expressions of a kind.
func (w writer) list(kind keygen.Kind, least, most, depth int) string {
	var all []string
	for range least + w.IntN(most-least+1) {
		all = append(all, w.expr(kind, depth))
	}
	return strings.Join(all, ", ")
}

func (w writer) expr(kind keygen.Kind, depth int) string {
	if w.IntN(12) == 0 {
		return "null"
	}
	if depth == 0 || w.IntN(5) == 0 {
		return w.leaf(kind)
	}
	depth--
	switch kind {
	case keygen.KindText:
		return w.text(depth)
	case keygen.KindNumber:
		return w.number(depth)
	}
	return w.condition(depth)
}

func (w writer) leaf(kind keygen.Kind) string {
	switch kind {
	case keygen.KindText:
		return w.one("a", "b", "n", "m", "`end`", "'x'", "''", "'订'", "'12'")
	case keygen.KindNumber:
		return w.one("0", "1", "-1", "2.50", "-0.005", "99999999999999999999.9", "123456789012345678", "decimal(n)", "decimal(m)", "length(a)")
	}
	return w.one("true", "false", "a = b", "n > m", "a is null", "n < 3", "m != '1'")
}

func (w writer) text(depth int) string {
	e := w.expr(keygen.KindText, depth)
	switch w.IntN(14) {
	case 0:
		return w.one("upper", "lower", "trim", "ltrim", "rtrim", "reverse", "md5hex", "salted") + "(" + e + ")"
	case 1:
		return "(" + e + " + " + w.expr(keygen.KindText, depth) + ")"
	case 2:
		return fmt.Sprintf("substr(%s, %d)", e, w.IntN(9)-4)
	case 3:
		return fmt.Sprintf("substr(%s, %d, %d)", e, w.IntN(9)-4, w.IntN(4))
	case 4:
		return fmt.Sprintf("%s(%s, %d, '%s')", w.one("lpad", "rpad"), e, w.IntN(9), w.one("-", "订单", "xyz"))
	case 5:
		return "replace(" + e + ", " + w.list(keygen.KindText, 2, 2, depth) + ")"
	case 6:
		return "concat(" + w.list(keygen.KindText, 1, 3, depth) + ")"
	case 7:
		return "coalesce(" + e + ", " + w.list(keygen.KindText, 1, 2, depth) + ")"
	case 8:
		return "nullif(" + e + ", " + w.expr(keygen.KindText, depth) + ")"
	case 9:
		return w.cases(keygen.KindText, depth)
	case 10:
		return w.one("least", "greatest") + "(" + w.list(keygen.KindText, 2, 3, depth) + ")"
	case 11:
		return "(" + e + " + " + w.expr(keygen.KindNumber, depth) + ")"
	}
	return e
}

func (w writer) cases(kind keygen.Kind, depth int) string {
	text := "case"
	for range 1 + w.IntN(2) {
		text += " when " + w.expr(keygen.KindBoolean, depth) + " then " + w.expr(kind, depth)
	}
	if w.IntN(2) == 0 {
		text += " else " + w.expr(kind, depth)
	}
	return text + " end"
}

func (w writer) number(depth int) string {
	e := w.expr(keygen.KindNumber, depth)
	switch w.IntN(11) {
	case 0:
		return "add(" + w.list(keygen.KindNumber, 2, 3, depth) + ")"
	case 1:
		return "subtract(" + w.list(keygen.KindNumber, 2, 2, depth) + ")"
	case 2:
		return "multiply(" + w.list(keygen.KindNumber, 2, 3, depth) + ")"
	case 3:
		return fmt.Sprintf("divide(%s, %s, %d)", e, w.expr(keygen.KindNumber, depth), w.IntN(25))
	case 4:
		return fmt.Sprintf("round(%s, %d)", e, w.IntN(30)-8)
	case 5:
		return w.one("abs", "negate") + "(" + e + ")"
	case 6:
		return w.one("length", "hash") + "(" + w.expr(keygen.KindText, depth) + ")"
	case 7:
		return w.one("coalesce", "least", "greatest") + "(" + w.list(keygen.KindNumber, 2, 3, depth) + ")"
	case 8:
		return "nullif(" + e + ", " + w.expr(keygen.KindNumber, depth) + ")"
	case 9:
		return w.cases(keygen.KindNumber, depth)
	}
	return w.one("add", "multiply") + "(" + w.one("n", "m", "a") + ", " + e + ")"
}

func (w writer) condition(depth int) string {
	kind := keygen.Kind(w.IntN(2)) + keygen.KindText
	e, not := w.expr(kind, depth), w.one("", "not ")
	switch w.IntN(10) {
	case 0, 1:
		return "(" + w.expr(keygen.KindBoolean, depth) + w.one(" and ", " or ", " AND ") + w.expr(keygen.KindBoolean, depth) + ")"
	case 2:
		return "not (" + w.expr(keygen.KindBoolean, depth) + ")"
	case 3:
		return e + " " + not + "in (" + w.list(kind, 1, 3, depth) + ")"
	case 4:
		return e + " " + not + "between " + w.expr(kind, depth) + " and " + w.expr(kind, depth)
	case 5:
		return w.expr(keygen.KindText, depth) + " " + not + "like '" + w.one("%", "_", "a%", "%订%", "_b%c", `\\%`, "x_", "", "%1%2%", "a_%") + "'"
	case 6:
		return w.expr(keygen.KindText, depth) + " " + not + "matches '" + w.one("^[a-z]*$", "[0-9]", "订", "^$", "a.c") + "'"
	case 7:
		return "(" + w.expr(keygen.Kind(w.IntN(3))+keygen.KindText, depth) + ")" + w.one(" is null", " is not null")
	case 8:
		return w.cases(keygen.KindBoolean, depth)
	}
	other := kind
	if w.IntN(4) == 0 {
		other = keygen.KindText
	}
	return e + w.one(" = ", " != ", " <> ", " < ", " <= ", " > ", " >= ") + w.expr(other, depth)
}

// record draws a record with NULL, empty texts, characters beyond ASCII and long numbers.
func (w writer) record() map[string]*string {
	texts := []string{"", " ", "abc", "a%c", " Ab\tc ", "订单", "x订😀", "12", "1.50", "İß", "\x01"}
	numbers := []string{"0", "1", "1.0", "-2.5", "+007.50", "0.005", "-.5", "3.", "123456789012345678901234567890.123456789", "999999999999999999", "-999999999999999999.9", "9223372036854775807", "x", ""}
	of := func(list []string) *string {
		if w.IntN(6) == 0 {
			return nil
		}
		return &list[w.IntN(len(list))]
	}
	return map[string]*string{"a": of(texts), "b": of(texts), "n": of(numbers), "m": of(numbers), "end": of(texts)}
}

// fieldsOf returns the fields of a record in the order of the program's columns.
func fieldsOf(p *Program, record map[string]*string) [][]byte {
	fields := make([][]byte, len(p.Columns()))
	for i, c := range p.Columns() {
		if v := record[c]; v != nil {
			fields[i] = append([]byte{}, *v...)
		}
	}
	return fields
}

// TestRandomExpressions compares random expressions over random records with the oracle. A program is used for several records: data of one record
// that stay in its buffers must not affect the next.
func TestRandomExpressions(t *testing.T) {
	w := writer{testcheck.Rand(t)}
	values, nulls, bad, kept := 0, 0, 0, 0
	for range race.Cases(t, 10_000) {
		text := w.expr(keygen.Kind(w.IntN(3))+keygen.KindText, 1+w.IntN(4))
		e, err := keygen.ParseValue(text)
		testcheck.Must(t, err)
		p, err := Compile(e, Options{Salt: testSalt})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for range 5 {
			record := w.record()
			want, wrong := oracle(record).value(e)
			if wrong != nil && wrong != errOracle {
				t.Fatalf("%s: %v", text, wrong)
			}
			wanted := want.String()
			if keygen.KindOf(e) == keygen.KindBoolean {
				wanted = fmt.Sprint(want.truth)
			}
			got, null, err := p.Append(nil, fieldsOf(p, record))
			switch {
			case err != nil && wrong != nil:
				bad++
			case err != nil || wrong != nil || null != want.null || !null && string(got) != wanted:
				t.Fatalf("%s\nof %s\nis %q, NULL %v, %v, want %q, NULL %v, %v", text, show(record), got, null, err, wanted, want.null, wrong)
			case null:
				nulls++
			default:
				values++
			}
			if keygen.KindOf(e) == keygen.KindBoolean && err == nil {
				keep, err := p.True(fieldsOf(p, record))
				if err != nil || keep != (want.truth && !want.null) {
					t.Fatalf("%s of %s is %v, %v", text, show(record), keep, err)
				}
				if keep {
					kept++
				}
			}
		}
	}
	if values == 0 || nulls == 0 || bad == 0 || kept == 0 {
		t.Errorf("%d values, %d NULL, %d without a value, %d true", values, nulls, bad, kept)
	}
}

func show(record map[string]*string) string {
	text := ""
	for name, v := range record {
		if v == nil {
			text += name + " NULL, "
		} else {
			text += fmt.Sprintf("%s %q, ", name, *v)
		}
	}
	return text
}
