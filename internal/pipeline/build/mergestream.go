package build

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/pipeline/chunk"
	"bulkload/internal/pipeline/encode"
	"bulkload/internal/pipeline/streams"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/setting"
)

// Regions is the range of a plan's regions from From (inclusive) to To (exclusive).
type Regions struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Streamed is the result of pass 2 for the regions of a table whose chunks arrived in a stream. Its counts exclude the duplicates that the
// runs themselves have left out: the caller, who knows the runs, adds them, see [AssembleStreams].
type Streamed struct {
	Written
	Merged  []PartRegion    `json:"merged"`  // the counts of each region that had rows, over all runs
	Regions []WrittenRecord `json:"regions"` // regions that have files
}

// MergeStream is pass 2 on chunks that can be read only once, in the order of region and first key, as the shuffle of MapReduce delivers them.
// It ends with an error at a chunk of a region outside the given ones, which are ordinals in the sort. It does not detect that a whole run is
// missing, see [AssembleStreams]. A failed merge is started over elsewhere, since the chunks are gone: its files are not removed. The result
// has one element per table.
func MergeStream(ctx context.Context, tables []Table, in chunk.Source, regions Regions, run func(uint32) string, places Places, o Options) ([]*Streamed, error) {
	o = o.WithDefaults()
	setDefaults(tables)
	start, plans := time.Now(), plansOf(tables)
	o.Events.Phase("write")
	if err := Prepare(ctx, tables); err != nil {
		return nil, err
	}
	rows := &streamRows{plans: plans, reader: chunk.NewReader(in, run)}
	done := NewDone()
	o.resume = &Resume{Done: &done, Checkpoint: noCheckpoint{&done}}
	writers := newWriters(tables, rows, o)
	all := make([]*Streamed, len(tables))
	for t := range all {
		all[t] = &Streamed{Merged: []PartRegion{}, Regions: []WrittenRecord{}}
	}
	for {
		ordinal, err := rows.reader.Next()
		if err == io.EOF {
			break
		}
		if err == nil && (ordinal < regions.From || ordinal >= regions.To) {
			err = fail.Errorf(fail.Unexpected, "got rows of region %d, want regions %d to %d: the partition file and the plan differ", ordinal, regions.From, regions.To-1)
		}
		if err != nil {
			return nil, readChunks(err)
		}
		t, region := tableOf(plans, ordinal)
		p, err := writers[t].encode(ctx, regionOfStream(region), 0)
		if err == nil {
			err = writers[t].complete(ctx, p)
		}
		if err != nil {
			return nil, locate(ctx, plans[0], err, places)
		}
		all[t].Merged = append(all[t].Merged, PartRegion{Region: ordinal, Counts: rows.merged})
	}
	for _, ordinal := range slices.Sorted(maps.Keys(done.Written)) {
		t, _ := tableOf(plans, ordinal)
		all[t].Regions = append(all[t].Regions, done.Written[ordinal])
	}
	for t, w := range writers {
		all[t].Written = *w.written(start)
	}
	return all, endWriting(ctx, tables)
}

// regionOfStream returns a region whose size is unknown before it is written: files get blocks of 128 MiB.
func regionOfStream(i int) region { return region{i: i, size: 256 << 20} }

// noCheckpoint is the checkpoint of a build that is repeated as a whole: finished work is recorded only in memory.
type noCheckpoint struct{ done *Done }

func (c noCheckpoint) Spilling(s SpillRecord) error     { c.done.ForgetSpill(s.Dir); return nil }
func (c noCheckpoint) Streaming(s streams.Record) error { c.done.Stream(s); return nil }
func (c noCheckpoint) Sorted(s SortedRecord) error      { c.done.Sort(s); return nil }
func (c noCheckpoint) Wrote(w WrittenRecord) error      { c.done.Write(w); return nil }
func (c noCheckpoint) Lost(l LostRecord) error          { c.done.Lose(l); return nil }

// streamRows provides the rows of a stream of chunks, region after region.
type streamRows struct {
	plans  []*cells.Plan
	reader *chunk.Reader
	merged chunk.Counts // of the region that was merged last
}

func (s *streamRows) Size(int) (rows, bytes int64) { return 0, 0 }
func (s *streamRows) LeftOut(int) int64            { return 0 }

// Region implements [sortedRows] for the next region of the stream.
func (s *streamRows) Region(region int) (*extsort.Merge, func(*encode.Region) error, error) {
	return mergeChunks(s.plans, s.reader, region, nil, func(came chunk.Counts) (sum uint64, of string) {
		s.merged = came
		return came.Sum, "the rows that came"
	})
}

// AssembleStreams compares the results of the streams, which have one element per table each, with the records of the parts, region by region,
// and creates the manifests of the whole build. The region records are those of one build. It returns an error if rows of a part reached no
// stream, or were written twice.
func AssembleStreams(plans []*cells.Plan, parts []*PartRead, streams [][]*Streamed, allowEmpty bool) ([]*manifest.Manifest, []WrittenRecord, error) {
	read := make([]PartRegion, RegionsOf(plans))
	for i, p := range parts {
		if err := p.Check(plans); err != nil {
			return nil, nil, fail.With(fail.Unexpected, fmt.Errorf("part %d of %d: %w", i+1, len(parts), err))
		}
		for _, r := range p.Regions {
			read[r.Region].Add(r.Counts)
			read[r.Region].LeftOut += r.LeftOut
		}
	}
	merged := make([]chunk.Counts, len(read))
	var written [][]*Written
	var records []WrittenRecord
	for _, stream := range streams {
		var own []*Written
		for t, s := range stream {
			one := s.Written
			for _, m := range s.Merged {
				if m.Region < 0 || m.Region >= len(read) || merged[m.Region] != (chunk.Counts{}) {
					return nil, nil, fail.Errorf(fail.Unexpected, "region %d of %d was written twice, or is not in the plan", m.Region, len(read))
				}
				if of, _ := tableOf(plans, m.Region); of != t {
					return nil, nil, fail.Errorf(fail.Unexpected, "region %d of table %d was written as one of table %d", m.Region, of, t)
				}
				merged[m.Region] = m.Counts
				one.Records += read[m.Region].LeftOut
				one.Duplicates += read[m.Region].LeftOut
			}
			for _, r := range s.Regions {
				i := r.InSort()
				if i < 0 || i >= len(read) || merged[i] == (chunk.Counts{}) {
					return nil, nil, fail.Errorf(fail.Unexpected, "region %d has files, but no rows", i)
				}
				r.Records += read[i].LeftOut
				r.Dups += read[i].LeftOut
				records = append(records, r)
			}
			own = append(own, &one)
		}
		written = append(written, own)
	}
	for i, want := range read {
		if merged[i] != want.Counts {
			t, region := tableOf(plans, i)
			return nil, nil, ofTable(plans, t, fail.Errorf(fail.Unexpected, "region %d: %d chunks of %s, sum %016x, were written; %d of %s, sum %016x, were read: rows are lost, nothing was loaded (the same command builds again)",
				region, merged[i].Chunks, setting.Count(merged[i].Rows, "row"), merged[i].Sum, want.Chunks, setting.Count(want.Rows, "row"), want.Sum))
		}
	}
	all, err := Assemble(plans, parts, written, allowEmpty)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range records {
		t, _ := tableOf(plans, r.InSort())
		all[t].Samples = append(all[t].Samples, r.samples()...)
	}
	return all, records, nil
}
