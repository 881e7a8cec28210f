package history

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"bulkload/internal/model/spec"
	"bulkload/pkg/keygen"
	"bulkload/pkg/source"
)

// readingRecord holds the settings for reading a job's inputs, with defaults filled
// in, that determine which records the same bytes give. [PlanRecord.Same] compares
// all of its fields, under their JSON names; a further setting for reading is one
// more field. Settings that do not affect the detected formats are empty.
type readingRecord struct {
	Header     string `json:"header,omitempty"`     // csv
	FieldSep   string `json:"field_sep,omitempty"`  // csv, dump
	RecordSep  string `json:"record_sep,omitempty"` // dump
	Dialect    string `json:"dialect,omitempty"`    // text of a dialect
	Charset    string `json:"charset,omitempty"`    // json
	Columns    string `json:"columns,omitempty"`    // handling of extra and missing columns
	Partitions string `json:"partitions,omitempty"` // of directories name=value
	Where      string `json:"where,omitempty"`
	Parse      string `json:"parse,omitempty"`  // key spec of a table
	Choice     string `json:"choice,omitempty"` // selected cells of input tables
	BadRecords string `json:"bad_records,omitempty"`
	Filter     string `json:"filter,omitempty"`      // of records
	Salt       string `json:"salt_digest,omitempty"` // of the secret of salted(x)
}

// readingOf returns how a spec, with its defaults, reads files of these formats.
func readingOf(s spec.Job, formats []string) *readingRecord {
	r := &readingRecord{BadRecords: allowance(s.BadRecords)}
	var fields []string
	for _, t := range traitsOf(formats) {
		if t.Header {
			r.Header = s.Header
		}
		if t.FieldSep != (source.Sep{}) {
			fields = append(fields, sepText(s.FieldSep(), t.FieldSep))
		}
		if t.RecordSep != (source.Sep{}) {
			r.RecordSep = sepText(s.RecordSep(), t.RecordSep)
		}
		if d := s.Text(); d != nil && t.Text {
			r.Dialect = d.String()
		}
		if t.Charset {
			r.Charset = s.LinesCharset()
		}
	}
	if s.Extra != "" || s.Missing != "" {
		r.Columns = strings.TrimSpace("extra " + cmp.Or(s.Extra, "by format") + ", missing " + cmp.Or(s.Missing, "fail"))
	}
	if e, err := keygen.Parse(s.Parse); err == nil {
		r.Parse = e.String()
	}
	r.Choice = s.Spec().Choice.String()
	if e := s.RowFilter(); e != nil {
		r.Filter = e.String()
	}
	if salt, err := s.Salt(); err == nil { // without the file the job does not begin
		r.Salt = salt.Digest()
	}
	r.Partitions, r.Where = strings.Join(s.Partitions, ", "), strings.Join(s.Where, ", ")
	r.FieldSep = strings.Join(slices.Compact(fields), " and ")
	return r
}

// traitsOf returns the traits of the files' formats, each once and in a fixed
// order.
func traitsOf(formats []string) (traits []source.Traits) {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i], _, _ = strings.Cut(f, ".")
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		traits = append(traits, source.Format(name).Traits())
	}
	return traits
}

// sepText returns the canonical text of a separator.
func sepText(text string, none source.Sep) string {
	sep, err := source.ParseSep(text)
	if err != nil || sep.String() == "" {
		sep = none
	}
	return sep.String()
}

// allowance returns the canonical text of a number of allowed bad records.
func allowance(text string) string {
	number, share := strings.CutSuffix(strings.TrimSpace(text), "%")
	n, err := strconv.ParseFloat(cmp.Or(number, "0"), 64)
	switch {
	case err != nil:
		return text
	case n == 0:
		return "0"
	case share:
		return strconv.FormatFloat(n, 'g', -1, 64) + "%"
	}
	return strings.TrimLeft(number, "+0")
}

// differences returns the fields that have changed, with both values.
func (r *readingRecord) differences(now *readingRecord) (all []string) {
	was, is := reflect.ValueOf(*r), reflect.ValueOf(*now)
	for i := range was.NumField() {
		name, _, _ := strings.Cut(was.Type().Field(i).Tag.Get("json"), ",")
		if old, now := fmt.Sprint(was.Field(i)), fmt.Sprint(is.Field(i)); old != now {
			all = append(all, fmt.Sprintf("%s was %s, it is %s", name, cmp.Or(old, "not given"), cmp.Or(now, "not given")))
		}
	}
	return all
}

// SamePlan refuses a plan that differs from the journal's, except for a limit of bad records that the job may still change.
func (h *History) SamePlan(now PlanRecord) error {
	if h.Plan.Reading != nil && h.Allows(now.Reading) {
		now.Reading.BadRecords = h.Plan.Reading.BadRecords
	}
	return h.Plan.Same(now)
}

// Allows reports whether the current limit allows the bad records that the job has
// set aside, if the job has finished sorting. If so, the changed limit does not
// change the rows: it decides whether a job fails, not which records are bad. A
// job on YARN is judged by the limit that it was submitted with.
func (h *History) Allows(now *readingRecord) bool {
	b, err := source.NewBudget(now.BadRecords)
	switch {
	case err != nil || h.Submission != nil:
		return false
	case h.Built != nil:
		return b.Allows(h.Built.Rejected, h.Built.Records)
	}
	return h.Sorted == nil || b.Allows(h.Sorted.Rejected, h.Sorted.Records)
}

// FormatOf returns the detected format of a file, such as csv or csv.gz.
func FormatOf(f source.FileInfo) string {
	if f.Compression != "" {
		return string(f.Format) + "." + f.Compression
	}
	return string(f.Format)
}
