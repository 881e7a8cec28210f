package keyrange

import (
	"fmt"
	"slices"
	"strings"

	"bulkload/internal/model/fail"
	"bulkload/pkg/keygen"
	"bulkload/pkg/partition"
	"bulkload/pkg/setting"
)

// maxSalts is the maximum number of salt values of a key. A scan reads the rows of each value separately.
const maxSalts = 100_000

// A Key is a key spec split for range reads: the head, which spreads the rows, and the original key.
type Key struct {
	Spec keygen.Expr
	Head []keygen.Expr // the leading salts with the constant bytes before and between them; empty for a key without a salt
	Rest []keygen.Expr // the original key

	// From, To and Prefix are the names of the bounds in errors; Else is the advice for keys whose rows have no range.
	From, To, Prefix setting.Name
	Else             setting.Text
}

// Split cuts a key after its leading salts. Constant bytes before and between the salts belong to the head.
func Split(key keygen.Expr) Key {
	parts := keygen.Parts(key)
	n := 0
scan:
	for i, p := range parts {
		switch p := p.(type) {
		case keygen.Literal:
		case keygen.Call:
			if !isSalt(p) {
				break scan
			}
			n = i + 1
		default:
			break scan
		}
	}
	return Key{Spec: key, Head: parts[:n], Rest: parts[n:], From: setting.From, To: setting.To, Prefix: setting.Prefix,
		Else: setting.Textf("use get, or scan %s, which reads the whole table", setting.Full)}
}

// isSalt reports whether a part is a salt: it has few values, and all of them are known without a row.
func isSalt(c keygen.Call) bool {
	return c.Func == "salt" || c.Func == "bytesalt" || c.Func == "javasalt" || c.Func == "spread"
}

// saltModulus returns the number of a salt's values; for javasalt, the number of its nonnegative values.
func saltModulus(c keygen.Call, modulus int) int {
	switch {
	case len(c.Ints) > 0:
		return c.Ints[0]
	case c.Func == "spread":
		return 100 // two digits, whatever the table's modulus
	}
	return modulus
}

// saltValues returns all values of a salt, in order: one byte each, or decimal digits of equal width.
func saltValues(c keygen.Call, modulus int) [][]byte {
	n := saltModulus(c, modulus)
	if c.Func == "bytesalt" || c.Func == "javasalt" {
		splits, _ := partition.SplitsOfSalt(c.Func, n)
		return append([][]byte{{0}}, splits...)
	}
	return append([][]byte{fmt.Appendf(nil, "%0*d", len(fmt.Sprint(n-1)), 0)}, partition.SaltSplits(n)...)
}

// Heads returns all values of the key's head, in order; one empty value for a key without a salt.
func (k Key) Heads(modulus int) ([][]byte, error) {
	n := 1
	for _, p := range k.Head {
		if c, ok := p.(keygen.Call); ok {
			m := saltModulus(c, modulus)
			if c.Func == "javasalt" {
				m = min(2*m-1, 256)
			}
			if m < 1 || m > maxSalts || n*m > maxSalts {
				return nil, fail.Errorf(fail.Config, "key %s: its salts have more than %s, too many to read the rows of each by themselves", k.Spec, setting.Count(maxSalts, "value"))
			}
			n *= m
		}
	}
	heads := [][]byte{{}}
	for _, p := range k.Head {
		var values [][]byte
		switch p := p.(type) {
		case keygen.Literal:
			values = [][]byte{p.Bytes}
		case keygen.Call:
			values = saltValues(p, modulus)
		}
		longer := make([][]byte, 0, len(heads)*len(values))
		for _, h := range heads {
			for _, v := range values {
				longer = append(longer, append(h[:len(h):len(h)], v...))
			}
		}
		heads = longer
	}
	return heads, nil
}

// keepsOrder reports whether a part's bytes sort like its column's values, or exactly in reverse, so that a range of values is a range of keys.
// Padded and binary numbers keep the order of values that are not negative.
func keepsOrder(e keygen.Expr) bool {
	c, ok := e.(keygen.Call)
	if !ok {
		return isColumn(e) || isLiteral(e)
	}
	switch c.Func {
	case "hex":
		return len(c.Args) == 1 && isColumn(c.Args[0])
	case "substr": // only if it starts at the first character
		return len(c.Args) == 1 && isColumn(c.Args[0]) && len(c.Ints) > 0 && c.Ints[0] == 0
	case "pad", "longbytes", "intbytes", "revtime", "revtimeraw":
		return len(c.Args) == 1 && isNumber(c.Args[0])
	case "date": // the arguments are the column, its layout, and the layout in the key
		return len(c.Args) >= 3 && isColumn(c.Args[0]) && sortsByTime(c.Args[2])
	}
	return false
}

// Ranged returns the columns of the original key that can bound a range of rows: alike are the first columns, which must be equal in both bounds because
// the key does not keep their order, and ordered the following columns, whose order the key keeps. If ordered is empty, there are no ranges.
func (k Key) Ranged() (alike, ordered []string) {
	for _, p := range k.Rest {
		columns := keygen.Columns(p)
		switch {
		case len(columns) == 0:
		case keepsOrder(p):
			ordered = append(ordered, columns...)
		case len(ordered) > 0:
			return alike, without(ordered, alike)
		default:
			alike = append(alike, columns...)
		}
	}
	return alike, without(ordered, alike)
}

// without returns the names of list that are not in other.
func without(list, other []string) []string {
	return slices.DeleteFunc(list, func(name string) bool { return slices.Contains(other, name) })
}

// latestFirst reports whether a part sorts greater values first.
func latestFirst(e keygen.Expr) bool {
	c, ok := e.(keygen.Call)
	return ok && (c.Func == "revtime" || c.Func == "revtimeraw")
}

// isNumber reports whether an argument is a column, or a column converted to a number.
func isNumber(e keygen.Expr) bool {
	if c, ok := e.(keygen.Call); ok {
		return (c.Func == "number" || c.Func == "millis") && len(c.Args) > 0 && isColumn(c.Args[0])
	}
	return isColumn(e)
}

func isColumn(e keygen.Expr) bool  { _, ok := e.(keygen.Column); return ok }
func isLiteral(e keygen.Expr) bool { _, ok := e.(keygen.Literal); return ok }

// sortsByTime reports whether dates in a layout sort by time: a four-digit year first, then ever smaller two-digit units. Offsets and words do not
// sort by time.
func sortsByTime(layout keygen.Expr) bool {
	l, ok := layout.(keygen.Literal)
	if !ok {
		return false
	}
	units := []string{"yyyy", "MM", "dd", "HH", "mm", "ss", "SSS"}
	at := 0
	for text := string(l.Bytes); text != ""; {
		if at < len(units) && strings.HasPrefix(text, units[at]) {
			text = text[len(units[at]):]
			at++
			continue
		}
		if c := text[0] | 0x20; c >= 'a' && c <= 'z' {
			return false
		}
		text = text[1:]
	}
	return at > 0
}
