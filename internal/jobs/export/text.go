package export

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"bulkload/internal/model/spec"
	"bulkload/pkg/source"
	"bulkload/pkg/source/dialect"
)

// text is how text is written so that its dialect reads it back.
type text struct {
	d        dialect.Dialect
	end      string // after a record
	ending   string // after its last value
	byName   bool   // job files name the dialect; else csv or dump, as they are by default
	utf8     bool   // values must be
	special  [256]bool
	unescape *dialect.Unescaper
	letters  [256]byte // after the escape, of a byte that has a letter
}

// newText chooses the dialect: the job's own where it is one of the format's
// kind, else CSV as PostgreSQL writes it, with NULL as well as an empty text, or a
// dump with \N for NULL.
func newText(format Format, job *spec.Job) (*text, error) {
	t := &text{utf8: format == CSV}
	var err error
	kind := ""
	if job != nil {
		kind = job.Format
	}
	var own *dialect.Dialect
	if job != nil && (kind == "" || kind == string(format)) {
		own = job.Text()
	}
	if own.Fixed() { // which nothing writes
		own, job = nil, nil
	}
	switch {
	case own != nil && (own.Name == dialect.Dump) == (format == Dump) && (format != Dump || own.Quote == ""):
		t.d, t.byName = *own, true
	case own == nil && job != nil && (kind == "" || kind == string(format)):
		t.d, err = plainText(format, job)
	case format == CSV:
		t.d, err = dialect.Preset(dialect.PostgresCSV)
		t.byName = true
	default:
		t.d, err = dialect.Preset(dialect.Dump)
		t.d.Null, t.byName = []string{`\N`}, true
	}
	if err != nil {
		return nil, err
	}
	return t, t.prepare()
}

// plainText is csv or a dump of a job that names no dialect.
func plainText(format Format, job *spec.Job) (dialect.Dialect, error) {
	d, err := dialect.Preset(string(format))
	if err != nil {
		return d, err
	}
	sep := func(p *string, given source.Sep) {
		if text, _ := given.MarshalText(); len(text) > 0 {
			*p, err = dialect.Parse(string(text))
		}
	}
	sep(&d.FieldSep, job.Separators().Field)
	if format == Dump && err == nil {
		sep(&d.RecordSep, job.Separators().Record)
	}
	if format == CSV {
		d.Header = dialect.Header(job.Header)
	}
	return d, err
}

// prepare refuses settings that make no readable text, and finds the bytes with a meaning.
func (t *text) prepare() error {
	d := &t.d
	switch {
	case d.Lenient:
		return errors.New("quotes: export cannot write lenient quotes, which are ambiguous: set quotes to strict")
	case d.Charset != "" && !strings.EqualFold(d.Charset, "utf-8"):
		return fmt.Errorf("charset: export writes UTF-8 only, and the job reads %s", d.Charset)
	case d.SkipLines > 0 || d.SkipEnd > 0:
		return errors.New("skip_lines, skip_end: export writes no such lines, and the job would skip records instead")
	}
	if err := d.Check(); err != nil {
		return err
	}
	t.utf8 = t.utf8 || d.Charset != ""
	t.end = d.RecordSep
	if t.end == "" {
		t.end = "\n"
		t.special['\r'], t.special['\n'] = true, true
	}
	t.special[d.FieldSep[0]], t.special[t.end[0]] = true, true
	t.ending = t.end
	if d.Last == dialect.LastSeparated {
		t.ending = d.FieldSep + t.end
	}
	if d.Quote != "" {
		t.special[d.Quote[0]] = true
	}
	t.special[sub] = t.special[sub] || d.Quote != "" || d.Escape != ""
	if d.Escape != "" {
		t.special[d.Escape[0]] = true
		t.unescape = d.Unescaper()
		for c := range 256 {
			if b, n := t.unescape.One([]byte{byte(c)}); n == 1 && b != byte(c) && t.letters[b] == 0 && (c < '0' || c > '9' || b == 0) {
				t.letters[b] = byte(c)
			}
		}
		t.special['\r'] = t.special['\r'] || t.letters['\r'] != 0
	}
	return nil
}

// sub is what DOS ends texts with. A reader takes it for no data at the end of a text, unless it is in quotes or escaped.
const sub = 0x1a

// hasNull says that the dialect writes NULL in a way of its own.
func (t *text) hasNull() bool { return len(t.d.Null) > 0 }

// header reports whether a file has one.
func (t *text) header(first bool) bool {
	switch t.d.Header {
	case dialect.HeaderNo:
		return false
	case dialect.HeaderFirst:
		return first
	}
	return true
}

// settings puts what a job file needs besides the format to read the text.
func (t *text) settings(m map[string]any) {
	d := &t.d
	m["header"] = string(d.Header)
	m["field_sep"] = dialect.Text(d.FieldSep)
	if d.RecordSep != "" {
		m["record_sep"] = dialect.Text(d.RecordSep)
	}
	if !t.byName {
		return
	}
	delete(m, "format")
	m["dialect"] = d.Name
	for field, value := range map[string]string{"quote": d.Quote, "escape": d.Escape} {
		m[field] = "none"
		if value != "" {
			m[field] = dialect.Text(value)
		}
	}
	m["null_value"] = []string{"none"}
	if len(d.Null) > 0 {
		m["null_value"] = d.Null
	}
	if d.Escape != "" {
		m["escape_map"] = string(d.Map)
	}
	if d.NullQuoted {
		m["null_quoted"] = "yes"
	}
	if d.Comment != "" {
		m["comment"] = d.Comment
	}
	if d.Trim != dialect.TrimNone {
		m["trim"] = string(d.Trim)
	}
	if d.Last != dialect.LastPlain {
		m["last_column"] = string(d.Last)
	}
}

// Faults of values that text cannot have.
var (
	errNotUTF8   = errors.New("the value is not UTF-8: write parquet or jsonl without the job file, which take any bytes")
	errSeparator = errors.New("the value has a separator, quote or escape, which the dialect cannot write: choose a dialect with quotes or escapes, or another format")
	errNull      = errors.New("the value reads as NULL: set another null_value, or choose a dialect with quotes")
	errNoNull    = errors.New("the value is missing, and the dialect has no NULL")
	errBlanks    = errors.New("the value has blanks at an end, which the job trims: set trim to no, or choose a dialect with quotes")
	errMark      = errors.New("the record would begin with a byte order mark, which readers drop at the start of a file: choose a dialect with quotes, or another format")
	errHeader    = errors.New("the record has the names of the columns as values, which readers take for a header: choose another format")
	errSub       = errors.New("the record ends with 0x1A, which readers take for the end of a text: choose a dialect with quotes or escapes, or another format")
	errComment   = errors.New("the record would begin like a comment: leave comment out, or choose a dialect with quotes")
)

// checkName says why a header cannot have a name.
func (t *text) checkName(name string, first bool, columns int) error {
	if !t.header(true) {
		return nil
	}
	_, err := t.append(nil, []byte(name), first, columns)
	return err
}

// append appends a value. first says that it is the record's first.
func (t *text) append(dst, v []byte, first bool, columns int) ([]byte, error) {
	if t.utf8 && !utf8.Valid(v) {
		return dst, errNotUTF8
	}
	if t.d.Quote != "" {
		if t.bare(v, first, columns) {
			return append(dst, v...), nil
		}
		return t.quoted(dst, v)
	}
	at := len(dst)
	dst, err := t.unquoted(dst, v)
	if err != nil {
		return dst, err
	}
	switch raw := dst[at:]; {
	case t.d.IsNull(raw, false):
		// An escape before the first byte makes it another text, unless it means something there.
		if len(v) == 0 || t.unescape == nil || t.special[v[0]] {
			return dst, errNull
		}
		if c, n := t.unescape.One(v); c != v[0] || n != 1 {
			return dst, errNull
		}
		dst = append(dst, 0)
		copy(dst[at+1:], dst[at:])
		dst[at] = t.d.Escape[0]
		if t.d.IsNull(dst[at:], false) {
			return dst, errNull
		}
	case first && t.comments(raw):
		return dst, errComment
	case first && bytes.HasPrefix(bytes.TrimLeft(raw, "\x1a"), bom):
		return dst, errMark
	case t.trimmed(v):
		return dst, errBlanks
	}
	return dst, nil
}

// bare says that a value needs no quotes.
func (t *text) bare(v []byte, first bool, columns int) bool {
	for _, c := range v {
		if t.special[c] {
			return false
		}
	}
	if len(v) == 0 && columns == 1 { // or there is nothing on the line
		return false
	}
	return !t.d.IsNull(v, false) && !(first && (t.comments(v) || bytes.HasPrefix(v, bom))) && !t.trimmed(v)
}

// bom is passed over at the beginning of a file.
var bom = []byte("\xef\xbb\xbf")

// comments says that a record that begins with a value could begin like a comment.
func (t *text) comments(v []byte) bool {
	c := t.d.Comment
	if c == "" || len(v) >= len(c) {
		return c != "" && string(v[:len(c)]) == c
	}
	rest, ok := strings.CutPrefix(c, string(v))
	return ok && strings.HasPrefix(t.d.FieldSep, rest[:min(len(rest), len(t.d.FieldSep))])
}

func (t *text) trimmed(v []byte) bool {
	blank := func(c byte) bool { return c == ' ' || c == '\t' }
	return t.d.Trim != dialect.TrimNone && len(v) > 0 && (blank(v[0]) || blank(v[len(v)-1]))
}

func (t *text) quoted(dst, v []byte) ([]byte, error) {
	if t.d.NullQuoted && t.d.IsNull(v, true) {
		return dst, errNull
	}
	quote := t.d.Quote[0]
	dst = append(dst, quote)
	for _, c := range v {
		switch {
		case t.d.Doubled && c == quote:
			dst = append(dst, quote)
		case t.unescape != nil && c == t.d.Escape[0], c == quote:
			if t.unescape == nil {
				return dst, errSeparator
			}
			if b, n := t.unescape.One([]byte{c}); b != c || n != 1 {
				return dst, errSeparator
			}
			dst = append(dst, t.d.Escape[0])
		}
		dst = append(dst, c)
	}
	return append(dst, quote), nil
}

// unquoted writes a value in a dialect without quotes.
func (t *text) unquoted(dst, v []byte) ([]byte, error) {
	if t.unescape == nil {
		at := len(dst)
		dst = append(dst, v...)
		return dst, t.separates(dst[at:])
	}
	for _, c := range v {
		if !t.special[c] {
			dst = append(dst, c)
			continue
		}
		dst = append(dst, t.d.Escape[0])
		if l := t.letters[c]; l != 0 {
			dst = append(dst, l)
			continue
		}
		if b, n := t.unescape.One([]byte{c}); b != c || n != 1 {
			return dst, errSeparator
		}
		dst = append(dst, c)
	}
	return dst, nil
}

// separates looks for a separator in a value, or across its end.
func (t *text) separates(v []byte) error {
	plain := true
	for _, c := range v {
		if t.special[c] {
			plain = false
			break
		}
	}
	if plain {
		return nil
	}
	if t.d.RecordSep == "" && bytes.ContainsAny(v, "\r\n") {
		return errSeparator
	}
	for _, sep := range []string{t.d.FieldSep, t.end} {
		if bytes.Contains(v, []byte(sep)) {
			return errSeparator
		}
		for _, next := range []string{t.d.FieldSep, t.end} {
			for n := 1; n < len(sep); n++ {
				if bytes.HasSuffix(v, []byte(sep[:n])) && strings.HasPrefix(next, sep[n:]) {
					return errSeparator
				}
			}
		}
	}
	return nil
}

// textEncoder writes records of text.
type textEncoder struct {
	buffer
	t     *text
	names []string // of the header; none: files have no header
}

func newTextEncoder(w io.Writer, t *text, columns []column, first bool, most int) (*textEncoder, error) {
	e := &textEncoder{buffer: newBuffer(w, most), t: t}
	if t.header(true) {
		for _, c := range columns {
			e.names = append(e.names, c.name)
		}
	}
	if !t.header(first) {
		return e, nil
	}
	var err error
	for i, c := range columns {
		if i > 0 {
			e.b = append(e.b, t.d.FieldSep...)
		}
		if e.b, err = t.append(e.b, []byte(c.name), i == 0, len(columns)); err != nil {
			return nil, fmt.Errorf("column %q: its name cannot be written: %w", c.name, err)
		}
	}
	e.b = append(e.b, t.ending...)
	return e, nil
}

func (e *textEncoder) row(r *row) (int, error) {
	var err error
	for i := range r.values {
		if i > 0 {
			e.b = append(e.b, e.t.d.FieldSep...)
		}
		if !r.values[i].IsNull() {
			if e.b, err = e.t.append(e.b, r.value(i), i == 0, len(r.values)); err != nil {
				return i, err
			}
			continue
		}
		if !e.t.hasNull() {
			return i, errNoNull
		}
		e.b = append(e.b, e.t.d.Null[0]...)
	}
	switch last := len(r.values) - 1; {
	case e.repeatsHeader(r):
		return 0, errHeader
	case len(e.b) > 0 && e.b[len(e.b)-1] == sub && !e.t.special[sub]:
		return last, errSub
	}
	e.b = append(e.b, e.t.ending...)
	return -1, e.full()
}

// repeatsHeader reports whether the values of r are the names of the columns of a file that has a header.
func (e *textEncoder) repeatsHeader(r *row) bool {
	if len(e.names) == 0 {
		return false
	}
	for i, name := range e.names {
		if r.values[i].IsNull() {
			return false
		}
		value := r.value(i)
		if i == 0 {
			value = bytes.TrimLeft(value, "\x1a")
		}
		if string(value) != name {
			return false
		}
	}
	return true
}

func (e *textEncoder) close() error { return e.flush() }
