package expression

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"unicode/utf8"

	"bulkload/internal/formats/jsonlines"
	"bulkload/pkg/keygen"
)

// maxText limits the text that a function returns: more than HBase's clients accept as a cell.
const maxText = 16 << 20

var errLong = errors.New("a value becomes longer than 16 MiB")

// call compiles a function that keys do not have.
func (c *compiler) call(e keygen.Call) (node, error) {
	if n, err := c.numeric(e); n != nil || err != nil {
		return n, err
	}
	kind := keygen.KindText
	constants := 0 // number of constant arguments at the end
	n := &textNode{column: only(e)}
	switch e.Func {
	case "coalesce":
		args, err := c.all(e.Args, keygen.KindOf(e))
		return coalesce(args), err
	case "nullif":
		equal, err := c.compare(keygen.Operation{Name: "=", Args: e.Args}, "=")
		if err != nil {
			return nil, err
		}
		of, err := c.node(e.Args[0])
		return &nullIf{of: of, equal: equal}, err
	case "concat":
		n.fn, n.skip = joined, true
	case "replace":
		n.fn = replace
	case "substr":
		from, _ := keygen.WholeNumber(e.Args[1])
		count := -1
		if constants = 1; len(e.Args) > 2 {
			constants = 2
			count, _ = keygen.WholeNumber(e.Args[2])
		}
		n.fn = func(dst []byte, args [][]byte) ([]byte, error) {
			return append(dst, substr(args[0], from, count)...), nil
		}
	case "lpad", "rpad":
		constants = 2
		width, _ := keygen.WholeNumber(e.Args[1])
		n.fn = padding(width, e.Args[2].(keygen.Literal).Bytes, e.Func == "lpad")
	case "ltrim":
		n.fn = func(dst []byte, args [][]byte) ([]byte, error) {
			return append(dst, bytes.TrimLeftFunc(args[0], blank)...), nil
		}
	case "rtrim":
		n.fn = func(dst []byte, args [][]byte) ([]byte, error) {
			return append(dst, bytes.TrimRightFunc(args[0], blank)...), nil
		}
	case "salted":
		n.fn = masking(c.salt)
	case "json":
		constants = 1
		path, err := jsonlines.ParsePlace(string(e.Args[1].(keygen.Literal).Bytes))
		if err != nil {
			return nil, fmt.Errorf("%.40s: %w", e, err)
		}
		in, err := c.as(e.Args[0], keygen.KindText)
		return &jsonNode{in: in, path: path, column: only(e)}, err
	default:
		return nil, fmt.Errorf("unknown function %q", e.Func)
	}
	var err error
	n.args, err = c.all(e.Args[:len(e.Args)-constants], kind)
	return n, err
}

// textNode computes a text from texts. It is NULL if one of them is NULL.
type textNode struct {
	args   []node
	skip   bool // skip NULLs instead
	column string
	fn     func(dst []byte, args [][]byte) ([]byte, error)
	texts  [][]byte
	buf    []byte
}

func (n *textNode) value(fields [][]byte) (value, error) {
	n.texts = n.texts[:0]
	for _, a := range n.args {
		v, err := a.value(fields)
		if err != nil {
			return v, err
		}
		if !v.null {
			n.texts = append(n.texts, v.text)
		} else if !n.skip {
			return v, nil
		}
	}
	var err error
	if n.buf, err = n.fn(n.buf[:0], n.texts); err != nil {
		return value{}, &keygen.FieldError{Column: n.column, Err: err}
	}
	return value{text: n.buf}, nil
}

func joined(dst []byte, args [][]byte) ([]byte, error) {
	for _, a := range args {
		if dst = append(dst, a...); len(dst) > maxText {
			return dst, errLong
		}
	}
	return dst, nil
}

func replace(dst []byte, args [][]byte) ([]byte, error) {
	text, from, to := args[0], args[1], args[2]
	for len(from) > 0 {
		i := bytes.Index(text, from)
		if i < 0 {
			break
		}
		dst = append(append(dst, text[:i]...), to...)
		text = text[i+len(from):]
		if len(dst) > maxText {
			return dst, errLong
		}
	}
	return append(dst, text...), nil
}

// blank reports whether the key function trim removes a character: the space and the characters below it.
func blank(r rune) bool { return r <= ' ' }

// substr returns up to count characters from a position on; a negative count returns all. A negative position counts from the end.
func substr(text []byte, from, count int) []byte {
	if from < 0 {
		from = max(0, utf8.RuneCount(text)+from)
	}
	text = text[runes(text, from):]
	if count < 0 {
		return text
	}
	return text[:runes(text, count)]
}

// runes returns the number of bytes of the first n characters, or of all if there are fewer.
func runes(text []byte, n int) (at int) {
	for ; n > 0 && at < len(text); n-- {
		_, size := utf8.DecodeRune(text[at:])
		at += size
	}
	return at
}

func padding(width int, fill []byte, before bool) func(dst []byte, args [][]byte) ([]byte, error) {
	return func(dst []byte, args [][]byte) ([]byte, error) {
		text := args[0]
		missing := width - utf8.RuneCount(text)
		if missing <= 0 {
			return append(dst, text[:runes(text, width)]...), nil
		}
		if !before {
			dst = append(dst, text...)
		}
		for at := 0; missing > 0; missing-- {
			n := runes(fill[at:], 1)
			dst = append(dst, fill[at:at+n]...)
			at = (at + n) % len(fill)
		}
		if before {
			dst = append(dst, text...)
		}
		return dst, nil
	}
}

// masking returns a function for the HMAC-SHA-256 of a text, in hexadecimal digits.
func masking(salt []byte) func(dst []byte, args [][]byte) ([]byte, error) {
	mac := hmac.New(sha256.New, salt)
	var sum []byte
	return func(dst []byte, args [][]byte) ([]byte, error) {
		if len(salt) == 0 {
			return dst, errors.New("there is no secret for salted(x)")
		}
		mac.Reset()
		mac.Write(args[0])
		sum = mac.Sum(sum[:0])
		return hex.AppendEncode(dst, sum), nil
	}
}

// coalesce returns the first value that is not NULL.
type coalesce []node

func (n coalesce) value(fields [][]byte) (value, error) {
	for _, a := range n {
		if v, err := a.value(fields); err != nil || !v.null {
			return v, err
		}
	}
	return value{null: true}, nil
}

// nullIf returns NULL if two values are equal, and else the first.
type nullIf struct{ of, equal node }

func (n *nullIf) value(fields [][]byte) (value, error) {
	same, err := n.equal.value(fields)
	if err != nil {
		return same, err
	}
	if same.truth && !same.null {
		return value{null: true}, nil
	}
	return n.of.value(fields)
}

// jsonNode returns a value within a JSON text.
type jsonNode struct {
	in     node
	path   jsonlines.Place
	column string
	buf    []byte
}

func (n *jsonNode) value(fields [][]byte) (value, error) {
	v, err := n.in.value(fields)
	if err != nil || v.null {
		return v, err
	}
	out, null, err := n.path.Append(n.buf[:0], v.text)
	if n.buf = out; err != nil {
		return value{}, &keygen.FieldError{Column: n.column, Err: err}
	}
	return value{text: out, null: null}, nil
}
