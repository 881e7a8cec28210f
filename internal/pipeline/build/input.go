package build

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"bulkload/internal/formats/expectation"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/pipeline/streams"
	"bulkload/internal/pipeline/upload"
	"bulkload/pkg/keygen"
	"bulkload/pkg/setting"
	"bulkload/pkg/source"
)

// WorkOptions are the user's settings for executing a job.
type WorkOptions struct {
	Workers    int
	Memory     spec.Size
	SpillDir   string
	RejectFile string // absolute; written only if bad records are allowed and there are some; default of a job with state: in its directory
	// FilteredFile and DuplicatesFile are absolute, and are written only if there are such records; empty: the records are only counted. The
	// duplicates of further tables are in [FileOf] DuplicatesFile.
	FilteredFile, DuplicatesFile string

	Events     progress.Events
	Gate       progress.Gate  // where work waits between its steps, default no waiting
	Uploads    upload.Options // of HFiles to HDFS
	SpillLimit spec.Size      // maximum number of bytes of sorted runs on local disk, default no limit but the disk

	SplitSize int64          // of text, bytes; default [source.Options]'s
	Splits    []source.Split // found by a plan; default: they are computed

	// Allowed returns nil if the files of a build may get their final names: HFiles, and the file of bad records. It may wait.
	// Several goroutines call it, and all get the same answer. An error ends the build. Default: they may.
	Allowed func() error
	Stdin   *os.File // the input named -, default the process's own
}

// Input is the set of open inputs of a job, with its budget of bad records.
type Input struct {
	Source *source.Input
	Budget *source.Budget // for bad records

	Filtered   *source.RejectFile   // for records that the filter leaves out; nil: none
	Duplicates []*source.RejectFile // by table, for records that were replaced by another record with the same key; nil: none

	Reading *progress.Reading // how the files are read; read-only

	streams    *streams.Inputs
	allowEmpty bool
	expect     *int64 // records
	checks     []*expectation.Check
	missing    source.Missing
}

// OpenInput opens the input files of a spec and determines their columns. Streams among the inputs are read to their end;
// [Input.Close] removes their copies.
func OpenInput(ctx context.Context, open source.Resolve, s spec.Job, w WorkOptions) (*Input, error) {
	st, err := streams.Find(ctx, open, s.Inputs, w.Stdin, nil)
	if err != nil {
		return nil, err
	}
	return OpenStreams(ctx, st, s, w, nil, streams.Needed{})
}

// OpenStreams is [OpenInput] for inputs whose streams are known. It copies the streams first, see
// [streams.Inputs.Keep]. If a stream is [streams.Inputs.Lost], it returns neither an input nor an error.
func OpenStreams(ctx context.Context, st *streams.Inputs, s spec.Job, w WorkOptions, r *Resume, n streams.Needed) (*Input, error) {
	k, o, err := newInput(s, w)
	if err != nil {
		return nil, err
	}
	if err := st.Keep(ctx, streams.Options{SpillDir: w.SpillDir, SpillLimit: w.SpillLimit, Events: w.Events}, r.streams(), n); err != nil {
		return nil, err
	}
	if k.streams = st; st.Lost() {
		return nil, nil
	}
	if err := k.open(ctx, s, w, o); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return k, nil
}

// newInput returns an input whose files are not opened yet.
func newInput(s spec.Job, w WorkOptions) (*Input, source.Options, error) {
	o := SelectionOf(s)
	o.Format, o.Columns, o.SplitSize, o.Splits = source.Format(s.Format), s.Columns, w.SplitSize, w.Splits
	o.Named, o.IfEmpty = s.NamedColumns(), s.MentionedColumns()
	o.Charset = s.LinesCharset()
	o.Extra, o.Missing = source.Extra(s.Extra), source.Missing(s.Missing)
	if o.Dialect = s.Text(); o.Dialect != nil {
		if o.Format.Traits().Text {
			o.Format = source.FormatText
		}
	} else {
		o.FieldSep, o.RecordSep = s.Separators().Field, s.Separators().Record
		if s.Header == "no" {
			o.Header = source.HeaderNone
		}
	}
	k := &Input{allowEmpty: s.AllowEmpty, expect: s.Expect, checks: s.Checks(), missing: o.Missing}
	var err error
	if k.Budget, err = source.NewBudget(s.BadRecords); err != nil {
		return nil, o, fail.With(fail.Config, err)
	}
	if w.RejectFile != "" && !k.Budget.None() {
		k.Budget.File = source.NewRejectFile(w.RejectFile)
	}
	if err := errors.Join(k.leaveOut(s, w), k.checkFiles()); err != nil {
		return nil, o, err
	}
	o.Reject, o.Scanned = k.Budget.RejectRead, w.Events.Scanned
	return k, o, fail.With(fail.Config, o.Validate())
}

// open opens the files.
func (k *Input) open(ctx context.Context, s spec.Job, w WorkOptions, o source.Options) (err error) {
	budget := Options{Workers: w.Workers, Memory: w.Memory}.WithDefaults()
	o.Memory = budget.readerMemory()
	if k.Source, err = source.Open(ctx, k.streams.Resolve, s.Inputs, o); errors.Is(err, source.ErrNoHeader) {
		return fail.With(fail.Config, err)
	} else if err != nil {
		return fail.With(fail.Input, budget.inputMemory(err))
	}
	if err := errors.Join(k.namesColumns(s), k.refuseTables()); err != nil {
		return err
	}
	for _, column := range expectation.Columns(k.checks) {
		if !slices.Contains(k.Source.Columns(), column) {
			return fail.Errorf(fail.Config, "expect: the input has no column %q (it has %s)", column, keygen.ColumnList(k.Source.Columns()))
		}
	}
	if err := k.checkFiles(); err != nil {
		return err
	}
	files := k.Source.Files()
	k.Reading = readingOf(s, files)
	noteReading(w.Events, k.Reading, len(files))
	return nil
}

// Close releases the copies of streams.
func (k *Input) Close() error {
	if k == nil {
		return nil
	}
	return k.streams.Close()
}

// SelectionOf returns the options that select the files of a job's inputs.
func SelectionOf(s spec.Job) source.Options {
	return source.Options{AllowEmpty: s.AllowEmpty, Partitions: s.Partitions, Where: s.Where}
}

// namesColumns refuses JSON lines without a list of the columns to read: a member that first occurs late in a file would be
// lost. A reject file has the list in its first line.
func (k *Input) namesColumns(s spec.Job) error {
	if len(s.Columns) > 0 || s.Extra == string(source.ExtraIgnore) || source.Format(s.Format).Traits().Described {
		return nil
	}
	for _, f := range k.Source.Files() {
		if f.Format.Traits().Open {
			return fail.Errorf(fail.Config, "%s: JSON lines have no list of columns; the files have %s: name those to read with %s (or give %s ignore to read these)",
				f.Path, strings.Join(k.Source.Columns(), ","), setting.Columns, setting.Extra)
		}
	}
	return nil
}

// tables returns the inputs that are tables, as the user gave them.
func (k *Input) tables(s spec.Job) (names []string) {
	for _, f := range k.Source.Files() {
		if name := s.Inputs[f.Input]; f.Format.Traits().Table && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// startOf returns the start event of a standalone build.
func (k *Input) startOf(p *cells.Plan, spec spec.Job) progress.Start {
	s := progress.Start{Table: p.Table, Attempt: 1, Key: spec.Key(), Inputs: spec.Inputs, Regions: p.Ranges.Len(), Timestamp: p.Timestamp,
		Columns: len(p.Columns), Phases: []string{"read", "sort", "write"}}
	k.AddTo(&s)
	return s
}

// Build runs a build and completes the file of bad records, also if the job
// failed: the file explains the failure.
func (k *Input) Build(ctx context.Context, plan *cells.Plan, out Output, w WorkOptions, sample int, resume *Resume) (*manifest.Manifest, error) {
	m, err := k.BuildTables(ctx, []Table{{plan, out}}, w, sample, resume)
	if err != nil {
		return nil, err
	}
	return m[0], nil
}

// BuildTables is [Input.Build] for several tables, see [RunTables].
func (k *Input) BuildTables(ctx context.Context, tables []Table, w WorkOptions, sample int, resume *Resume) ([]*manifest.Manifest, error) {
	m, err := RunTables(ctx, tables, k.Source, Options{Workers: w.Workers, Memory: w.Memory, SpillDir: w.SpillDir,
		Budget: k.Budget, Filtered: k.Filtered, Duplicates: k.Duplicates, Sample: sample, Events: w.Events, Gate: w.Gate, SpillLimit: k.streams.Left(w.SpillLimit), AllowEmpty: k.allowEmpty, Expect: k.expect, Checks: k.checks, Missing: k.missing, Allowed: w.Allowed, resume: resume})
	if err != nil {
		err = errors.Join(err, k.dropLeftOut())
	}
	if k.Budget.File == nil {
		return m, err
	}
	if err != nil && w.Allowed != nil {
		if refused := w.Allowed(); refused != nil {
			return nil, errors.Join(refused, k.Budget.File.Abort())
		}
	}
	if err != nil && resume.hasRejects(k.Budget.File) {
		err = errors.Join(err, k.Budget.File.Abort())
	}
	n, rejectErr := k.Budget.File.Finish()
	if n > 0 {
		err = fail.WithRejects(err, w.RejectFile)
	}
	if !errors.Is(err, rejectErr) { // else it has ended the build
		err = errors.Join(err, rejectErr)
	}
	if err != nil {
		return nil, err
	}
	if n > 0 {
		for _, t := range m {
			t.RejectFile = w.RejectFile
		}
	}
	return m, nil
}

// AddTo records the input files and how they are read.
func (k *Input) AddTo(s *progress.Start) {
	s.Reading = k.Reading
	for _, f := range k.Source.Files() {
		s.Files++
		s.Bytes += f.Size
		s.Sources = append(s.Sources, progress.InputFile{Path: f.Path, Bytes: f.Size})
	}
}

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
