package spec

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"bulkload/pkg/fail"
	"bulkload/pkg/keygen"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/source"
)

// Job is a [Spec] that is complete and right: defaults filled in, texts parsed,
// everything checked that can be without the input and the cluster. Only Resolve
// and ResolveTable make one; the phases of a job trust its fields and check
// nothing again.
type Job struct {
	Spec
	RowKey     keygen.Expr    // Key; nil if a ResolveTable had none
	Policy     extsort.Policy // Duplicates
	Separators struct{ Field, Record source.Sep }
}

// Resolve is the one place where a spec gets its defaults and is validated. The
// error says all that is wrong at once; whether columns exist is seen when the
// inputs are opened.
func (s Spec) Resolve() (Job, error) { return s.resolve(true) }

// ResolveTable is [Spec.Resolve] for work that needs a table and no rows: the key
// may be missing.
func (s Spec) ResolveTable() (Job, error) { return s.resolve(s.Key != "") }

func (s Spec) resolve(needKey bool) (Job, error) {
	or := func(p *string, d string) {
		if *p == "" {
			*p = d
		}
	}
	or(&s.Family, defaultFamily)
	or(&s.Empty, "skip")
	or(&s.Duplicates, "fail")
	or(&s.Verify, "sample")
	or(&s.Header, "yes")
	j := Job{Spec: s}
	var errs []error
	bad := func(field string, err error) {
		if err != nil {
			errs = append(errs, &FieldError{field, err})
		}
	}
	oneOf := func(field, v string, known ...string) {
		if !slices.Contains(known, v) {
			bad(field, fmt.Errorf("%q is none of %s", v, strings.Join(known, ", ")))
		}
	}
	var err error
	switch {
	case !needKey:
	case s.Key == "":
		bad("key", errors.New("missing: say how row keys are made, such as salt(check_id) + md5hex(check_id) + id"))
	default:
		j.RowKey, err = keygen.Parse(s.Key)
		bad("key", err)
	}
	oneOf("format", s.Format, "", "csv", "dump", "parquet", "rejects")
	oneOf("header", s.Header, "yes", "no")
	oneOf("empty", s.Empty, "skip", "store")
	oneOf("verify", s.Verify, "full", "sample", "off")
	j.Policy, err = extsort.ParsePolicy(s.Duplicates)
	bad("duplicates", err)
	j.Separators.Field, err = source.ParseSep(s.FieldSep)
	bad("field_sep", err)
	j.Separators.Record, err = source.ParseSep(s.RecordSep)
	bad("record_sep", err)
	_, err = source.NewBudget(s.BadRecords)
	bad("bad_records", err)
	if s.Regions < 0 {
		bad("salt_buckets", fmt.Errorf("%d is below 0", s.Regions))
	}
	if s.Timestamp < 0 {
		bad("timestamp", fmt.Errorf("%d is below 0", s.Timestamp))
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
	return j, fail.With(fail.Config, errors.Join(errs...))
}
