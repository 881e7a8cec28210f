package export

import (
	"errors"
	"fmt"
	"strings"

	"bulkload/internal/model/spec"
	"bulkload/pkg/source"
	"bulkload/pkg/source/dialect"
)

// text is the configuration for writing text that its dialect reads back.
type text struct {
	dialect  dialect.Dialect
	end      string // record separator
	ending   string // written after a record's last value
	byName   bool   // a job file must name the dialect; otherwise the format csv or dump suffices
	utf8     bool   // values must be UTF-8
	special  [256]bool
	unescape *dialect.Unescaper
	letters  [256]byte // escape letter of a byte, 0 if it has none
}

// newText chooses the dialect. It is the job's own if that fits the format. Otherwise it
// is CSV as PostgreSQL writes it, which distinguishes NULL from an empty text, or a dump
// with \N for NULL.
func newText(format Format, job *spec.Job) (_ *text, err error) {
	t := &text{utf8: format == CSV}
	kind := ""
	if job != nil {
		kind = job.Format
	}
	var own *dialect.Dialect
	if job != nil && (kind == "" || kind == string(format)) {
		own = job.Text()
	}
	if own.Fixed() { // fixed columns are not supported
		own, job = nil, nil
	}
	switch {
	case own != nil && (own.Name == dialect.Dump) == (format == Dump) && (format != Dump || own.Quote == ""):
		t.dialect, t.byName = *own, true
	case own == nil && job != nil && (kind == "" || kind == string(format)):
		t.dialect, err = plainText(format, job)
	case format == CSV:
		t.dialect, err = dialect.Preset(dialect.PostgresCSV)
		t.byName = true
	default:
		t.dialect, err = dialect.Preset(dialect.Dump)
		t.dialect.Null, t.byName = []string{`\N`}, true
	}
	if err != nil {
		return nil, err
	}
	return t, t.prepare()
}

// plainText returns the dialect of csv or a dump for a job without a configured dialect.
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

// prepare refuses settings that cannot be read back, and finds the special bytes.
func (t *text) prepare() error {
	d := &t.dialect
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

// sub is the DOS end-of-text character. Readers drop it at the end of a text, unless it is quoted or escaped.
const sub = 0x1a

// hasNull reports whether the dialect has a text for NULL.
func (t *text) hasNull() bool { return len(t.dialect.Null) > 0 }

// header reports whether a file has a header.
func (t *text) header(first bool) bool {
	switch t.dialect.Header {
	case dialect.HeaderNo:
		return false
	case dialect.HeaderFirst:
		return first
	}
	return true
}

// settings adds the settings that a job file needs, in addition to the format, to read the text.
func (t *text) settings(m map[string]any) {
	d := &t.dialect
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

// Errors about values that text cannot represent.
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

// checkName returns an error if a header cannot contain a name.
func (t *text) checkName(name string, first bool, columns int) error {
	if !t.header(true) {
		return nil
	}
	_, err := t.append(nil, []byte(name), first, columns)
	return err
}
