package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

type batch struct {
	keys    [][]string // values of the query columns
	columns []string   // nil: all
	limit   int
}

// parseBatch parses {"keys":[{"column":"value",…},…],"columns":["…"],"limit":n}. Unknown or repeated members are
// errors, and so are values that are neither a string nor {"base64":"…"}.
func parseBatch(body []byte, columns []string, l Limits) (*batch, error) {
	if !utf8.Valid(body) {
		return nil, problem(badBody, "it is not UTF-8")
	}
	d := batchReader{body: body, decoder: json.NewDecoder(bytes.NewReader(body))}
	d.decoder.UseNumber()
	b := &batch{limit: l.DefaultRows}
	err := d.object(func(name string) error {
		switch name {
		case "keys":
			return d.array(func() error {
				if len(b.keys) == l.Keys {
					return fmt.Errorf("keys: there may be %d", l.Keys)
				}
				key, err := d.key(columns)
				if err != nil {
					return fmt.Errorf("keys[%d]: %w", len(b.keys), err)
				}
				b.keys = append(b.keys, key)
				return nil
			})
		case "columns":
			b.columns = []string{}
			return d.array(func() error {
				text, err := d.text()
				b.columns = append(b.columns, text)
				return err
			})
		case "limit":
			t, err := d.token()
			n, ok := t.(json.Number)
			if err == nil && !ok {
				err = errors.New("it is not a number")
			}
			if err != nil {
				return fmt.Errorf("limit: %w", err)
			}
			b.limit, err = l.limit(map[string]string{"limit": n.String()})
			return err
		}
		return fmt.Errorf("%w: those are keys, columns and limit", errMember)
	})
	if err == nil {
		if _, more := d.decoder.Token(); more != io.EOF {
			err = errors.New("something follows the object")
		}
	}
	switch {
	case asProblem(err) != nil:
		return nil, err
	case err != nil:
		return nil, problem(badBody, "%s (at byte %d)", err, d.decoder.InputOffset())
	case len(b.keys) == 0:
		return nil, problem(badBody, "keys: the list is empty")
	case b.columns != nil && len(b.columns) == 0:
		return nil, problem(badBody, "columns: the list is empty")
	}
	return b, nil
}

var errMember = errors.New("a member is not known")

// batchReader reads JSON strictly, token by token.
type batchReader struct {
	body    []byte
	decoder *json.Decoder
	raw     []byte // the last token, and what is before it, in the body
}

func (r *batchReader) token() (json.Token, error) {
	from := r.decoder.InputOffset()
	t, err := r.decoder.Token()
	r.raw = r.body[from:r.decoder.InputOffset()]
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		err = errors.New("the body is not valid JSON")
	}
	return t, err
}

// delim reads one of { } [ ].
func (r *batchReader) delim(want json.Delim) error {
	t, err := r.token()
	if d, ok := t.(json.Delim); err == nil && (!ok || d != want) {
		err = fmt.Errorf("%s is wanted", want)
	}
	return err
}

// object calls fn for each member. A repeated name is an error.
func (r *batchReader) object(fn func(name string) error) error {
	if err := r.delim('{'); err != nil {
		return err
	}
	seen := map[string]bool{}
	for r.decoder.More() {
		name, err := r.text()
		if err != nil {
			return err
		}
		if seen[name] {
			return errors.New("a member is given twice")
		}
		seen[name] = true
		if err := fn(name); err != nil {
			return err
		}
	}
	return r.delim('}')
}

func (r *batchReader) array(fn func() error) error {
	if err := r.delim('['); err != nil {
		return err
	}
	for r.decoder.More() {
		if err := fn(); err != nil {
			return err
		}
	}
	return r.delim(']')
}

func (r *batchReader) text() (string, error) {
	t, err := r.token()
	if err != nil {
		return "", err
	}
	s, ok := t.(string)
	if !ok {
		return "", errors.New("a string is wanted")
	}
	return r.whole(s)
}

// whole refuses a string with half of a pair of \u escapes, which the decoder replaces by U+FFFD.
func (r *batchReader) whole(s string) (string, error) {
	for text := r.raw; ; {
		at := bytes.IndexByte(text, '\\')
		if at < 0 {
			return s, nil
		}
		unit, size := escaped(text[at:])
		if text = text[at+size:]; !utf16.IsSurrogate(unit) {
			continue
		}
		second, size := escaped(text)
		if utf16.DecodeRune(unit, second) == utf8.RuneError {
			return "", errors.New("an escape is not a character")
		}
		text = text[size:]
	}
}

// escaped returns the number of a \u escape at the beginning of a text, 0 if there is none, and the size of the escape.
func escaped(text []byte) (rune, int) {
	if !bytes.HasPrefix(text, []byte(`\u`)) || len(text) < 6 {
		return 0, min(2, len(text))
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return 0, 2 // the decoder has accepted the text
	}
	return rune(n), 6
}

func (r *batchReader) key(columns []string) ([]string, error) {
	values, given := make([]string, len(columns)), 0
	err := r.object(func(name string) (err error) {
		i := slices.Index(columns, name)
		if i < 0 {
			return fmt.Errorf("%w: those are %s", errMember, strings.Join(columns, ", "))
		}
		given++
		values[i], err = r.value()
		return err
	})
	if err == nil && given < len(columns) {
		err = fmt.Errorf("a key has the members %s", strings.Join(columns, ", "))
	}
	return values, err
}

// value reads a string or {"base64":"…"}.
func (r *batchReader) value() (string, error) {
	t, err := r.token()
	if err != nil {
		return "", err
	}
	if s, ok := t.(string); ok {
		return r.whole(s)
	}
	if d, ok := t.(json.Delim); !ok || d != '{' {
		return "", errors.New(`a value is a string or {"base64":"…"}`)
	}
	name, err := r.text()
	if err != nil || name != "base64" {
		return "", errors.New(`a value is a string or {"base64":"…"}`)
	}
	text, err := r.text()
	if err != nil {
		return "", err
	}
	b, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return "", errors.New("it is not base64")
	}
	return string(b), r.delim('}')
}

// postBatch responds with the rows of several query keys, in the order of the request. The result of each key is its
// rows or its own problem. An error that affects all keys fails the request.
func (s *Server) postBatch(w http.ResponseWriter, r *http.Request, res *resource) error {
	if _, err := parameters(r); err != nil {
		return err
	}
	media, given, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset, encoding := cmp.Or(given["charset"], "utf-8"), cmp.Or(r.Header.Get("Content-Encoding"), "identity")
	switch {
	case err != nil || media != jsonType:
		return problem(badMedia, "Content-Type must be %s", jsonType)
	case !strings.EqualFold(charset, "utf-8"):
		return problem(badMedia, "the charset must be utf-8")
	case !strings.EqualFold(encoding, "identity"):
		return problem(badMedia, "a Content-Encoding is not supported: send the body as it is")
	}
	body, free, err := s.body(w, r)
	if err != nil {
		return err
	}
	defer free()
	b, err := parseBatch(body, res.columns, s.limits)
	if err != nil {
		return err
	}
	shape, err := res.shapeOf(b.columns)
	if err != nil {
		return err
	}
	note(r).keys = b.keys
	return s.reading(w, r, res, jsonType, func(ctx context.Context, a *answer) error {
		a.b = append(a.b, `{"results":[`...)
		p := &batchReading{server: s, res: res, batch: b, shape: shape}
		if err := p.run(ctx, a, note(r).caller); err != nil {
			return err
		}
		a.b = append(a.b, "]}\n"...)
		return nil
	})
}

// formBody is body for a request that a form sends.
func (s *Server) formBody(w http.ResponseWriter, r *http.Request) ([]byte, func(), error) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/x-www-form-urlencoded" {
		return nil, nil, problem(badMedia, "the form sends application/x-www-form-urlencoded")
	}
	return s.body(w, r)
}

// bodyMemory returns the memory that a request with a body of n bytes takes, with the parsed form.
func bodyMemory(n int64) int64 { return 2*n + 1<<10 }

// body reads a request's body, up to its limit. The memory for it stays reserved until free is called.
func (s *Server) body(w http.ResponseWriter, r *http.Request) (body []byte, free func(), err error) {
	if r.ContentLength > s.limits.Body {
		return nil, nil, problem(tooLarge, "the body may have %d bytes", s.limits.Body)
	}
	size := r.ContentLength
	if size < 0 {
		size = s.limits.Body
	}
	size = bodyMemory(size)
	memory := s.answers.memory.of(note(r).caller)
	if !memory.take(size) {
		return nil, nil, noMemory()
	}
	free = func() { memory.give(size) }
	body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, s.limits.Body))
	if err != nil {
		free()
		if _, ok := err.(*http.MaxBytesError); ok {
			return nil, nil, problem(tooLarge, "the body may have %d bytes", s.limits.Body)
		}
		return nil, nil, problem(badBody, "it ended before its time")
	}
	return body, free, nil
}
