package keygen

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A layout is the form of a date, in the letters of Java's DateTimeFormatter. Two names stand for numbers: unix and unixms.
type layout struct {
	text   string
	unit   int64 // milliseconds of one unit of a number, 0 for a date
	fields []layoutField
}

// layoutField is one piece of a layout.
type layoutField struct {
	kind byte // y M d H m s S X, or f for an optional fraction, or 0 for a literal byte
	n    int  // digits; 1 for one or two of them
	lit  byte // the literal byte, or the first byte of an optional fraction
}

// parseLayout parses a layout. It rejects letters without a meaning, so that a layout of another language is not mistaken for literal text.
func parseLayout(s string) (*layout, error) {
	l := &layout{text: s}
	switch s {
	case "unix":
		l.unit = 1000
		return l, nil
	case "unixms":
		l.unit = 1
		return l, nil
	}
	for i := 0; i < len(s); {
		var f layoutField
		n := 1
		switch c := s[i]; {
		case c == '\'':
			end := strings.IndexByte(s[i+1:], '\'')
			if end < 0 {
				return nil, fmt.Errorf("the layout %q has a quote that is not closed", s)
			}
			text := s[i+1 : i+1+end]
			if end == 0 {
				text = "'"
			}
			for _, b := range []byte(text) {
				l.fields = append(l.fields, layoutField{lit: b})
			}
			i += end + 2
			continue
		case c == '[':
			end := strings.IndexByte(s[i:], ']')
			if end < 3 || strings.Trim(s[i+2:i+end], "S") != "" || isLetter(s[i+1]) {
				return nil, fmt.Errorf("the layout %q has brackets around something else than a fraction, such as [.SSS]", s)
			}
			f, n = layoutField{kind: 'f', n: 9, lit: s[i+1]}, end+1
		case isLetter(c) && c < 0x80:
			for i+n < len(s) && s[i+n] == c {
				n++
			}
			f = layoutField{kind: c, n: n}
			if err := f.check(s); err != nil {
				return nil, err
			}
		case isDigit(c):
			return nil, fmt.Errorf("the layout %q has a digit: write it in letters, such as yyyy-MM-dd HH:mm:ss, or unix, or unixms", s)
		default:
			f = layoutField{lit: c}
		}
		l.fields = append(l.fields, f)
		i += n
	}
	return l, l.check()
}

func (f layoutField) check(layout string) error {
	ok := false
	switch f.kind {
	case 'y':
		ok = f.n == 4
	case 'M', 'd', 'H', 'm', 's':
		ok = f.n <= 2
	case 'S':
		ok = f.n <= 9
	case 'X':
		ok = f.n <= 3
	}
	if !ok {
		return fmt.Errorf("the layout %q has %q, which is not one of yyyy MM dd HH mm ss SSS XXX; letters that stand for themselves go in single quotes", layout, strings.Repeat(string(f.kind), f.n))
	}
	return nil
}

func (l *layout) check() error {
	var seen [256]bool
	for _, f := range l.fields {
		k := f.kind
		if k == 'f' {
			k = 'S'
		}
		if k != 0 && seen[k] {
			return fmt.Errorf("the layout %q has %c twice", l.text, k)
		}
		seen[k] = true
	}
	if !seen['y'] {
		return fmt.Errorf("the layout %q has no year, yyyy", l.text)
	}
	if seen['d'] && !seen['M'] {
		return fmt.Errorf("the layout %q has days but no month, MM", l.text)
	}
	return nil
}

// checkOutput checks that dates can be written in the layout.
func (l *layout) checkOutput() error {
	for _, f := range l.fields {
		if f.kind == 'f' {
			return errors.New("a fraction that may be missing can only be read; write .SSS")
		}
	}
	return nil
}

// offset reports whether the layout contains a UTC offset.
func (l *layout) offset() bool {
	return slices.ContainsFunc(l.fields, func(f layoutField) bool { return f.kind == 'X' })
}

// width returns the least and the greatest length of a written date, in
// bytes.
func (l *layout) width() (least, most int) {
	if l.unit > 0 {
		return 1, 20
	}
	for _, f := range l.fields {
		a, b := f.n, f.n
		switch f.kind {
		case 0:
			a, b = 1, 1
		case 'f':
			a, b = 0, 10
		case 'X':
			a, b = 1, [4]int{0, 5, 5, 6}[f.n]
		case 'S', 'y':
		default:
			b = 2
		}
		least, most = least+a, most+b
	}
	return least, most
}

// symbols returns the bytes that the layout writes.
func (l *layout) symbols() Alphabet {
	a := decimalDigits()
	if l.unit > 0 {
		a.add('-')
	}
	for _, f := range l.fields {
		switch f.kind {
		case 0:
			a.add(f.lit)
		case 'X':
			a = a.union(setOf("+-:Z"))
		}
	}
	return a
}
