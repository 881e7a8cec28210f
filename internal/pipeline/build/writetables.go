package build

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/pipeline/cells"
	"bulkload/pkg/partition/extsort"
)

// writeTables is pass 2 on all tables. It also writes their manifests.
func writeTables(ctx context.Context, tables []Table, rows rowSource, sorter *extsort.Sorter, totals sortTotals, o Options) ([]*manifest.Manifest, error) {
	read := time.Now()
	o.Events.Phase("write")
	all := newWriters(tables, ownSort{sorter}, o)
	for i, t := range tables {
		all[i].decoder = t.Plan.Decoder(totals.Notes)
		o.resume.start(all[i])
	}
	if err := Prepare(ctx, tables); err != nil {
		return nil, err
	}
	undo := func(err error) ([]*manifest.Manifest, error) {
		for _, w := range all {
			err = errors.Join(err, w.undo(ctx))
		}
		return nil, err
	}
	if err := writeAll(ctx, o.Workers, all); err != nil {
		return undo(rows.locate(ctx, err))
	}
	if err := o.allowed(); err != nil { // if no file was renamed, the manifest still is
		return undo(err)
	}
	manifests := make([]*manifest.Manifest, len(tables))
	for i, w := range all {
		var err error
		if manifests[i], err = w.manifest(totals.of(i)); err == nil {
			err = someRows(manifests[i], o)
		}
		if err != nil {
			return undo(w.named(err))
		}
	}
	if err := rows.duplicates(ctx, sorter, manifests); err != nil {
		return undo(err)
	}
	if err := rows.recheck(ctx); err != nil {
		return undo(err)
	}
	if err := o.finishLeftOut(totals.Filtered, manifests); err != nil {
		return undo(err)
	}
	for _, m := range manifests {
		m.WriteTime = time.Since(read)
	}
	if err := o.resume.replaceManifests(ctx, tables, manifests); err != nil {
		if o.resume == nil {
			forgetManifests(ctx, tables)
		}
		return undo(err)
	}
	o.endComplete(ctx, tables)
	return manifests, nil
}

// endComplete is endWriting for tables whose manifests are written: the build has succeeded, and could not be repeated where its files are.
func (o Options) endComplete(ctx context.Context, tables []Table) {
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	if err := endWriting(ctx, tables); err != nil {
		o.Events.Warn("all files are written, but the directory of unfinished ones could not be removed: remove it before the files are loaded",
			"directory", tables[0].Out.writing(), "error", err)
	}
}

// Prepare creates the directories of all tables.
func Prepare(ctx context.Context, tables []Table) error {
	for _, t := range tables {
		if err := t.Out.Prepare(ctx, t.Plan.FamilyNames()...); err != nil {
			return err
		}
	}
	return nil
}

// endWriting removes the directories of incomplete files.
func endWriting(ctx context.Context, tables []Table) error {
	var errs []error
	for _, t := range tables {
		errs = append(errs, t.Out.FS.RemoveAll(ctx, path.Join(t.Out.Dir, t.Out.writing())))
	}
	return fail.With(fail.HDFS, errors.Join(errs...))
}

// forgetManifests removes the manifests that were written before another table's manifest failed.
func forgetManifests(ctx context.Context, tables []Table) {
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	for _, t := range tables {
		_ = t.Out.FS.Remove(ctx, path.Join(t.Out.Dir, manifest.FileName)) // it may not exist
	}
}

// undo removes the files of a failed build; a resumable build keeps them.
func (w *writers) undo(ctx context.Context) error {
	if w.resume != nil {
		return nil
	}
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	var errs []error
	if w.out.Shared {
		return w.out.FS.RemoveAll(ctx, path.Join(w.out.Dir, w.out.writing()))
	}
	for _, f := range w.files {
		errs = append(errs, w.out.FS.Remove(ctx, path.Join(w.out.Dir, f.Name)))
		delete(w.claims, path.Join(w.out.Dir, f.Name))
	}
	for name := range w.claims {
		if w.claimed(ctx, name) {
			errs = append(errs, w.out.FS.Remove(ctx, name))
		}
	}
	return errors.Join(append(errs, w.out.FS.RemoveAll(ctx, path.Join(w.out.Dir, WritingDir)))...)
}

func writeManifest(ctx context.Context, out Output, m *manifest.Manifest) error {
	b, err := manifest.Seal(m)
	if err != nil {
		return err
	}
	return out.writeWhole(ctx, manifest.FileName, b)
}

// A Table is a table that a build writes: the plan of its files, and where they are written.
type Table struct {
	Plan *cells.Plan
	Out  Output
}

// setDefaults completes the outputs of tables.
func setDefaults(tables []Table) {
	for i := range tables {
		tables[i].Out = tables[i].Out.withDefaults()
	}
}

func plansOf(tables []Table) (plans []*cells.Plan) {
	for _, t := range tables {
		plans = append(plans, t.Plan)
	}
	return plans
}

// RegionsOf returns the total number of regions of the tables, which one sort has.
func RegionsOf(plans []*cells.Plan) (n int) {
	for _, p := range plans {
		n += p.Ranges.Len()
	}
	return n
}

// tableOf returns the table of a region, given by its ordinal in the sort, and the region's number in that table.
func tableOf(plans []*cells.Plan, ordinal int) (table, region int) {
	for ordinal >= plans[table].Ranges.Len() {
		ordinal -= plans[table].Ranges.Len()
		table++
	}
	return table, ordinal
}

// ofTable adds the table to an error, if there are several tables.
func ofTable(plans []*cells.Plan, table int, err error) error {
	if err == nil || len(plans) == 1 {
		return err
	}
	return fmt.Errorf("table %s: %w", plans[table].Table, err)
}

// newWriters returns the writers of all tables, whose regions follow one another in the rows.
func newWriters(tables []Table, rows sortedRows, o Options) []*writers {
	all := make([]*writers, len(tables))
	from, sinks := 0, &sinkPool{index: o.indexMemory()}
	for i, t := range tables {
		all[i] = &writers{plan: t.Plan, sort: rows, from: from, out: t.Out, sample: o.Sample, events: o.Events, resume: o.resume, gate: o.Gate, allowed: o.Allowed,
			several: len(tables) > 1, sinks: sinks, decoder: t.Plan.Decoder("")}
		from += t.Plan.Ranges.Len()
	}
	return all
}
