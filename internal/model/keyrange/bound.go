package keyrange

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"bulkload/internal/model/fail"
	"bulkload/pkg/keygen"
	"bulkload/pkg/setting"
)

// bound returns the bytes of a bound of the original key, nil if values is empty, and the number of parts that they are made of. If partial is not empty, the value of that column may be incomplete.
func (k Key) bound(what setting.Name, modulus int, values, fixed map[string]string, partial string) ([]byte, int, error) {
	if len(values) == 0 {
		return nil, 0, nil
	}
	var parts []keygen.Expr
	used := map[string]string{}
	var cut keygen.Expr  // a part that has only some of the incomplete value
	var last keygen.Expr // the last part that is not fixed and has a column
	for _, p := range k.Rest {
		columns := keygen.Columns(p)
		if !MadeOf(p, values) {
			for _, c := range columns {
				if _, ok := values[c]; ok && !has(used, c) {
					return nil, 0, fail.Errorf(fail.Config, "%s: %s of the key %s needs %q, not %s alone", what, p, k.Spec, columns, c)
				}
			}
			break
		}
		if !MadeOf(p, fixed) && !keepsOrder(p) {
			if MadeOf(p, used) {
				break // the preceding parts already bound these values
			}
			return nil, 0, k.noRange(p)
		}
		if partial == "" && len(columns) > 0 && !MadeOf(p, fixed) {
			more := last != nil && keygen.Columns(last)[0] != columns[0]
			if err := k.checkExact(what, last, values, more); err != nil && (more || !errors.Is(err, keygen.ErrCut)) {
				return nil, 0, err
			}
			last = p
		}
		parts = append(parts, p)
		for _, c := range columns {
			used[c] = values[c]
		}
		if slices.Contains(columns, partial) {
			begin, all := beginning(p, values[partial])
			if begin == nil {
				return nil, 0, k.noPrefix(p)
			}
			parts[len(parts)-1], cut = begin, nil
			if all {
				break
			}
			cut = p
		}
	}
	for c := range values {
		if !has(used, c) {
			return nil, 0, fail.Errorf(fail.Config, "%s: the column %s of the key %s follows %s, for which no value is given", what, c, k.Spec, k.Rest[len(parts)])
		}
	}
	if cut != nil {
		return nil, 0, k.noPrefix(cut)
	}
	if err := k.checkExact(what, last, values, false); err != nil {
		return nil, 0, err
	}
	// Constant bytes after the last value would exclude longer values that begin with
	// it and whose next byte is less.
	for len(parts) > 0 && len(keygen.Columns(parts[len(parts)-1])) == 0 {
		parts = parts[:len(parts)-1]
	}
	b, err := Bytes(parts, modulus, values)
	if err != nil {
		return nil, 0, fail.Errorf(fail.Config, "%s: %w", what, err)
	}
	return b, len(parts), nil
}

// checkExact refuses a bound that is not exact, see [keygen.CheckBound]. p is the part of the key with the value; if it is nil, there is nothing to check.
// more means that values of other columns follow.
func (k Key) checkExact(what setting.Name, p keygen.Expr, values map[string]string, more bool) error {
	if p == nil {
		return nil
	}
	column := keygen.Columns(p)[0]
	err := keygen.CheckBound(p, []byte(values[column]), more)
	hint := setting.Textf("give a value that it keeps completely")
	switch {
	case err == nil:
		return nil
	case errors.Is(err, keygen.ErrClock):
		hint = setting.Textf("give a time before or after it")
	case errors.Is(err, keygen.ErrNegative):
		hint = k.Else
	case more:
		hint = setting.Textf("give values only up to %s, and one that it keeps completely", column)
	}
	return &NoRangeError{fail.Errorf(fail.Config, "%s: key %s: the bound is not exact, because %s %w: %s", what, k.Spec, p, err, hint)}
}

// beginning returns a part whose bytes, made of the given value, are a prefix of the bytes of p for every value that begins with the given one; nil if
// there is none. all reports whether that part has the complete given value.
func beginning(p keygen.Expr, value string) (_ keygen.Expr, all bool) {
	c, ok := p.(keygen.Call)
	switch {
	case !ok || c.Func == "hex" || keygen.WholeDate(p, []byte(value)):
		return p, true
	case c.Func != "substr": // here a substr always starts at the first character, see keepsOrder
		return nil, false
	case len(c.Ints) == 1 || utf8.RuneCountInString(value) <= c.Ints[1]:
		return c.Args[0], true
	}
	return p, false
}

// NoRangeError reports that the rows of a range of values are spread over the
// table.
type NoRangeError struct{ Err error }

func (e *NoRangeError) Error() string { return e.Err.Error() }
func (e *NoRangeError) Unwrap() error { return e.Err }

// noRange explains why a range of values is not a range of keys.
func (k Key) noRange(p keygen.Expr) error {
	columns := keygen.Columns(p)
	return &NoRangeError{fail.Errorf(fail.Config, "key %s: a range of %s is not a range of row keys, because %s does not keep the order: %s", k.Spec, strings.Join(columns, ", "), p, k.Else)}
}

// noPrefix explains why a prefix of a value is not a prefix of keys.
func (k Key) noPrefix(p keygen.Expr) error {
	columns := keygen.Columns(p)
	return &NoRangeError{fail.Errorf(fail.Config, "key %s: a prefix of %s is not a prefix of row keys, because %s is made of the complete value: give complete values with %s and %s", k.Spec, strings.Join(columns, ", "), p, k.From, k.To)}
}

var errEscape = errors.New(`unknown escape: want \\, \, or \xNN`)

// ParseValues parses the comma-separated values of a bound or a prefix, with the escapes \xNN, \\ and \,. An empty text is one empty value. The error
// reports the position, without the value.
func ParseValues(s string) ([]string, error) {
	var values []string
	cur := []byte{}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == ',':
			values = append(values, string(cur))
			cur = cur[:0]
		case c != '\\':
			cur = append(cur, c)
		case i+1 < len(s) && (s[i+1] == '\\' || s[i+1] == ','):
			i++
			cur = append(cur, s[i])
		default:
			b, err := hex.DecodeString(s[min(i+2, len(s)):min(i+4, len(s))])
			if err != nil || len(b) != 1 || s[i+1] != 'x' {
				return nil, fmt.Errorf("position %d: %w", i+1, errEscape)
			}
			cur = append(cur, b[0])
			i += 3
		}
	}
	return append(values, string(cur)), nil
}

// FormatValues returns the text of UTF-8 from which [ParseValues] reads the values.
func FormatValues(values []string) string {
	var text []byte
	for i, v := range values {
		if i > 0 {
			text = append(text, ',')
		}
		for len(v) > 0 {
			r, n := utf8.DecodeRuneInString(v)
			switch {
			case r == utf8.RuneError && n == 1:
				text = fmt.Appendf(text, `\x%02X`, v[0])
			case r == ',' || r == '\\':
				text = append(text, '\\', v[0])
			default:
				text = append(text, v[:n]...)
			}
			v = v[n:]
		}
	}
	return string(text)
}
