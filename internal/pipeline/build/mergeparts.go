package build

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/pipeline/chunk"
	"bulkload/internal/pipeline/encode"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/setting"
	"bulkload/pkg/source"
)

// A PartRun holds the chunks that one part has written, and the record of their contents.
type PartRun struct {
	Name string // for messages
	File *chunk.File
	Read *PartRead
}

// Written is the result of pass 2 for some regions of a table, over all parts.
type Written struct {
	Files      []manifest.File     `json:"files"` // in the order of their rows
	Digest     manifest.Digest     `json:"digest"`
	Times      *manifest.CellTimes `json:"times,omitempty"`
	Records    int64               `json:"records"` // sorted into the regions, duplicates included
	Duplicates int64               `json:"duplicates"`
	Joined     int64               `json:"joined,omitempty"`
	NoCells    int64               `json:"no_cells,omitempty"`
	RowSum     manifest.RowSum     `json:"row_sum,omitzero"` // of packed rows
	Took       time.Duration       `json:"took_ns"`
}

// runRoom is the memory that a merge holds for each run besides a chunk: uncompressed rows and the read-ahead buffer.
const runRoom = 256 << 10

// MergeParts is pass 2 on the chunks of parts. only selects the regions by their ordinals in the sort, nil for all. Runs are in the order of
// their parts and cover the whole input. chunkSize is the largest chunk size, in bytes, that a part used. places describes the positions of
// records, for messages. If the merge fails, files with a final name stay if the output is shared. The result has one element per table.
func MergeParts(ctx context.Context, tables []Table, runs []PartRun, chunkSize int, only func(region int) bool, places Places, o Options) ([]*Written, error) {
	o = o.WithDefaults()
	setDefaults(tables)
	plans := plansOf(tables)
	room := encode.WriterRoom(plans...) + int64(len(runs))*(int64(chunkSize)+runRoom)
	if o.Workers = min(o.Workers, int(int64(o.Memory)/room)); o.Workers == 0 {
		return nil, fail.Errorf(fail.Config, "memory of %s is too little to merge %d shares: %.0f MiB are needed (give more with %s, or cut the input into fewer shares)",
			o.Memory, len(runs), float64(room)/(1<<20), setting.Memory)
	}
	start := time.Now()
	o.Events.Phase("write")
	if err := Prepare(ctx, tables); err != nil {
		return nil, err
	}
	all := newWriters(tables, newPartRows(plans, runs), o)
	for _, w := range all {
		w.only = only
	}
	if err := writeAll(ctx, o.Workers, all); err != nil {
		err = locate(ctx, plans[0], err, places)
		for _, w := range all {
			err = errors.Join(err, w.undo(ctx))
		}
		return nil, err
	}
	done := make([]*Written, len(all))
	for i, w := range all {
		done[i] = w.written(start)
	}
	return done, endWriting(ctx, tables)
}

// written returns the result since a start time.
func (w *writers) written(start time.Time) *Written {
	return &Written{Files: w.files, Digest: w.digest, Times: w.times, Records: w.counts.records, Duplicates: w.counts.dups, Joined: w.counts.joined, NoCells: w.counts.noCells, RowSum: w.sum,
		Took: time.Since(start)}
}

// Judge returns an error if the input that all parts have read must not be built.
func Judge(parts []*PartRead, s spec.Spec) error {
	t := totalsOf(parts)
	b, err := source.NewBudget(s.BadRecords)
	if err != nil {
		return fail.With(fail.Config, err)
	}
	if err := b.Judge(t.Rejected, t.Records); err != nil {
		return fail.With(fail.BadRows, err)
	}
	o := Options{AllowEmpty: s.AllowEmpty, Missing: source.Missing(s.Missing)}
	return errors.Join(SomeRecords(t.Records, t.Rejected, t.Filtered, o), fail.With(fail.Input, expected(t.Records, s.Expect)),
		o.AllColumns(lackingOf(parts), t.Records-t.Rejected))
}

// WarnLacking warns about columns that no part has, in a job that allows missing columns.
func WarnLacking(parts []*PartRead, e progress.Events) {
	t := totalsOf(parts)
	_ = Options{Missing: source.MissingNull, Events: e}.AllColumns(lackingOf(parts), t.Records-t.Rejected) // Judge has refused the other cases
}

// lackingOf returns the columns that no part has.
func lackingOf(parts []*PartRead) []string {
	return manifest.InAll(parts, func(p *PartRead) []string { return p.Lacking })
}

// Assemble creates the manifests of a build, one for each table, from the records of all parts and the results of the merges, which have
// one element per table each.
func Assemble(plans []*cells.Plan, parts []*PartRead, written [][]*Written, allowEmpty bool) ([]*manifest.Manifest, error) {
	all := make([]*manifest.Manifest, len(plans))
	for t, plan := range plans {
		var own []*Written
		for _, tables := range written {
			if len(tables) != len(plans) {
				return nil, fail.Errorf(fail.Unexpected, "files of %s were written, of a build of %d", setting.Count(len(tables), "table"), len(plans))
			}
			own = append(own, tables[t])
		}
		var err error
		if all[t], err = assemble(plan, totalsOf(parts).of(t), own, allowEmpty); err != nil {
			return nil, ofTable(plans, t, err)
		}
	}
	return all, nil
}

// assemble creates the manifest of one table.
func assemble(plan *cells.Plan, totals sortTotals, written []*Written, allowEmpty bool) (*manifest.Manifest, error) {
	w := &writers{plan: plan}
	var took time.Duration
	for _, p := range written {
		w.files = append(w.files, p.Files...)
		w.digest.Add(p.Digest)
		w.sum.Add(p.RowSum)
		w.times = w.times.Join(p.Times)
		w.counts.add(regionCounts{dups: p.Duplicates, records: p.Records, joined: p.Joined, noCells: p.NoCells})
		took += p.Took
	}
	w.sortFiles()
	m, err := w.manifest(totals)
	if err != nil {
		return nil, err
	}
	m.WriteTime = took
	return m, someRows(m, Options{AllowEmpty: allowEmpty})
}

// WriteManifests removes incomplete files, and writes the manifest of each table into its directory, replacing the one of an earlier attempt.
func WriteManifests(ctx context.Context, tables []Table, m []*manifest.Manifest) error {
	setDefaults(tables)
	if err := endWriting(ctx, tables); err != nil {
		return err
	}
	return (&Resume{}).replaceManifests(ctx, tables, m)
}

// CountsOf returns the numbers of records of all parts.
func CountsOf(parts []*PartRead) progress.Records { return totalsOf(parts).counts() }

// totalsOf returns the sum of the totals of all parts.
func totalsOf(parts []*PartRead) (t sortTotals) {
	for _, p := range parts {
		t.Records += p.Records
		t.Rejected += p.Rejected
		t.Filtered += p.Filtered
		for i, n := range p.FilteredOwn {
			if t.FilteredOwn == nil {
				t.FilteredOwn = make([]int64, len(p.FilteredOwn))
			}
			t.FilteredOwn[i] += n
		}
		t.RejectFile, t.FilteredFile = cmp.Or(t.RejectFile, p.RejectFile), cmp.Or(t.FilteredFile, p.FilteredFile)
		t.SpillBytes += p.SpillBytes
		t.SpillRuns += p.SpillRuns
		t.Took += p.Took
		t.RowSum.Add(p.RowSum)
		t.Expect = t.Expect.Add(p.Expect)
	}
	return t
}

// partRows provides the rows of all runs.
type partRows struct {
	plans   []*cells.Plan
	runs    []PartRun
	regions []partRegion
}

// partRegion holds the counts of a region over all runs.
type partRegion struct {
	rows, bytes, leftOut int64
	sum                  uint64
}

func newPartRows(plans []*cells.Plan, runs []PartRun) *partRows {
	p := &partRows{plans: plans, runs: runs, regions: make([]partRegion, RegionsOf(plans))}
	for _, run := range runs {
		for _, r := range run.Read.Regions {
			all := &p.regions[r.Region]
			all.rows, all.bytes, all.leftOut, all.sum = all.rows+r.Rows, all.bytes+r.Bytes, all.leftOut+r.LeftOut, all.sum+r.Sum
		}
	}
	return p
}

func (p *partRows) Size(region int) (rows, bytes int64) {
	return p.regions[region].rows, p.regions[region].bytes
}

func (p *partRows) LeftOut(region int) int64 { return p.regions[region].leftOut }

// Region implements [sortedRows]. It checks the merged rows against the runs' records: all rows must be there, by count and sum.
func (p *partRows) Region(region int) (*extsort.Merge, func(*encode.Region) error, error) {
	var sources []*chunk.FrameReader
	expect := map[uint32]chunk.Counts{}
	for i, run := range p.runs {
		if run.File.Size(region) > 0 {
			sources = append(sources, run.File.Region(region))
		}
		of := run.Read.Regions
		if at, has := slices.BinarySearchFunc(of, region, func(r PartRegion, region int) int { return cmp.Compare(r.Region, region) }); has {
			expect[uint32(i)] = of[at].Counts
		}
	}
	r := chunk.NewReader(chunk.Join(sources...), func(run uint32) string {
		if int(run) < len(p.runs) {
			return p.runs[run].Name
		}
		return fmt.Sprintf("run %d", run)
	})
	all := &p.regions[region]
	return mergeChunks(p.plans, r, region, expect, func(chunk.Counts) (sum uint64, of string) { return all.sum, "the shares' rows" })
}

// mergeChunks merges the chunks of a region, given by its ordinal in the sort. The returned function checks that all rows of the chunks were
// written. It calls sum, at the end, for their expected sum.
func mergeChunks(plans []*cells.Plan, r *chunk.Reader, ordinal int, expect map[uint32]chunk.Counts, sum func(chunk.Counts) (sum uint64, of string)) (*extsort.Merge, func(*encode.Region) error, error) {
	t, region := tableOf(plans, ordinal)
	plan, left := plans[t], manifest.Digest{}
	ranges := plan.Ranges
	m, err := r.Merge(ordinal, chunk.RegionOptions{Bounds: chunk.Bounds{Start: ranges.Start(region), End: ranges.End(region)}, Shared: ranges.Shared(region),
		Duplicates: plan.RowPolicy(), Expect: expect, LeftOut: func(row []byte) { left.AddRow(row, 0) }})
	if err != nil {
		return nil, nil, readChunks(err)
	}
	return m.Merge, func(part *encode.Region) error {
		if err := m.Whole(); err != nil {
			return readChunks(err)
		}
		want, of := sum(m.Counts())
		if plain := !plan.Joins() && !plan.Expires() && plan.Packed == nil; plain && part.Digest.Sum+left.Sum != want {
			return ofTable(plans, t, fail.Errorf(fail.Unexpected, "region %d: rows written and left out have sum %016x, %s have %016x; nothing was loaded (a fault of bulkload or of this machine: report it)",
				region, part.Digest.Sum+left.Sum, of, want))
		}
		return nil
	}, nil
}

// readChunks returns an error about chunks with its kind: damaged chunks stay damaged, an unreadable place may become readable later.
func readChunks(err error) error {
	switch {
	case errors.Is(err, chunk.ErrDamaged):
		return fail.With(fail.Input, err)
	case errors.Is(err, chunk.ErrRead):
		return fail.With(fail.HDFS, err)
	}
	return err
}
