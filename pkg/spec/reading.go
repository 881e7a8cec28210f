package spec

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"bulkload/pkg/charset"
	"bulkload/pkg/dialect"

	"github.com/goccy/go-yaml"
)

// Texts is a list of texts; of one text a job file may give that alone.
type Texts []string

// UnmarshalYAML reads a list, or one text.
func (t *Texts) UnmarshalYAML(data []byte) error {
	var list []string
	if yaml.Unmarshal(data, &list) == nil {
		*t = list
		return nil
	}
	var one string
	if err := yaml.Unmarshal(data, &one); err != nil {
		return err
	}
	*t = Texts{one}
	return nil
}

// Reading is how text is written, and which of its columns are read. Every field
// is optional: the dialect has the exporter's own.
type Reading struct {
	Dialect    string `yaml:"dialect"`     // a preset of package dialect; default: csv or dump, as the text says
	Quote      string `yaml:"quote"`       // the byte around a value, or none
	Quotes     string `yaml:"quotes"`      // strict or lenient
	Escape     string `yaml:"escape"`      // the byte before one that means nothing, or none
	EscapeMap  string `yaml:"escape_map"`  // what letters behind the escape mean
	NullValue  Texts  `yaml:"null_value"`  // what NULL is written as; none: nothing is NULL
	NullQuoted string `yaml:"null_quoted"` // yes: in quotes too; no
	SkipLines  int    `yaml:"skip_lines"`  // at the beginning of each file
	SkipEnd    int    `yaml:"skip_end"`    // at its end
	Comment    string `yaml:"comment"`     // what a line begins with that is no record
	Trim       string `yaml:"trim"`        // no, left, right or both ends of values without quotes
	Charset    string `yaml:"charset"`     // character set
	Extra      string `yaml:"extra"`       // columns that nobody asks for: fail or ignore
	Missing    string `yaml:"missing"`     // columns that a file lacks: fail or null
}

// none is the word for no quote, no escape and no NULL.
const none = "none"

// texts says whether a spec says anything about text that the plain formats csv
// and dump cannot have.
func (s *Spec) ofDialect() bool {
	r := s.Reading
	many := func(sep string) bool {
		bytes, err := dialect.Parse(sep)
		return err == nil && len(bytes) > 1
	}
	return r.Dialect != "" || r.Quote != "" || r.Quotes != "" || r.Escape != "" || r.EscapeMap != "" || r.NullValue != nil || r.NullQuoted != "" ||
		r.SkipLines != 0 || r.SkipEnd != 0 || r.Comment != "" || r.Trim != "" || r.Charset != "" || s.Header == "first" || s.Header == "match" ||
		many(s.FieldSep) || many(s.RecordSep)
}

// dialect is how the text of a spec is written: its preset with what the spec says. It is nil for csv and dumps as they are by
// default.
func (s *Spec) dialect() (*dialect.Dialect, error) {
	if !s.ofDialect() {
		return nil, nil
	}
	name := s.Reading.Dialect
	switch {
	case name == "" && s.Format == "dump":
		name = dialect.Dump
	case name == "":
		name = dialect.CSV
	case s.Format != "" && s.Format != name:
		return nil, &FieldError{"dialect", fmt.Errorf("%s is text, and format says %s", name, s.Format)}
	}
	d, err := dialect.Preset(name)
	if err != nil {
		return nil, &FieldError{"dialect", err}
	}
	var errs []error
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
	bytes("record_sep", s.RecordSep, &d.RecordSep)
	if d.RecordSep == "\r\n" {
		d.RecordSep = "" // LF ends a record too
	}
	if s.Header != "" {
		d.Header = dialect.Header(s.Header)
	}
	errs = append(errs, s.Reading.over(&d, bytes)...)
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if err := d.Check(); err != nil {
		return nil, &FieldError{"dialect", err}
	}
	return &d, nil
}

// over puts what was given over a preset.
func (r *Reading) over(d *dialect.Dialect, bytes func(field, text string, p *string)) (errs []error) {
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
		d.Escape, d.QuotedOnly, d.Map, d.Doubled = "", false, dialect.Literal, true // a quote is escaped by another
	default:
		bytes("escape", r.Escape, &d.Escape)
		d.Doubled = false
	}
	switch r.Quotes {
	case "", "strict":
	case "lenient":
		d.Lenient, d.Doubled = true, false
	default:
		errs = append(errs, &FieldError{"quotes", fmt.Errorf("%q is none of strict, lenient", r.Quotes)})
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
	switch r.NullQuoted {
	case "":
	case "yes", "no":
		d.NullQuoted = r.NullQuoted == "yes"
	default:
		errs = append(errs, &FieldError{"null_quoted", fmt.Errorf("%q is none of yes, no", r.NullQuoted)})
	}
	d.SkipLines, d.SkipEnd, d.Comment = r.SkipLines, r.SkipEnd, r.Comment
	if r.Trim != "" {
		d.Trim = dialect.Trim(r.Trim)
	}
	if r.Charset != "" {
		if _, err := charset.Lookup(r.Charset); err != nil {
			errs = append(errs, &FieldError{"charset", err})
		}
		d.Charset = strings.ToLower(r.Charset)
	}
	return errs
}
