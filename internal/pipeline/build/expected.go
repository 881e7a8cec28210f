package build

import (
	"errors"
	"time"

	"bulkload/internal/formats/expectation"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/pkg/setting"
	"bulkload/pkg/source"
)

// distinctRoom returns the memory for checks of unique values: a quarter of the budget if there are any.
func (o Options) distinctRoom() int64 {
	if expectation.OfKind(o.Checks, expectation.Unique) == nil {
		return 0
	}
	return int64(o.Memory) / 4
}

// counter returns a counter of the values that the checks need, nil if there are no checks.
func (o Options) counter(in *source.Input, now time.Time) (*expectation.Counter, error) {
	c, err := expectation.NewCounter(o.Checks, in.Columns(), o.distinctRoom(), now)
	return c, fail.With(fail.Config, err)
}

// Checks returns the expectations on the records.
func (k *Input) Checks() []*expectation.Check { return k.checks }

// Counted returns the value of a column as expectations see it. Empty text is NULL if the file cannot represent NULL ([source.Batch.Nulls]).
func Counted(b *source.Batch, row, column int, nulls bool) (value []byte, null bool) {
	value = b.Field(row, column)
	return value, b.Null(row, column) || len(value) == 0 && !nulls
}

// Count counts a record.
func Count(t *expectation.Tally, b *source.Batch, row int, nulls bool) {
	t.Record()
	for i, column := range t.Columns() {
		value, null := Counted(b, row, column, nulls)
		t.Value(i, value, null)
	}
}

// Met evaluates the checks of a build. It writes the findings into the manifests of all tables, logs warnings, and returns an error of kind
// BadRows if an expectation is not met. Earlier returns the record counts of at most n earlier jobs, the newest first; nil: there are none.
func Met(m []*manifest.Manifest, checks []*expectation.Check, earlier func(n int) []int64, e progress.Events) error {
	judged, err := judgeExpectations(m[0].Expect, checks, earlier, e)
	if judged != nil {
		for _, one := range m {
			one.Expect = judged
		}
	}
	return err
}

// MetByParts evaluates the checks of all parts together, before anything is written. It reports only failures; warnings are logged later.
func MetByParts(parts []*PartRead, checks []*expectation.Check) error {
	_, err := judgeExpectations(totalsOf(parts).Expect, checks, nil, progress.Events{})
	return err
}

func judgeExpectations(c *expectation.Counts, checks []*expectation.Check, earlier func(n int) []int64, e progress.Events) (*expectation.Counts, error) {
	judged, err := c.Judge(checks, earlier)
	if errors.Is(err, expectation.ErrNotCounted) {
		return nil, fail.With(fail.Check, setting.Errorf("%w (%s)", err, spec.RestartHint()))
	}
	if judged == nil {
		return nil, nil
	}
	for _, f := range judged.Findings {
		switch {
		case f.Bad() && f.Severity == expectation.Warn:
			e.Warn("an expectation is not met", "column", f.Column, "expectation", f.Expectation, "found", f.Found)
		case f.Status == expectation.Unchecked:
			e.Note("an expectation is not checked", "expectation", f.Expectation, "found", f.Found)
		}
	}
	if err := judged.Err(); err != nil {
		return judged, fail.With(fail.BadRows, setting.Errorf("%w; nothing was loaded (with severity warn the job continues)", err))
	}
	return judged, nil
}
