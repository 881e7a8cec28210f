package spec

import (
	"cmp"
	"errors"
	"fmt"

	"bulkload/internal/formats/expectation"
	"bulkload/internal/formats/expression"
	"bulkload/internal/model/choice"
	"bulkload/internal/model/fail"
	"bulkload/internal/objectstore"
	"bulkload/pkg/hfile"
	"bulkload/pkg/keygen"
	"bulkload/pkg/loader"
	"bulkload/pkg/partition"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/setting"
	"bulkload/pkg/source"
	"bulkload/pkg/source/dialect"
)

// Job is a complete and valid [Spec]: defaults are filled in, texts are parsed, and everything that needs neither the input nor the cluster is
// checked. Only Resolve and ResolveTable create one; the phases of a job rely on its fields without checking them again.
//
// Key, Duplicates, FieldSep and RecordSep are methods that hide the fields of these names in the embedded spec, which is not exported. So the texts
// cannot be changed after they have been parsed, and a text and its parsed form cannot disagree.
type Job struct {
	asked
	rowKey     keygen.Expr
	parse      keygen.Expr
	chosen     choice.Choice
	rowFilter  keygen.Expr
	checks     []*expectation.Check
	policy     extsort.Policy
	separators Separators
	text       *dialect.Dialect
	maxDeletes DeleteLimit
	further    []Target // tables after the job's first one, indexes last
}

// asked is the spec of a job. Phases may complete fields that have no parsed form: the table's qualified name, a part's inputs, the timestamp.
type asked = Spec

// StoresEmpty reports whether an empty text becomes an empty cell, except in cells with their own setting. By default it does if nulls is set: the
// files distinguish NULL from an empty text.
func (s Spec) StoresEmpty(nulls bool) bool { return s.Empty == "store" || s.Empty == "" && nulls }

// Separators are the separators of a dump.
type Separators struct{ Field, Record source.Sep }

// Key returns the text of the key spec; empty if ResolveTable had none.
func (j Job) Key() string { return j.asked.Key }

// RowKey returns the parsed Key, nil if there is none.
func (j Job) RowKey() keygen.Expr { return j.rowKey }

// QueryColumns returns the columns by which readers query rows with the given key.
func (j Job) QueryColumns(key keygen.Expr) []string {
	if len(j.Query) > 0 {
		return j.Query
	}
	columns := keygen.Columns(key)
	return columns[:min(1, len(columns))]
}

// RowFilter returns the parsed Filter, nil if there is none.
func (j Job) RowFilter() keygen.Expr { return j.rowFilter }

// Checks returns the parsed Expectations.
func (j Job) Checks() []*expectation.Check { return j.checks }

// KeyParser returns a parser of columns from the row keys of an input table; nil if it is not configured. Each goroutine needs its own.
func (j Job) KeyParser() (*keygen.KeyParser, error) {
	if j.parse == nil {
		return nil, nil
	}
	return keygen.CompileParser(j.parse, keygen.Options{})
}

// SaltModulus returns the modulus of the salt. By default it is the number of salts
// for which the table was split. SaltModulus refuses a table that is not split by the key's salt,
// because a wrong modulus would put rows where no reader looks for them.
func (j Job) SaltModulus(splits [][]byte) (int, error) {
	if j.Regions > 0 {
		return j.Regions, nil
	}
	salt := keygen.OpenSalt(j.rowKey)
	if n := partition.ModulusOfSalt(cmp.Or(salt, "salt"), splits); n > 0 {
		return n, nil
	}
	if salt == "" {
		return 1, nil
	}
	return 0, fail.Errorf(fail.Config, "the key %s needs a modulus for its salt, and the %s of the table are not split by %s: give the modulus that readers of the table use with %s",
		j.rowKey, setting.Count(len(splits)+1, "region"), salt, setting.SaltBuckets)
}

// GivenModulus is [Job.SaltModulus] for split points that are given and not read from a table. It refuses to conclude anything from none: unlike a table
// of one region, they may only be missing.
func (j Job) GivenModulus(splits [][]byte) (int, error) {
	if j.Regions == 0 && len(splits) == 0 && keygen.NeedsRegions(j.rowKey) {
		return 0, fail.Errorf(fail.Config, "the key %s needs a modulus for its salt: give the number of salts with %s, or the table's split points with %s", j.Key(), setting.SaltBuckets, setting.Splits)
	}
	return j.SaltModulus(splits)
}

// Choice returns the parsed Choice of cells that are read from input tables.
func (j Job) Choice() choice.Choice { return j.chosen }

// Duplicates returns the policy for rows with the same key, as text.
func (j Job) Duplicates() string { return j.asked.Duplicates }

// Policy returns the parsed form of Duplicates.
func (j Job) Policy() extsort.Policy { return j.policy }

// MaxDeletes returns the limit of rows that a job with Replace may delete from its table.
func (j Job) MaxDeletes() DeleteLimit { return j.maxDeletes }

// FieldSep and RecordSep return the separators of a dump as text.
func (j Job) FieldSep() string  { return j.asked.FieldSep }
func (j Job) RecordSep() string { return j.asked.RecordSep }

// Text returns the dialect of text input, nil if the separators and the header suffice to describe the text. It is shared: do not modify it.
func (j Job) Text() *dialect.Dialect { return j.text }

// Separators returns the parsed FieldSep and RecordSep. They are set if Text is nil, unless the inputs are reject files, which describe
// their own format.
func (j Job) Separators() Separators { return j.separators }

// Spec returns a copy of the spec with its defaults.
func (j Job) Spec() Spec { return j.asked }

// Resolve fills in the defaults of a spec and validates it; no other code does that. The error lists all problems at once. Whether columns exist is
// checked later, when the inputs are opened.
func (s Spec) Resolve() (Job, error) { return s.resolve(true) }

// ResolveTable is [Spec.Resolve] for work that needs a table and no rows: the key may be missing.
func (s Spec) ResolveTable() (Job, error) { return s.resolve(s.Key != "") }

// parseFilter parses the condition of the records that are loaded.
func (s Spec) parseFilter() (keygen.Expr, error) {
	if s.Filter == "" {
		return nil, nil
	}
	e, err := keygen.ParseValue(s.Filter)
	if err == nil {
		_, err = expression.Compile(e, expression.Options{})
	}
	if err != nil {
		return nil, err
	}
	if k := keygen.KindOf(e); k != keygen.KindBoolean {
		return nil, fmt.Errorf("it is %s, not a condition such as del_flag != '1'", k)
	}
	return e, nil
}

func (s Spec) resolve(needKey bool) (Job, error) {
	errs := s.complete()
	faulty := nameSet{}
	for _, e := range errs {
		faulty[e.(*FieldError).Field] = true
	}
	bad := func(field string, err error) {
		if err != nil && !faulty[field] {
			errs = append(errs, &FieldError{field, err})
		}
	}
	text, textErrs := s.dialect()
	for _, e := range textErrs {
		bad(e.Field, e.Err)
	}
	if text != nil {
		s.Header = string(text.Header)
	}
	s.Header = cmp.Or(s.Header, "yes")
	j := Job{asked: s, text: text}
	var err error
	if s.Table != "" {
		_, err = loader.ParseTableName(s.Table)
		bad("table", err)
	}
	bad("family", loader.CheckFamily(s.FamilyName()))
	switch {
	case !needKey:
	case s.Key == "":
		bad("key", errors.New("missing: say how row keys are made, such as salt(check_id) + md5hex(check_id) + id"))
	default:
		j.rowKey, err = keygen.Parse(s.Key)
		bad("key", err)
	}
	if s.Parse != "" {
		if j.parse, err = keygen.Parse(s.Parse); err == nil {
			_, err = j.KeyParser()
		}
		bad("parse", err)
	}
	if j.chosen, err = s.Choice.Resolve(choice.Keys{Spec: j.parse, Name: setting.ParseKey}); err != nil && !faulty["parse"] {
		errs = append(errs, err)
	}
	j.rowFilter, err = s.parseFilter()
	bad("filter", err)
	var expectErrs []error
	j.checks, expectErrs = expectation.Parse(s.Expectations)
	for _, err := range expectErrs {
		bad("expect", err)
	}
	switch {
	case s.InputsFrom != "" && len(s.Inputs) > 0:
		bad("inputs_from", errors.New("there are inputs too: give the list or the inputs, and in the list all of them"))
	case s.InputsFrom == "-":
		bad("inputs_from", errors.New("- is standard input, which is for data: write the list into a file"))
	}
	for _, input := range s.Inputs {
		if objectstore.IsName(input) {
			_, err := objectstore.Parse(input)
			bad("inputs", err)
		}
	}
	j.policy, _ = extsort.ParsePolicy(s.Duplicates)
	bad("duplicates", s.checkVersions(j.policy == extsort.KeepAll))
	j.maxDeletes, _ = ParseDeleteLimit(s.MaxDeletes)
	if text == nil && len(textErrs) == 0 && !s.formatTraits().Described {
		j.separators.Field, err = source.ParseSep(s.FieldSep)
		bad("field_sep", err)
		j.separators.Record, err = source.ParseSep(s.RecordSep)
		bad("record_sep", err)
	}
	if s.Timestamp == hfile.LatestTimestamp {
		bad("timestamp", fmt.Errorf("%d means now in HBase, and no scan returns cells with it: give a lower one", s.Timestamp))
	}
	seen := nameSet{}
	for i, c := range s.Columns {
		if c == "" {
			bad("columns", fmt.Errorf("column %d has no name", i+1))
		}
		if !seen.add(c) {
			bad("columns", fmt.Errorf("column %q is named twice", c))
		}
	}
	errs = append(errs, s.Mapping.validate()...)
	bad("salt_file", j.checkSalt())
	if len(errs) == 0 && needKey {
		j.further, errs = s.resolveTables()
	}
	return j, fail.With(fail.Config, errors.Join(errs...))
}
