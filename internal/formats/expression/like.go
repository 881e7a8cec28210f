package expression

import (
	"bytes"
	"unicode/utf8"
)

// pattern is a condition that a text is like a pattern, or matches a regular expression.
type pattern struct {
	in    node
	match func(text []byte) bool
}

func (n *pattern) value(fields [][]byte) (value, error) {
	v, err := n.in.value(fields)
	if err != nil || v.null {
		return v, err
	}
	return value{truth: n.match(v.text)}, nil
}

// like is a pattern of SQL: % matches any text, _ one character, and a backslash before one of these three makes it a plain character.
type like struct {
	steps []likeStep
}

// likeStep matches a text, one character, or any text.
type likeStep struct {
	text []byte // nil: one character or any text
	any  bool
}

func newLike(pattern []byte) *like {
	l := &like{}
	literal := func(c byte) {
		if n := len(l.steps); n > 0 && l.steps[n-1].text != nil {
			l.steps[n-1].text = append(l.steps[n-1].text, c)
		} else {
			l.steps = append(l.steps, likeStep{text: []byte{c}})
		}
	}
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\' && i+1 < len(pattern) && bytes.IndexByte([]byte(`%_\`), pattern[i+1]) >= 0:
			i++
			literal(pattern[i])
		case c == '%':
			if n := len(l.steps); n == 0 || !l.steps[n-1].any {
				l.steps = append(l.steps, likeStep{any: true})
			}
		case c == '_':
			l.steps = append(l.steps, likeStep{})
		default:
			literal(c)
		}
	}
	return l
}

// match backtracks only to the last %, which then takes one more character. What an earlier % took need not be changed.
func (l *like) match(text []byte) bool {
	step, from := 0, -1 // the step after the last %, -1 for none yet
	var rest []byte     // the text from which that step was last tried
	for {
		ok := false
		switch {
		case step == len(l.steps):
			ok = len(text) == 0
			if ok {
				return true
			}
		case l.steps[step].any:
			step++
			from, rest = step, text
			if step == len(l.steps) {
				return true
			}
			continue
		case l.steps[step].text != nil:
			if ok = bytes.HasPrefix(text, l.steps[step].text); ok {
				text = text[len(l.steps[step].text):]
			}
		case len(text) > 0:
			ok = true
			_, n := utf8.DecodeRune(text)
			text = text[n:]
		}
		if ok {
			step++
			continue
		}
		if from < 0 || len(rest) == 0 {
			return false
		}
		_, n := utf8.DecodeRune(rest)
		rest = rest[n:]
		step, text = from, rest
	}
}
