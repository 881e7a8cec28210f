package build

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"bulkload/pkg/chunk"
	"bulkload/pkg/fail"
	"bulkload/pkg/manifest"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/progress"
	"bulkload/pkg/setting"
	"bulkload/pkg/source"
	"bulkload/pkg/spec"
)

// A PartRun is what one part has left: its chunks, and what it says that they hold.
type PartRun struct {
	Name string // in messages
	File *chunk.File
	Read *PartRead
}

// Written is what pass 2 made of some regions of all parts.
type Written struct {
	Files      []manifest.File     `json:"files"` // in the order of their rows
	Digest     manifest.Digest     `json:"digest"`
	Times      *manifest.CellTimes `json:"times,omitempty"`
	Records    int64               `json:"records"` // that were rows of the regions, duplicates included
	Duplicates int64               `json:"duplicates"`
	Joined     int64               `json:"joined,omitempty"`
	NoCells    int64               `json:"no_cells,omitempty"`
	Took       time.Duration       `json:"took_ns"`
}

// runRoom is what a merge holds of a run beside a chunk: what is unpacked of it, and what is read ahead.
const runRoom = 256 << 10

// MergeParts is pass 2 on the regions that only chooses, nil for all, of what parts have read. Runs are in the order of their parts and
// cover all of the input. chunkSize is the largest that a part was cut with, in bytes. places say where records lie, for messages.
// What a failed merge has written under a final name stays if the output is shared.
func MergeParts(ctx context.Context, plan *Plan, runs []PartRun, chunkSize int, only func(region int) bool, places Places, out Output, o Options) (*Written, error) {
	o, out = o.WithDefaults(), out.withDefaults()
	room := int64(len(runs))*(int64(chunkSize)+runRoom) + plan.WriterRoom()
	if o.Workers = min(o.Workers, int(int64(o.Memory)/room)); o.Workers == 0 {
		return nil, fail.Errorf(fail.Config, "memory of %s is too little to merge %d shares: %.0f MiB are needed (give more with %s, or cut the input into fewer shares)",
			o.Memory, len(runs), float64(room)/(1<<20), setting.Memory)
	}
	start := time.Now()
	o.Events.Phase("write")
	if err := out.Prepare(ctx, plan.familyNames()...); err != nil {
		return nil, err
	}
	w := &writers{plan: plan, sort: newPartRows(plan, runs), out: out, events: o.Events, gate: o.Gate, only: only}
	if err := w.run(ctx, o.Workers); err != nil {
		return nil, errors.Join(Locate(err, places), w.undo(ctx))
	}
	return &Written{Files: w.files, Digest: w.digest, Times: w.times, Records: w.counts.records, Duplicates: w.counts.dups, Joined: w.counts.joined, NoCells: w.counts.noCells,
		Took: time.Since(start)}, fail.With(fail.HDFS, out.FS.RemoveAll(ctx, path.Join(out.Dir, out.writing())))
}

// Judge says whether what all parts have read is an input that may be built.
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
	return errors.Join(someRecords(t.Records, t.Rejected, o), fail.With(fail.Input, expected(t.Records, s.Expect)),
		o.AllColumns(lackingOf(parts), t.Records-t.Rejected))
}

// WarnLacking warns of columns that no part has, in a job that may miss them.
func WarnLacking(parts []*PartRead, e progress.Events) {
	t := totalsOf(parts)
	_ = Options{Missing: source.MissingNull, Events: e}.AllColumns(lackingOf(parts), t.Records-t.Rejected) // Judge has refused the others
}

// lackingOf are the columns that no part has.
func lackingOf(parts []*PartRead) []string {
	var names []string
	for i, p := range parts {
		if i == 0 {
			names = slices.Clone(p.Lacking)
		}
		names = slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(p.Lacking, name) })
	}
	return names
}

// Assemble is the manifest of a build, from what all parts have read and what was written of all regions.
func Assemble(ctx context.Context, plan *Plan, parts []*PartRead, written []*Written, allowEmpty bool) (*manifest.Manifest, error) {
	w := &writers{plan: plan}
	var took time.Duration
	for _, p := range written {
		w.files = append(w.files, p.Files...)
		w.digest.Add(p.Digest)
		w.times = w.times.Join(p.Times)
		w.counts.add(regionCounts{dups: p.Duplicates, records: p.Records, joined: p.Joined, noCells: p.NoCells})
		took += p.Took
	}
	slices.SortFunc(w.files, func(a, b manifest.File) int { return cmp.Or(a.Region-b.Region, cmp.Compare(a.Family, b.Family)) })
	m, err := w.manifest(totalsOf(parts))
	if err != nil {
		return nil, err
	}
	m.WriteTime = took
	return m, someRows(m, Options{AllowEmpty: allowEmpty})
}

// WriteManifest writes the manifest of a build into its directory, over that of an earlier attempt.
func WriteManifest(ctx context.Context, out Output, m *manifest.Manifest) error {
	return (&Resume{}).replaceManifest(ctx, out.withDefaults(), m)
}

// totalsOf adds up what parts have read.
func totalsOf(parts []*PartRead) (t sortTotals) {
	for _, p := range parts {
		t.Records += p.Records
		t.Rejected += p.Rejected
		t.RejectFile = cmp.Or(t.RejectFile, p.RejectFile)
		t.SpillBytes += p.SpillBytes
		t.SpillRuns += p.SpillRuns
		t.Took += p.Took
	}
	return t
}

// partRows are the rows of all runs.
type partRows struct {
	plan    *Plan
	runs    []PartRun
	regions []partRegion
}

// partRegion is what all runs have of a region.
type partRegion struct {
	rows, bytes, leftOut int64
	sum                  uint64
	expect               map[uint32]chunk.Counts
}

func newPartRows(plan *Plan, runs []PartRun) *partRows {
	p := &partRows{plan: plan, runs: runs, regions: make([]partRegion, plan.Ranges.Len())}
	for i, run := range runs {
		for _, r := range run.Read.Regions {
			all := &p.regions[r.Region]
			if all.expect == nil {
				all.expect = map[uint32]chunk.Counts{}
			}
			all.expect[uint32(i)] = r.Counts
			all.rows, all.bytes, all.leftOut, all.sum = all.rows+r.Rows, all.bytes+r.Bytes, all.leftOut+r.LeftOut, all.sum+r.Sum
		}
	}
	return p
}

func (p *partRows) Size(region int) (rows, bytes int64) {
	return p.regions[region].rows, p.regions[region].bytes
}

func (p *partRows) LeftOut(region int) int64 { return p.regions[region].leftOut }

// Region implements [sortedRows]. What comes out is held to what the runs say: all of their rows, by count and sum.
func (p *partRows) Region(region int) (*extsort.Merge, func(*regionPart) error, error) {
	var sources []*chunk.FrameReader
	for _, run := range p.runs {
		if run.File.Size(region) > 0 {
			sources = append(sources, run.File.Region(region))
		}
	}
	ranges, all := p.plan.Ranges, &p.regions[region]
	left := manifest.Digest{}
	m, err := chunk.NewReader(chunk.Join(sources...), func(run uint32) string {
		if int(run) < len(p.runs) {
			return p.runs[run].Name
		}
		return fmt.Sprintf("run %d", run)
	}).Merge(region, chunk.RegionOptions{Bounds: chunk.Bounds{Start: ranges.Start(region), End: ranges.End(region)}, Shared: ranges.Shared(region),
		Duplicates: p.plan.rowPolicy(), Expect: all.expect, LeftOut: func(row []byte) { left.AddRow(row, 0) }})
	if err != nil {
		return nil, nil, readChunks(err)
	}
	return m.Merge, func(part *regionPart) error {
		if err := m.Whole(); err != nil {
			return readChunks(err)
		}
		if plain := len(p.plan.wide) == 0 && p.plan.timing.ttl < 0; plain && part.digest.Sum+left.Sum != all.sum {
			return fail.Errorf(fail.Unexpected, "region %d: the rows that were written and those left out have sum %016x, the shares' rows have %016x; nothing was loaded (this is a fault of bulkload or of this machine: report it)",
				region, part.digest.Sum+left.Sum, all.sum)
		}
		return nil
	}, nil
}

// readChunks is the kind of an error of chunks: what is damaged stays so, what could not be read may be read later.
func readChunks(err error) error {
	switch {
	case errors.Is(err, chunk.ErrDamaged):
		return fail.With(fail.Input, err)
	case errors.Is(err, chunk.ErrRead):
		return fail.With(fail.HDFS, err)
	}
	return err
}
