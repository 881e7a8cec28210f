package spec

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bulkload/pkg/source/dialect"

	"bulkload/internal/formats/yamlfile"
	"bulkload/internal/model/fail"
	"bulkload/pkg/source"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// Texts is a list of texts. A job file may give a single text instead of a list.
type Texts []string

// UnmarshalYAML decodes a list, or one text. It refuses YAML's null, because users who write null mean the text.
func (t *Texts) UnmarshalYAML(node ast.Node) error {
	texts, err := yamlfile.Texts(node)
	*t = append(Texts{}, texts...)
	return err
}

// none is the value that disables quotes, escapes or NULL.
const none = "none"

// ofDialect reports whether a spec has settings for text that the plain formats csv and dump do not support.
func (s *Spec) ofDialect() bool {
	r := s.Reading
	many := func(sep string) bool {
		bytes, err := dialect.Parse(sep)
		return err == nil && len(bytes) > 1
	}
	return r.Dialect != "" || r.Quote != "" || r.Quotes != "" || r.Escape != "" || r.EscapeMap != "" || r.NullValue != nil || r.NullQuoted != "" ||
		r.SkipLines != 0 || r.SkipEnd != 0 || r.Comment != "" || r.Trim != "" || r.LastColumn != "" || len(r.Positions) > 0 || r.RecordLength != 0 || r.Charset != "" && !s.formatTraits().Charset || s.Header == "first" || s.Header == "match" ||
		many(s.FieldSep) || many(s.RecordSep)
}

// formatTraits returns the traits of the inputs' configured format.
func (s *Spec) formatTraits() source.Traits { return source.Format(s.Format).Traits() }

// LinesCharset returns the character set of JSON lines, empty for UTF-8. It returns "" if a dialect is configured, which has a character set of its own.
func (s *Spec) LinesCharset() string {
	if s.Reading.Dialect != "" {
		return ""
	}
	return strings.ToLower(s.Reading.Charset)
}

// dialect returns the dialect of a spec's text: its preset with the settings of the spec. It is nil if the format, one-byte separators and the header
// describe the text, as for plain csv and dumps, and for reject files.
func (s *Spec) dialect() (*dialect.Dialect, []*FieldError) {
	if !s.ofDialect() || s.formatTraits().Described { // a reject file describes its own format
		return nil, nil
	}
	name := s.Reading.Dialect
	switch {
	case name == "" && len(s.Reading.Positions) > 0:
		name = dialect.Fixed
	case name == "":
		name = cmp.Or(s.formatTraits().Dialect, dialect.CSV)
	case s.Format != "" && s.Format != name:
		return nil, []*FieldError{{"dialect", fmt.Errorf("%s is text, and format says %s", name, s.Format)}}
	}
	d, err := dialect.Preset(name)
	if err != nil {
		return nil, []*FieldError{{"dialect", err}}
	}
	var errs []*FieldError
	bytes := func(field, text string, p *string) {
		if text == "" {
			return
		}
		b, err := dialect.Parse(text)
		if err != nil {
			errs = append(errs, &FieldError{field, err})
		}
		*p = b
	}
	bytes("field_sep", s.FieldSep, &d.FieldSep)
	if d.Unseparated = d.Fixed() && s.RecordSep == none; !d.Unseparated {
		bytes("record_sep", s.RecordSep, &d.RecordSep)
	}
	for _, text := range s.Reading.Positions {
		p, err := dialect.ParsePosition(text)
		if err != nil {
			errs = append(errs, &FieldError{"positions", err})
		}
		d.Positions = append(d.Positions, p)
	}
	d.RecordLength = s.Reading.RecordLength
	if s.Header != "" {
		d.Header = dialect.Header(s.Header)
	}
	s.Reading.override(&d, bytes)
	if lines := d; d.RecordSep == "\r\n" {
		// In CSV of RFC 4180, LF ends a record too. In other dialects a value may contain it.
		if lines.RecordSep = ""; lines.RFC4180() {
			d = lines
		}
	}
	if len(errs) > 0 {
		return nil, errs
	}
	if joined, ok := d.Check().(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			if e, ok := errors.AsType[*dialect.FieldError](err); ok {
				errs = append(errs, &FieldError{e.Field, e.Err})
			}
		}
		return nil, errs
	}
	return &d, nil
}

// override replaces the settings of a preset with those that are given.
func (r *Reading) override(d *dialect.Dialect, bytes func(field, text string, p *string)) {
	switch r.Quote {
	case "":
	case none:
		d.Quote, d.Doubled, d.Lenient, d.QuotedOnly, d.NullQuoted = "", false, false, false, false
	default:
		had := d.Quote != ""
		bytes("quote", r.Quote, &d.Quote)
		d.Doubled = d.Doubled || !had && d.Escape == ""
	}
	switch r.Escape {
	case "":
	case none:
		if d.Escape != "" {
			d.Escape, d.QuotedOnly, d.Map = "", false, dialect.Literal
			d.Doubled = d.Quote != ""
		}
	case r.Quote, d.Quote:
		if d.Quote == "" {
			break
		}
		d.Escape, d.QuotedOnly, d.Map, d.Doubled = "", false, dialect.Literal, true // without an escape, quotes are doubled
	default:
		bytes("escape", r.Escape, &d.Escape)
		d.Doubled = false
	}
	if r.Quotes == "lenient" {
		d.Lenient, d.Doubled = true, false
	}
	if r.EscapeMap != "" {
		d.Map = dialect.Map(r.EscapeMap)
	}
	switch {
	case len(r.NullValue) == 1 && r.NullValue[0] == none:
		d.Null = nil
	case r.NullValue != nil:
		d.Null = slices.Clone(r.NullValue)
	}
	if r.NullQuoted != "" {
		d.NullQuoted = r.NullQuoted == "yes"
	}
	d.SkipLines, d.SkipEnd, d.Comment = r.SkipLines, r.SkipEnd, r.Comment
	if r.Trim != "" {
		d.Trim = dialect.Trim(r.Trim)
	}
	if r.LastColumn != "" && r.LastColumn != "plain" {
		d.Last = dialect.Last(r.LastColumn)
	}
	if r.Charset != "" {
		d.Charset = strings.ToLower(r.Charset)
	}
}

// refuseNull refuses YAML's null where users mean a text: as the name of a field and as the text of NULL. The decoder would silently ignore both.
func refuseNull(name string, data []byte) error {
	f, err := yamlfile.Parse(data)
	if err != nil {
		return nil // the decoder reports the error
	}
	for _, doc := range f.Docs {
		if err := refuseNullIn(name, doc.Body, "what stands for NULL is null_value"); err != nil {
			return err
		}
	}
	return nil
}

// refuseNullIn checks a node of a job file and all nodes below it. hint explains the field that is meant by the name null.
func refuseNullIn(name string, node ast.Node, hint string) error {
	if anchor, ok := node.(*ast.AnchorNode); ok {
		node = anchor.Value
	}
	if list, ok := node.(*ast.SequenceNode); ok {
		for _, v := range list.Values {
			if err := refuseNullIn(name, v, hint); err != nil {
				return err
			}
		}
	}
	m, ok := node.(ast.MapNode)
	if !ok {
		return nil
	}
	for it := m.MapRange(); it.Next(); {
		key := it.Key().GetToken()
		if key.Type == token.NullType {
			return fail.Errorf(fail.Config, "job file %s: line %d: unknown field %q (%s)", name, key.Position.Line, key.Value, hint)
		}
		value := it.Value()
		if anchor, ok := value.(*ast.AnchorNode); ok {
			value = anchor.Value
		}
		if _, null := value.(*ast.NullNode); null && key.Value == "null_value" {
			return fail.Errorf(fail.Config, "job file %s: line %d: null_value: null is a keyword of YAML: write the text in quotes, as 'NULL'", name, key.Position.Line)
		}
		if err := refuseNullIn(name, value, "what becomes of NULL is nulls"); err != nil {
			return err
		}
	}
	return nil
}
