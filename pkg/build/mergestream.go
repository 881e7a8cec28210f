package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"time"

	"bulkload/pkg/chunk"
	"bulkload/pkg/fail"
	"bulkload/pkg/manifest"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/setting"
)

// Regions are those of a plan from one on and before another.
type Regions struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Streamed is what pass 2 made of the regions whose chunks came in a stream. What the runs have left out as duplicates of their own is
// not in its counts: who knows the runs adds it, see [AssembleStreams].
type Streamed struct {
	Written
	Merged  []PartRegion    `json:"merged"`  // what came of each region that had rows, of all runs
	Regions []WrittenRecord `json:"regions"` // those that have files
}

// MergeStream is pass 2 on chunks that come once, by region and first key, as the shuffle of MapReduce gives them. A chunk of a region
// that is none of the given ones ends it. Whether a run is missing as a whole is not seen here, see [AssembleStreams]. Samples are rows to
// remember of each region. A failed merge is started over elsewhere, since the chunks are gone: what it wrote is not removed.
func MergeStream(ctx context.Context, plan *Plan, in chunk.Source, regions Regions, run func(uint32) string, places Places, out Output, samples int, o Options) (*Streamed, error) {
	o, out = o.WithDefaults(), out.withDefaults()
	start := time.Now()
	o.Events.Phase("write")
	if err := out.Prepare(ctx, plan.familyNames()...); err != nil {
		return nil, err
	}
	s := &Streamed{Merged: []PartRegion{}, Regions: []WrittenRecord{}}
	rows := &streamRows{plan: plan, reader: chunk.NewReader(in, run)}
	done := NewDone()
	w := &writers{plan: plan, sort: rows, out: out, sample: samples, events: o.Events, gate: o.Gate, resume: &Resume{Done: &done, Checkpoint: noCheckpoint{&done}}}
	for {
		region, err := rows.reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && (region < regions.From || region >= regions.To) {
			err = fail.Errorf(fail.Unexpected, "rows of region %d came, where those of %d to %d are expected: the partition file and the plan differ", region, regions.From, regions.To-1)
		}
		if err != nil {
			return nil, readChunks(err)
		}
		p, err := w.encode(ctx, regionOfStream(region), 0)
		if err == nil {
			err = w.complete(ctx, p)
		}
		if err != nil {
			return nil, Locate(err, places)
		}
		s.Merged = append(s.Merged, PartRegion{Region: region, Counts: rows.merged})
	}
	for _, region := range slices.Sorted(maps.Keys(done.Written)) {
		s.Regions = append(s.Regions, done.Written[region])
	}
	s.Written = Written{Files: w.files, Digest: w.digest, Times: w.times, Records: w.counts.records, Duplicates: w.counts.dups, Joined: w.counts.joined,
		NoCells: w.counts.noCells, Took: time.Since(start)}
	return s, fail.With(fail.HDFS, out.FS.RemoveAll(ctx, path.Join(out.Dir, out.writing())))
}

// regionOfStream is a region of which nobody knows the size before it is written: files get blocks of 128 MiB.
func regionOfStream(i int) region { return region{i: i, size: 256 << 20} }

// noCheckpoint is of a build that is done again as a whole: what it has finished is in memory alone.
type noCheckpoint struct{ done *Done }

func (c noCheckpoint) Spilling(s SpillRecord) error   { c.done.ForgetSpill(s.Dir); return nil }
func (c noCheckpoint) Streaming(s StreamRecord) error { c.done.Stream(s); return nil }
func (c noCheckpoint) Sorted(s SortedRecord) error    { c.done.Sort(s); return nil }
func (c noCheckpoint) Wrote(w WrittenRecord) error    { c.done.Write(w); return nil }
func (c noCheckpoint) Lost(l LostRecord) error        { c.done.Lose(l); return nil }

// streamRows are the rows of a stream of chunks, region after region.
type streamRows struct {
	plan   *Plan
	reader *chunk.Reader
	merged chunk.Counts // of the region that was merged last
}

func (s *streamRows) Size(int) (rows, bytes int64) { return 0, 0 }
func (s *streamRows) LeftOut(int) int64            { return 0 }

// Region implements [sortedRows], for the region that comes next.
func (s *streamRows) Region(region int) (*extsort.Merge, func(*regionPart) error, error) {
	ranges, left := s.plan.Ranges, manifest.Digest{}
	m, err := s.reader.Merge(region, chunk.RegionOptions{Bounds: chunk.Bounds{Start: ranges.Start(region), End: ranges.End(region)}, Shared: ranges.Shared(region),
		Duplicates: s.plan.rowPolicy(), LeftOut: func(row []byte) { left.AddRow(row, 0) }})
	if err != nil {
		return nil, nil, readChunks(err)
	}
	return m.Merge, func(part *regionPart) error {
		if err := m.Whole(); err != nil {
			return readChunks(err)
		}
		s.merged = m.Counts()
		if plain := len(s.plan.wide) == 0 && s.plan.timing.ttl < 0; plain && part.digest.Sum+left.Sum != s.merged.Sum {
			return fail.Errorf(fail.Unexpected, "region %d: the rows that were written and those left out have sum %016x, the rows that came have %016x; nothing was loaded (this is a fault of bulkload or of this machine: report it)",
				region, part.digest.Sum+left.Sum, s.merged.Sum)
		}
		return nil
	}, nil
}

// AssembleStreams holds what was written of streams to what the parts have read, region by region, and makes the manifest of the whole. The
// regions' records are those of one build. A part's rows that came to no stream, or twice, are an error.
func AssembleStreams(ctx context.Context, plan *Plan, parts []*PartRead, streams []*Streamed, allowEmpty bool) (*manifest.Manifest, []WrittenRecord, error) {
	read := make([]PartRegion, plan.Ranges.Len())
	for i, p := range parts {
		if err := p.Check(len(read)); err != nil {
			return nil, nil, fail.With(fail.Unexpected, fmt.Errorf("part %d of %d: %w", i+1, len(parts), err))
		}
		for _, r := range p.Regions {
			read[r.Region].Add(r.Counts)
			read[r.Region].LeftOut += r.LeftOut
		}
	}
	merged := make([]chunk.Counts, len(read))
	var written []*Written
	var records []WrittenRecord
	for _, s := range streams {
		one := s.Written
		for _, m := range s.Merged {
			if m.Region < 0 || m.Region >= len(read) || merged[m.Region] != (chunk.Counts{}) {
				return nil, nil, fail.Errorf(fail.Unexpected, "region %d of %d was written twice, or is none of the plan", m.Region, len(read))
			}
			merged[m.Region] = m.Counts
			one.Records += read[m.Region].LeftOut
			one.Duplicates += read[m.Region].LeftOut
		}
		for _, r := range s.Regions {
			if r.Region < 0 || r.Region >= len(read) || merged[r.Region] == (chunk.Counts{}) {
				return nil, nil, fail.Errorf(fail.Unexpected, "region %d has files, and no rows came of it", r.Region)
			}
			r.Records += read[r.Region].LeftOut
			r.Dups += read[r.Region].LeftOut
			records = append(records, r)
		}
		written = append(written, &one)
	}
	for i, want := range read {
		if merged[i] != want.Counts {
			return nil, nil, fail.Errorf(fail.Unexpected, "region %d: %d chunks of %s with sum %016x were written, %d of %s with %016x were read: rows were lost on their way; nothing was loaded (the same command builds again)",
				i, merged[i].Chunks, setting.Count(merged[i].Rows, "row"), merged[i].Sum, want.Chunks, setting.Count(want.Rows, "row"), want.Sum)
		}
	}
	m, err := Assemble(ctx, plan, parts, written, allowEmpty)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range records {
		for _, s := range r.Samples {
			m.Samples = append(m.Samples, manifest.Sample{Key: s.Key, Sum: s.Sum, Stamp: s.Time, Expires: s.Expires})
		}
	}
	return m, records, nil
}
