package dialect

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A Dialect is a text format of records. Its separators and marks are bytes of the text, which is decoded before only if its character set is UTF-16 or
// EBCDIC; its texts for NULL are characters. The zero value is invalid: [Preset] makes dialects. A Dialect is not changed after Check, and may be used by several goroutines.
type Dialect struct {
	Name      string `json:"name"`                 // of the preset that it is based on
	FieldSep  string `json:"field_sep"`            // between two columns, 1 to 8 bytes
	RecordSep string `json:"record_sep,omitempty"` // after a record, 1 to 8 bytes; empty: LF or CR LF

	Quote      string `json:"quote,omitempty"`       // a byte around a value; empty: there are no quotes
	Doubled    bool   `json:"doubled,omitempty"`     // a quote within quotes is written twice
	Lenient    bool   `json:"lenient,omitempty"`     // quotes need not be doubled: one closes only before a separator, one in an unquoted value is data
	Escape     string `json:"escape,omitempty"`      // a byte that changes the meaning of the next one; empty: there are no escapes
	Map        Map    `json:"escape_map,omitempty"`  // the meanings of the byte after Escape
	QuotedOnly bool   `json:"quoted_only,omitempty"` // Escape is a plain byte outside of quotes

	Null       []string `json:"null,omitempty"`        // the written forms of NULL, compared before escapes are read; none: nothing is NULL
	NullQuoted bool     `json:"null_quoted,omitempty"` // in quotes too

	Header    Header `json:"header"`
	SkipLines int    `json:"skip_lines,omitempty"`  // lines before the header or the first record that are not records
	SkipEnd   int    `json:"skip_end,omitempty"`    // lines at the end that are not records
	Comment   string `json:"comment,omitempty"`     // the beginning of a record that is a comment; empty: there are no comments
	Trim      Trim   `json:"trim"`                  // ends at which unquoted values lose their blanks and tabs
	Last      Last   `json:"last_column,omitempty"` // how a record's last column ends

	// For fixed columns, which have no separators between them; other dialects have none of these.
	Positions    []Position `json:"positions,omitempty"`
	RecordLength int        `json:"record_length,omitempty"` // bytes of each record; 0: up to its last column
	Unseparated  bool       `json:"unseparated,omitempty"`   // records follow each other without a separator
	Charset      string     `json:"charset,omitempty"`       // name of the character set; empty: bytes are used unchanged
}

// Header reports whether a file's first record names its columns.
type Header string

// Headers.
const (
	HeaderYes   Header = "yes"   // in every file
	HeaderNo    Header = "no"    // in none
	HeaderFirst Header = "first" // in the first file of all
	HeaderMatch Header = "match" // in those whose first record consists of the column names
)

// Trim selects the ends at which unquoted values lose blanks and tabs.
type Trim string

// Trims.
const (
	TrimNone  Trim = "no"
	TrimLeft  Trim = "left"
	TrimRight Trim = "right"
	TrimBoth  Trim = "both"
)

// Last selects how the last column of a record ends.
type Last string

// Ends of the last column.
const (
	LastPlain     Last = ""          // where the record ends
	LastSeparated Last = "separated" // with a separator before the end of the record, as in the .tbl files of TPC-H
	LastRest      Last = "rest"      // where the record ends, and has separators in it, as with Hive's serialization.last.column.takes.rest
)

// maxSep is the greatest length of a separator in bytes.
const maxSep = 8

// A FieldError is about one setting of a dialect, under its name in job files.
type FieldError struct {
	Field string
	Err   error
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Err.Error() }
func (e *FieldError) Unwrap() error { return e.Err }

// Check reports settings that are invalid or ambiguous. Its error joins a [*FieldError] for each such setting.
func (d Dialect) Check() error {
	var errs []error
	bad := func(field, format string, args ...any) {
		errs = append(errs, &FieldError{field, fmt.Errorf(format, args...)})
	}
	if d.Fixed() {
		d.checkFixed(bad)
		d.checkNames(bad)
		return errors.Join(errs...)
	}
	end := cmp.Or(d.RecordSep, "\n")
	if len(d.FieldSep) == 0 || len(d.FieldSep) > maxSep {
		bad("field_sep", "it has %d bytes: 1 to %d are possible", len(d.FieldSep), maxSep)
	}
	if len(d.RecordSep) > maxSep {
		bad("record_sep", "it has %d bytes: 1 to %d are possible", len(d.RecordSep), maxSep)
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	switch {
	case d.FieldSep == end || d.RecordSep == "" && d.FieldSep == "\r":
		bad("field_sep", "columns and records are separated by the same bytes, %s", Text(d.FieldSep))
	case strings.HasPrefix(end, d.FieldSep) || strings.HasPrefix(d.FieldSep, end):
		bad("field_sep", "%s and record_sep %s begin alike: one is taken for the other", Text(d.FieldSep), Text(end))
	}
	for _, c := range []struct {
		field string
		text  string
	}{{"quote", d.Quote}, {"escape", d.Escape}} {
		switch {
		case len(c.text) > 1 || c.text >= "\x80":
			bad(c.field, "%s is not one byte below 0x80", Text(c.text))
		case c.text != "" && (strings.Contains(d.FieldSep, c.text) || strings.Contains(end, c.text) || d.RecordSep == "" && c.text == "\r"):
			bad(c.field, "%s stands in a separator too", Text(c.text))
		}
	}
	switch {
	case d.Quote == "" && (d.Doubled || d.Lenient || d.NullQuoted || d.QuotedOnly):
		bad("quote", "there is none, and other settings are about quotes")
	case d.Escape != "" && d.Escape == d.Quote:
		bad("escape", "it is the quote: a quote that is doubled needs no escape, and what MySQL writes with ESCAPED BY '\"' cannot be read (write it with ESCAPED BY '\\\\')")
	case d.Escape == "" && d.QuotedOnly:
		bad("escape", "there is none, and other settings are about it")
	case d.Doubled && d.Lenient:
		bad("quotes", "quotes are doubled or lenient, not both")
	}
	if len(d.Positions) > 0 || d.RecordLength != 0 || d.Unseparated {
		bad("positions", "dialect %s has separators, and positions and lengths are of dialect %s", d.Name, Fixed)
	}
	d.checkNames(bad)
	switch lasts := []Last{LastPlain, LastSeparated, LastRest}; {
	case !slices.Contains(lasts, d.Last):
		bad("last_column", "%q is invalid: want plain, %s or %s", d.Last, LastSeparated, LastRest)
	case d.Last == LastRest && d.Quote != "":
		bad("last_column", "the rest of a record has no quotes around it: set quote to none, or let writers quote values with separators")
	}
	if strings.ContainsAny(d.FieldSep[:1]+end[:1]+d.Quote+d.Escape, "0123456789") {
		bad("field_sep", "a digit separates or quotes nothing")
	}
	for i, null := range d.Null {
		if slices.Contains(d.Null[:i], null) {
			bad("null", "%s stands twice", Text(null))
		}
		if strings.Contains(null, d.FieldSep) || strings.Contains(null, end) || d.Quote != "" && strings.Contains(null, d.Quote) {
			bad("null", "%s has a separator or a quote in it", Text(null))
		}
	}
	if d.SkipLines < 0 {
		bad("skip_lines", "lines to skip are not below 0")
	}
	if d.SkipEnd < 0 {
		bad("skip_end", "lines to skip are not below 0")
	}
	if d.Comment != "" && (strings.HasPrefix(d.Comment, d.FieldSep) || strings.Contains(d.Comment, end)) {
		bad("comment", "%s has a separator in it", Text(d.Comment))
	}
	return errors.Join(errs...)
}

// checkNames reports values that no setting has.
func (d *Dialect) checkNames(bad func(field, format string, args ...any)) {
	if !slices.Contains(Maps(), d.Map) {
		bad("escape_map", "%q is invalid: want one of %s", d.Map, join(Maps()))
	}
	if headers := []Header{HeaderYes, HeaderNo, HeaderFirst, HeaderMatch}; !slices.Contains(headers, d.Header) {
		bad("header", "%q is invalid: want one of %s", d.Header, join(headers))
	}
	if trims := []Trim{TrimNone, TrimLeft, TrimRight, TrimBoth}; !slices.Contains(trims, d.Trim) {
		bad("trim", "%q is invalid: want one of %s", d.Trim, join(trims))
	}
}

func join[T ~string](list []T) string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = string(v)
	}
	return strings.Join(texts, ", ")
}

// RFC4180 reports whether the text is CSV of RFC 4180, whatever its NULL values: quotes are doubled, there is no other escape, and every
// line that is not blank is a record.
func (d Dialect) RFC4180() bool {
	return d.RecordSep == "" && d.Quote == `"` && d.Doubled && d.Escape == "" && len(d.FieldSep) == 1 && d.Comment == "" && d.Trim == TrimNone && d.Last == LastPlain
}

// Cuttable reports whether the beginning of a record can be found from any position of a file, by the surrounding bytes or by counting
// quotes.
func (d Dialect) Cuttable() bool {
	end := cmp.Or(d.RecordSep, "\n")
	return !d.Lenient && (d.Quote == "" || d.Comment == "" && !borders(d.FieldSep, d.FieldSep)) && !borders(end, end) && !overlaps(d.FieldSep, end)
}

// EndOverlaps reports whether two marks of the end of a record can share bytes, as || in |||.
func (d Dialect) EndOverlaps() bool { return borders(d.RecordSep, d.RecordSep) }

// borders reports whether a proper prefix of a is a suffix of b: two matches can overlap.
func borders(a, b string) bool {
	for n := 1; n < min(len(a), len(b)); n++ {
		if strings.HasSuffix(b, a[:n]) {
			return true
		}
	}
	return false
}

// overlaps reports whether two different texts can share bytes, so that the match depends on where reading began.
func overlaps(a, b string) bool {
	return strings.Contains(a, b) || strings.Contains(b, a) || borders(a, b) || borders(b, a) ||
		len(a) > 1 && a[0] == b[len(b)-1] || len(b) > 1 && b[0] == a[len(a)-1]
}

// IsNull reports whether a value, in its written form without quotes, is NULL.
func (d *Dialect) IsNull(raw []byte, quoted bool) bool {
	if quoted && !d.NullQuoted {
		return false
	}
	for _, null := range d.Null {
		if len(null) == len(raw) && bytes.Equal(raw, []byte(null)) {
			return true
		}
	}
	return false
}

// Equal reports whether two dialects read every text in the same way.
func (d Dialect) Equal(o Dialect) bool {
	d.Name = o.Name
	return reflect.DeepEqual(d, o)
}

// Records returns the dialect for records only, without header, skipped lines and comments.
func (d Dialect) Records() Dialect {
	d.Header, d.SkipLines, d.SkipEnd, d.Comment = HeaderNo, 0, 0, ""
	return d
}

// String returns all settings that affect the reading of a text, except the name: those that are not the zero value, in the form that users
// write.
func (d Dialect) String() string {
	var b strings.Builder
	add := func(field, value string) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(field + "=" + value)
	}
	text := func(field, value string) {
		if value != "" {
			add(field, Text(value))
		}
	}
	yes := func(field string, value bool) {
		if value {
			add(field, "yes")
		}
	}
	text("field_sep", d.FieldSep)
	text("record_sep", d.RecordSep)
	text("quote", d.Quote)
	yes("doubled", d.Doubled)
	yes("lenient", d.Lenient)
	text("escape", d.Escape)
	if d.Escape != "" {
		add("escape_map", string(d.Map))
	}
	yes("quoted_only", d.QuotedOnly)
	for _, null := range d.Null {
		add("null", "'"+Text(null)+"'")
	}
	yes("null_quoted", d.NullQuoted)
	add("header", string(d.Header))
	if d.SkipLines > 0 {
		add("skip_lines", strconv.Itoa(d.SkipLines))
	}
	if d.SkipEnd > 0 {
		add("skip_end", strconv.Itoa(d.SkipEnd))
	}
	text("comment", d.Comment)
	if d.Trim != TrimNone {
		add("trim", string(d.Trim))
	}
	text("last_column", string(d.Last))
	for _, p := range d.Positions {
		add("position", p.String())
	}
	if d.RecordLength > 0 {
		add("record_length", strconv.Itoa(d.RecordLength))
	}
	yes("unseparated", d.Unseparated)
	text("charset", d.Charset)
	return b.String()
}
