package rekey

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"bulkload/pkg/build"
	"bulkload/pkg/fail"
	"bulkload/pkg/manifest"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/setting"
	"bulkload/pkg/snapshot"
)

// Build reads the snapshot and writes an HFile for every region and family of
// the new table that gets cells, with a manifest beside them. The output's
// directory is new, or has nothing in it. After an error nothing in it may be
// used. The families of the plan have the names of the snapshot's, in their order.
func Build(ctx context.Context, s *snapshot.Snapshot, p *Plan, out build.Output, o Options) (_ *manifest.Manifest, err error) {
	o = o.withDefaults()
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
	sorter, err := extsort.New(p.sort(o, room))
	if err != nil {
		return nil, fail.With(fail.Config, err)
	}
	defer func() { err = errors.Join(err, sorter.Close()) }()
	began := time.Now()
	r := &reader{snap: s, view: p.view(), plan: p, keys: keys, names: &columnNames{}, sorter: sorter, room: room, o: o, reject: &rejectFile{path: o.RejectFile}}
	m := &manifest.Manifest{Schema: 1, Table: p.Table, Key: p.Key.String(), Family: p.Families[0].Name, Timestamp: p.Now.UnixMilli(), Columns: []string{}, Stamped: true}
	if err := r.all(ctx, m); err != nil {
		return nil, sortError(err)
	}
	m.ReadTime = time.Since(began)
	began = time.Now()
	o.Events.Phase("write")
	var names []string
	for _, f := range p.Families {
		names = append(names, f.Name)
	}
	if err := out.Prepare(ctx, names...); err != nil {
		return nil, err
	}
	w := &writer{snap: s, plan: p, names: r.names.all(), sorter: sorter, out: out, o: o}
	if err := w.run(ctx); err != nil {
		return nil, r.locate(ctx, sortError(err))
	}
	if err := w.account(m, r); err != nil {
		return nil, err
	}
	m.WriteTime = time.Since(began)
	if err := build.WriteManifest(ctx, out, m); err != nil {
		return nil, fail.With(fail.HDFS, err)
	}
	return m, fail.With(fail.HDFS, out.FS.RemoveAll(ctx, path.Join(out.Dir, build.WritingDir)))
}

// check holds the plan to the snapshot.
func (p *Plan) check(s *snapshot.Snapshot) error {
	if len(p.Families) != len(s.Families) {
		return fmt.Errorf("a plan for %s, snapshot %s has %d", setting.Count(len(p.Families), "family"), s.Name, len(s.Families))
	}
	for i, f := range s.Families {
		if p.Families[i].Name != f.Name {
			return fmt.Errorf("family %s of the plan stands for family %s of snapshot %s", p.Families[i].Name, f.Name, s.Name)
		}
	}
	if len(s.Regions) >= 1<<(64-sequenceRows) {
		return fail.Errorf(fail.Config, "snapshot %s has %s, which are too many", s.Name, setting.Count(len(s.Regions), "region"))
	}
	if p.Since > 0 && p.Duplicates != extsort.Fail {
		return sinceNeedsFail()
	}
	return nil
}

func (p *Plan) sort(o Options, room memory) extsort.Options {
	shared := make([]int, p.Ranges.Len())
	for i := range shared {
		shared[i] = p.Ranges.Shared(i)
	}
	return extsort.Options{Regions: p.Ranges.Len(), Shared: shared, Workers: o.Workers, Memory: room.sort, Dir: o.SpillDir, Duplicates: p.Duplicates,
		Limit: int64(o.SpillLimit), OnSpill: o.Events.OnSpill}
}

// all is pass 1. What it counts goes into the manifest.
func (r *reader) all(ctx context.Context, m *manifest.Manifest) error {
	r.o.Events.Phase("read")
	err := r.run(ctx)
	used, fileErr := r.reject.finish()
	if err := errors.Join(err, fileErr); err != nil {
		return err
	}
	if used {
		m.RejectFile = r.o.RejectFile
	}
	m.Records, m.Rejected = r.rows, r.bad.Load()
	if err := r.o.Budget.Judge(m.Rejected, m.Records); err != nil {
		return fail.With(fail.BadRows, err)
	}
	r.o.Events.Phase("sort")
	if err := r.sorter.Finish(); err != nil {
		return err
	}
	stats := r.sorter.Stats()
	m.SpillBytes, m.Runs = stats.SpillBytes, stats.Runs
	return nil
}

// account puts what was written into the manifest, if every row of the snapshot
// is accounted for.
func (w *writer) account(m *manifest.Manifest, r *reader) error {
	t := w.total
	m.Duplicates, m.NoCells, m.Times = t.dups, t.empty, t.times
	m.Digest, m.RowSum = t.sum.digest(), t.sum.Sum()
	m.Files, m.HFiles = w.files, len(w.files)
	var cells int64
	for _, f := range m.Files {
		m.Bytes += f.Bytes
		cells += f.Cells
	}
	var err error
	switch rows := m.Records - m.Rejected - m.Duplicates - m.NoCells; {
	case t.merged != m.Records-m.Rejected:
		err = fmt.Errorf("%s were read and %d of them set aside, but %d were sorted", setting.Count(m.Records, "row"), m.Rejected, t.merged)
	case rows != t.sum.Rows:
		err = fmt.Errorf("%s − %d set aside − %d duplicates − %d without cells = %d, but %d were written", setting.Count(m.Records, "row"), m.Rejected, m.Duplicates, m.NoCells, rows, t.sum.Rows)
	case cells != t.sum.Cells:
		err = fmt.Errorf("%s were counted, but the files have %d", setting.Count(t.sum.Cells, "cell"), cells)
	case m.Duplicates == 0 && t.sum != r.sum:
		err = fmt.Errorf("read were %s, written %s", r.sum, t.sum)
	default:
		return nil
	}
	return fail.With(fail.Unexpected, setting.Errorf("the rows do not add up: %w; nothing was loaded (this is a fault of bulkload or of this machine: report it, and discard the job with %s)", err, setting.Restart))
}

// sortError gives errors of the sort their kinds.
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
