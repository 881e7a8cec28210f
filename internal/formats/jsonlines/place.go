package jsonlines

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrNoJSON means that a text is not JSON, so that no value can be found in it.
var ErrNoJSON = errors.New("the text is not JSON")

// Place is the path of a value in a JSON text: names and, in arrays, indexes from 0.
type Place []step

type step struct {
	name  []byte
	index int // in an array, if name is nil
}

// ParsePlace parses a place, such as $.a.b[0] or $["a name"].
func ParsePlace(text string) (Place, error) {
	bad := fmt.Errorf("%.40q is not a place in JSON such as $.a.b[0] or $[\"a name\"]", text)
	rest, ok := strings.CutPrefix(text, "$")
	if !ok {
		return nil, bad
	}
	p := Place{}
	for rest != "" {
		switch {
		case rest[0] == '.':
			end := strings.IndexAny(rest[1:], ".[") + 1
			end = cmp.Or(end, len(rest))
			if end == 1 {
				return nil, bad
			}
			p, rest = append(p, step{name: []byte(rest[1:end])}), rest[end:]
		case strings.HasPrefix(rest, `["`) || strings.HasPrefix(rest, `['`):
			end := strings.Index(rest[2:], rest[1:2]+"]")
			if end < 0 {
				return nil, bad
			}
			p, rest = append(p, step{name: []byte(rest[2 : 2+end])}), rest[end+4:]
		case rest[0] == '[':
			number, after, ok := strings.Cut(rest[1:], "]")
			n, err := strconv.Atoi(number)
			if !ok || err != nil || n < 0 {
				return nil, bad
			}
			p, rest = append(p, step{index: n}), after
		default:
			return nil, bad
		}
	}
	return p, nil
}

// Append appends the value at the place: the text of a string, a number or a word as written, the JSON text of an object or an array. null is
// true for a null and for a missing value. If an object has a name twice, the first one counts. Append checks the whole text.
func (p Place) Append(dst, text []byte) (out []byte, null bool, err error) {
	begin := skipBlanks(text, 0)
	end, _, f := scanValue(text, begin, 0)
	if f != 0 || !Blank(text[end:]) {
		return dst, false, ErrNoJSON
	}
	at := begin
	for i := range p {
		if at = p[i].find(dst, text, at); at < 0 {
			return dst, true, nil
		}
	}
	end, _, _ = scanValue(text, at, 0)
	switch text[at] {
	case '"':
		return appendUnescaped(dst, text[at+1:end-1]), false, nil
	case 'n':
		return dst, true, nil
	}
	return append(dst, text[at:end]...), false, nil
}

// find returns the position of the value that the step leads to from the value at a position, -1 if there is none. The text has no faults.
// Names are unescaped into the spare capacity of tmp.
func (s *step) find(tmp, text []byte, at int) int {
	open := byte('[')
	if s.name != nil {
		open = '{'
	}
	if text[at] != open {
		return -1
	}
	at = skipBlanks(text, at+1)
	for n := 0; text[at] != '}' && text[at] != ']'; n++ {
		found := s.name == nil && n == s.index
		if s.name != nil {
			end, escaped, _ := scanString(text, at+1)
			name := text[at+1 : end-1]
			if escaped {
				name = appendUnescaped(tmp, name)[len(tmp):]
			}
			found = string(name) == string(s.name)
			at = skipBlanks(text, skipBlanks(text, end)+1) // over the colon
		}
		if found {
			return at
		}
		at, _, _ = scanValue(text, at, 0)
		if at = skipBlanks(text, at); text[at] == ',' {
			at = skipBlanks(text, at+1)
		}
	}
	return -1
}
