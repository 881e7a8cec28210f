package newkeys

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/chunk"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/setting"
)

// Build reads the snapshot and writes an HFile for every region and family of the new table that gets cells, with a manifest next
// to them. The families of the plan have the names of the snapshot's, in their order. With a resume, the build continues from the
// work of an earlier attempt on the same snapshot and plan. Without one, the output's directory must be new or empty, and after an
// error its contents must not be used.
func Build(ctx context.Context, s *snapshot.Snapshot, p *Plan, out build.Output, o Options, resume *build.Resume) (*manifest.Manifest, error) {
	r, err := newReader(s, p, o)
	if err != nil {
		return nil, err
	}
	r.reject = &rejectFile{path: o.RejectFile, keep: resume != nil && resume.Sorted != nil && resume.Sorted.Rejected > 0}
	return build.RunPacked(ctx, p.Build(s), r, r.room.sort, out, r.options.Options, resume)
}

// newReader returns a reader of the snapshot for the plan.
func newReader(s *snapshot.Snapshot, p *Plan, o Options) (*reader, error) {
	o.Options = o.WithDefaults()
	o.Workers = min(o.Workers, max(len(s.Regions), p.Ranges.Len()))
	if err := p.check(s); err != nil {
		return nil, err
	}
	keys, err := newKeyColumns(p.Key, p.OldKey, s.Families)
	if err != nil {
		return nil, err
	}
	room, err := o.divide(s, p)
	if err != nil {
		return nil, err
	}
	r := &reader{snap: s, view: p.view(), plan: p, keys: keys, names: &columnNames{}, room: room, options: o, parts: p.parts(s)}
	r.end = len(r.parts)
	if p.Divided != nil {
		r.names, err = numbered(p.Divided.Columns)
	}
	return r, err
}

// check checks that the plan fits the snapshot.
func (p *Plan) check(s *snapshot.Snapshot) error {
	if len(p.Families) != len(s.Families) {
		return fmt.Errorf("a plan for %s, snapshot %s has %d", setting.Count(len(p.Families), "family"), s.Name, len(s.Families))
	}
	for i, f := range s.Families {
		if p.Families[i].Name != f.Name {
			return fmt.Errorf("family %s of the plan stands for family %s of snapshot %s", p.Families[i].Name, f.Name, s.Name)
		}
	}
	if n := len(p.parts(s)); n >= 1<<(64-sequenceRows) {
		return fail.Errorf(fail.Config, "snapshot %s has %s, which are too many", s.Name, setting.Count(n, "part"))
	}
	if p.Choice.Since > 0 && p.Duplicates != extsort.Fail {
		return SinceNeedsFail()
	}
	return nil
}

// SinceNeedsFail returns the error for a further pass that would leave a row out.
func SinceNeedsFail() error {
	return fail.Errorf(fail.Config, "%s needs %s fail: with first or last cells of two rows could mix under one key", setting.Since, setting.Duplicates)
}

// Read implements [build.PackedSource].
func (r *reader) Read(ctx context.Context, sorter *extsort.Sorter, skip func(region int) bool) (t build.ReadTotals, err error) {
	r.skip = skip
	r.taker = func() (rowTaker, error) {
		w, err := sorter.Writer()
		return sortTaker{w}, err
	}
	err = r.run(ctx)
	t.Records, t.Rejected = r.rows, r.bad.Load()
	used, fileErr := r.reject.finish(err != nil)
	if err := errors.Join(err, fileErr); err != nil {
		return t, err
	}
	if used {
		t.RejectFile = r.options.RejectFile
	}
	t.Sum, t.Notes = r.sum, r.names.text()
	if r.options.Budget.Part { // the merge evaluates the budget
		return t, nil
	}
	return t, fail.With(fail.BadRows, r.options.Budget.Judge(t.Rejected, t.Records))
}

// Locate implements [build.PackedSource].
func (r *reader) Locate(ctx context.Context, err error) error { return r.locate(ctx, sortError(err)) }

// Explain implements [build.PackedSource].
func (r *reader) Explain(err error) error { return sortError(err) }

// sortError adds the kind to errors of the sort.
func sortError(err error) error {
	limit, limited := errors.AsType[*extsort.LimitError](err)
	_, twice := errors.AsType[*extsort.DuplicateError](err)
	switch {
	case limited:
		return fail.With(fail.HDFS, setting.Errorf("%w: they had %s after %s (raise %s, or give more %s)", err, setting.Count(limit.Bytes, "byte"), setting.Count(limit.Rows, "row"), setting.SpillLimit, setting.Memory))
	case twice:
		return fail.With(fail.BadRows, err)
	case errors.Is(err, extsort.ErrMemory):
		return fail.With(fail.Config, err)
	case errors.Is(err, extsort.ErrCorrupt):
		return fail.With(fail.HDFS, err)
	}
	return err
}

// locate adds the old keys of two rows with the same new key to an error. It finds
// the rows by their sequence numbers, by reading the regions again up to them.
func (r *reader) locate(ctx context.Context, err error) error {
	d, ok := errors.AsType[*extsort.DuplicateError](err)
	if !ok {
		return err
	}
	first, readErr := r.oldKey(ctx, d.First)
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	second, readErr := r.oldKey(ctx, d.Second)
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	return fail.With(fail.BadRows, setting.Errorf("%w: %w, and %w (make the key of more columns, or keep one of the rows with %s first or last, by the order of their old keys)",
		d, r.dataError(d.First, first), r.dataError(d.Second, second), setting.Duplicates))
}

func (r *reader) dataError(seq uint64, key []byte) error {
	number, row := placeOf(seq)
	p, of := r.parts[number], ""
	if p.start != nil {
		of = "a part of "
	}
	return fail.AboutData(key, "row %d of %sregion %s of snapshot %s, with an old key of %s", row+1, of, r.snap.Regions[p.region].Encoded, r.snap.Name, setting.Count(len(key), "byte"))
}

// oldKey returns the old key of the row with a sequence number.
func (r *reader) oldKey(ctx context.Context, seq uint64) (key []byte, err error) {
	number, row := placeOf(seq)
	if number >= len(r.parts) {
		return nil, fail.Errorf(fail.Unexpected, "a row is of part %d of snapshot %s, which has %d", number, r.snap.Name, len(r.parts))
	}
	p, view := r.parts[number], r.view
	view.Start, view.Stop = p.start, p.stop
	sc, err := r.snap.Scan(ctx, p.region, view)
	if err != nil {
		return nil, tablesource.InputFailure(err)
	}
	defer func() { err = errors.Join(err, tablesource.InputFailure(sc.Close())) }()
	at := int64(-1)
	for sc.Next() {
		if sc.NewRow() {
			if at++; at == row {
				return bytes.Clone(sc.Cell().Row), nil
			}
			if at%ReportEvery == 0 && ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
		}
	}
	if err := sc.Err(); err != nil {
		return nil, tablesource.InputFailure(err)
	}
	return nil, fail.Errorf(fail.Input, "region %s of snapshot %s has no row %d any more", r.snap.Regions[p.region].Encoded, r.snap.Name, row+1)
}

// Divided holds the common settings of processes that each read a part of a snapshot's rows.
type Divided struct {
	Parts   []tablesource.Part // of the snapshot, in the order of rows: regions, or parts of them
	Columns string             // numbered columns, see [Columns]
}

// parts returns the parts of the snapshot.
func (p *Plan) parts(s *snapshot.Snapshot) []part {
	if p.Divided == nil {
		return wholeParts(s)
	}
	parts := make([]part, len(p.Divided.Parts))
	for i, d := range p.Divided.Parts {
		parts[i] = part{region: d.Region, start: d.Start, stop: d.Stop, stands: 1}
	}
	return parts
}

// ReadPart reads a part of the rows and passes the sorted rows of each region to the sink: [build.MergeParts] makes the same files from
// all parts as [Build] does, if [OneFamily] permits it. A budget of bad rows that is a share is left to the caller, who knows the other parts.
func ReadPart(ctx context.Context, s *snapshot.Snapshot, p *Plan, which build.Part, sink build.Sink, c chunk.Options, o Options) (*build.PartRead, error) {
	r, err := newReader(s, p, o)
	if err != nil {
		return nil, err
	}
	r.from, r.end, r.reject, r.options.Budget.Part = which.From, which.To, &rejectFile{path: o.RejectFile, keep: true}, true
	read, err := build.ReadPackedPart(ctx, p.Build(s), r, r.room.sort, sink, c, r.options.Options)
	if err != nil {
		return nil, err
	}
	read.KeyFamilies = r.keys.keyFamilies()
	return read, nil
}

// columnRows is the number of rows that [Columns] reads of a region, and columnRegions the maximum number of regions.
const (
	columnRows    = 100
	columnRegions = 64
)

// Columns returns the columns in the first rows of regions, as text: all parts assign them the same numbers. Cells of other columns carry
// their names.
func Columns(ctx context.Context, s *snapshot.Snapshot, p *Plan) (string, error) {
	names := &columnNames{}
	n := min(len(s.Regions), columnRegions)
	for i := range n {
		if err := names.first(ctx, s, i*len(s.Regions)/n, p.view()); err != nil {
			return "", tablesource.InputFailure(err)
		}
	}
	return names.text(), nil
}

// first numbers the columns in a region's first rows.
func (n *columnNames) first(ctx context.Context, s *snapshot.Snapshot, region int, view snapshot.View) error {
	sc, err := s.Scan(ctx, region, view)
	if err != nil {
		return err
	}
	defer sc.Close()
	for rows := 0; sc.Next(); {
		c := sc.Cell()
		if sc.NewRow() {
			if rows++; rows > columnRows {
				return nil
			}
		}
		for i, f := range s.Families {
			if f.Name == string(c.Family) {
				n.number(i, c.Qualifier)
			}
		}
	}
	return sc.Err()
}
