package job

import (
	"fmt"

	"bulkload/pkg/keygen"
)

// maxSalts is how many values the salts of a key may have for a scan, which
// reads the rows of each by themselves.
const maxSalts = 100_000

// saltedKey is a key spec as a reader of ranges sees it: first what spreads
// the rows, then the original key.
type saltedKey struct {
	spec keygen.Expr
	head []keygen.Expr // up to the last of the salts at the front; empty for a key without a salt
	rest []keygen.Expr // the original key
}

// splitSalt parts a key behind its leading salts. Constant bytes before and
// between them belong to the head.
func splitSalt(key keygen.Expr) saltedKey {
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
	return saltedKey{spec: key, head: parts[:n], rest: parts[n:]}
}

// isSalt says whether a part has few values that can be told without a row.
func isSalt(c keygen.Call) bool { return c.Func == "salt" }

// saltValues are all values of a salt, in order.
func saltValues(c keygen.Call, modulus int) [][]byte {
	if len(c.Ints) > 0 {
		modulus = c.Ints[0]
	}
	width := len(fmt.Sprint(modulus - 1))
	values := make([][]byte, modulus)
	for i := range values {
		values[i] = fmt.Appendf(nil, "%0*d", width, i)
	}
	return values
}

// saltModulus is the number of a salt's values.
func saltModulus(c keygen.Call, modulus int) int {
	if len(c.Ints) > 0 {
		return c.Ints[0]
	}
	return modulus
}

// heads are all values of the key's head, in order: one empty one for a key
// without a salt.
func (k saltedKey) heads(modulus int) ([][]byte, error) {
	n := 1
	for _, p := range k.head {
		if c, ok := p.(keygen.Call); ok {
			m := saltModulus(c, modulus)
			if m < 1 || m > maxSalts || n*m > maxSalts {
				return nil, failf(KindConfig, "key %s: its salts have more than %d values, too many to read the rows of each by themselves", k.spec, maxSalts)
			}
			n *= m
		}
	}
	heads := [][]byte{{}}
	for _, p := range k.head {
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

// keepsOrder says whether a part's bytes are in the order of its column's
// values, so that a range of values is a range of keys.
func keepsOrder(e keygen.Expr) bool {
	switch e.(type) {
	case keygen.Column, keygen.Literal:
		return true
	}
	return false
}
