package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"sync"
	"time"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/pipeline/filecheck"
	"bulkload/internal/pipeline/streams"
	"bulkload/pkg/hdfsio"
)

// Done holds the work that attempts of a build have finished: the contents of their [Checkpoint] records.
type Done struct {
	Spill   string                // directory of the sorted runs, empty if there is none
	Sorted  *SortedRecord         // nil: the input has not been read to its end
	Written map[int]WrittenRecord // by the region's ordinal in the sort
	Built   *manifest.Manifest    // of the first table; nil: files may be missing
	// BuiltTables are the manifests of further tables.
	BuiltTables []*manifest.Manifest
	Streams     map[string]streams.State // by place: the state of each stream
}

// NewDone returns an empty Done.
func NewDone() Done { return Done{Written: map[int]WrittenRecord{}} }

// Sort records that the whole input is sorted.
func (d *Done) Sort(s SortedRecord) { d.Sorted = &s }

// Write records the files of a region.
func (d *Done) Write(w WrittenRecord) { d.Written[w.InSort()] = w }

// Stream records the state of a stream.
func (d *Done) Stream(r streams.Record) { d.Streams = streams.Note(d.Streams, r) }

// LostRecord names regions whose files are missing or differ from what was written.
type LostRecord struct {
	Regions []int `json:"regions"`       // ordinals in the sort
	All     bool  `json:"all,omitempty"` // the sorted rows are void too: the input, or the way to read it, has changed
}

// Lose records that files must be written again.
func (d *Done) Lose(l LostRecord) {
	for _, ordinal := range l.Regions {
		delete(d.Written, ordinal)
	}
	if l.All {
		d.Sorted = nil
	}
	d.Built, d.BuiltTables = nil, nil // recorded again once all files are there
}

// Checkpoint records finished work of a build, so that another attempt can
// resume after a crash. Each method returns when the record is as durable as
// documented and is in [Done].
type Checkpoint interface {
	// Spilling is called before a directory for sorted runs is created, and with an empty name after it is removed.
	Spilling(SpillRecord) error
	// Streaming is called before a stream is copied into a file, when the copy is complete, and after it is removed. The
	// record is synced. Several goroutines may call it, one at a time.
	Streaming(streams.Record) error
	// Sorted is called when the whole input is sorted and its runs are on disk. The record is synced.
	Sorted(SortedRecord) error
	// Wrote is called when the files of a region have their final names. Several goroutines may call it.
	Wrote(WrittenRecord) error
	// Lost is called when files of earlier attempts are missing or damaged. The record is synced.
	Lost(LostRecord) error
}

// Resume makes a build record its finished work and resume from the work of an
// earlier attempt. A nil Resume does neither.
type Resume struct {
	*Done
	Checkpoint Checkpoint
	Name       string // of the job, which identifies its directories of sorted runs

	mu sync.Mutex // writers of several tables record their files
}

// skip returns a function that reports whether a region's file is already written, nil if none is.
func (r *Resume) skip() func(int) bool {
	if r == nil || len(r.Written) == 0 {
		return nil
	}
	return r.has
}

// has reports whether the file of a region is already written.
func (r *Resume) has(region int) bool {
	if r == nil {
		return false
	}
	_, ok := r.Written[region]
	return ok
}

// complete reports whether every region with rows has its file, so that the
// input need not be read again.
func (r *Resume) complete(o Options) bool {
	if r == nil || r.Sorted == nil || !r.usable(o) {
		return false
	}
	return !slices.ContainsFunc(r.Sorted.Regions, func(region int) bool {
		w, ok := r.Written[region]
		return !ok || o.Duplicates != nil && w.losers()
	})
}

// forgetLosing marks regions that left out duplicates to be written again, while files of indexes may be missing: an index has no
// entry for a left-out record, and only the merge determines these records. leading is the number of the first table's regions to
// consider, 0 if no table is an index. If files of duplicates are requested, all regions that left out records are written again.
func (r *Resume) forgetLosing(leading int, o Options) error {
	if r == nil || leading == 0 && o.Duplicates == nil || r.complete(o) {
		return nil
	}
	var again LostRecord
	for ordinal, w := range r.Written {
		if (ordinal < leading || o.Duplicates != nil) && w.losers() {
			again.Regions = append(again.Regions, ordinal)
		}
	}
	if len(again.Regions) == 0 {
		return nil
	}
	slices.Sort(again.Regions)
	return r.Checkpoint.Lost(again)
}

// start counts the files of earlier attempts as written.
func (r *Resume) start(w *writers) {
	if r == nil {
		return
	}
	for ordinal, f := range r.Written {
		if ordinal < w.from || ordinal >= w.from+w.plan.Ranges.Len() {
			continue // another table's
		}
		w.files = append(w.files, f.Files()...)
		w.digest.Add(f.Part)
		w.sum.Add(f.RowSum)
		w.times = w.times.Join(f.Times)
		w.counts.add(regionCounts{dups: f.Dups, records: f.Records, joined: f.Joined, noCells: f.NoCells})
		w.uncounted = w.uncounted || f.Records == 0
		w.samples = append(w.samples, f.samples()...)
	}
}

// wrote records that the files of a region are complete. from is the ordinal, in the sort, of the table's first region.
func (r *Resume) wrote(files []*pendingFile, p *pendingRegion, from int) error {
	if r == nil {
		return nil
	}
	record := WrittenRecord{File: files[0].File, Part: p.part.Digest, RowSum: p.part.Sum, Times: p.part.Times,
		Dups: p.counts.dups, Records: p.counts.records, Joined: p.counts.joined, NoCells: p.counts.noCells}
	for _, f := range files[1:] {
		record.Others = append(record.Others, f.File)
	}
	for _, s := range p.part.Samples() {
		record.Samples = append(record.Samples, sampleRecord{s.Key, s.Sum, s.Stamp, s.Expires})
	}
	if from > 0 {
		record.Ordinal = from + record.Region
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Checkpoint.Wrote(record)
}

// Manifests returns the manifests of a build of several tables whose files are all complete.
func (r *Resume) Manifests(tables []Table) ([]*manifest.Manifest, error) {
	list := make([]*manifest.Manifest, len(tables))
	for i, w := range newWriters(tables, nil, Options{resume: r}) {
		var err error
		if list[i], err = r.manifest(w, i); err != nil {
			return nil, w.named(err)
		}
	}
	return list, nil
}

// builtOf returns the journal's manifest of a table's finished build, nil if it is not finished.
func (r *Resume) builtOf(table int) *manifest.Manifest {
	switch {
	case table == 0:
		return r.Built
	case r.Built != nil && table <= len(r.BuiltTables):
		return r.BuiltTables[table-1]
	}
	return nil
}

func (r *Resume) manifest(w *writers, table int) (*manifest.Manifest, error) {
	b := r.builtOf(table)
	r.start(w)
	w.sortFiles()
	var t sortTotals
	if r.Sorted != nil {
		t = r.Sorted.of(table)
	}
	var took time.Duration
	if b != nil {
		// Regions without cells have no record.
		t = sortTotals{Records: b.Records, Rejected: b.Rejected, Filtered: b.Filtered, RejectFile: b.RejectFile, FilteredFile: b.FilteredFile, SpillBytes: b.SpillBytes, SpillRuns: b.Runs, Took: b.ReadTime, RowSum: t.RowSum, Expect: b.Expect}
		w.counts.dups, w.counts.joined, w.counts.noCells, took = b.Duplicates, b.Joined, b.NoCells, b.WriteTime
		w.counts.records = t.Records - t.Rejected - t.Filtered
		w.uncounted = w.uncounted || len(w.files) == 0
	}
	m, err := w.manifest(t)
	if err == nil {
		m.WriteTime = took
	}
	if err == nil && b != nil {
		m.DuplicatesFile = b.DuplicatesFile
	}
	return m, err
}

// replaceManifests writes the manifests of all tables, replacing those of an earlier attempt.
func (r *Resume) replaceManifests(ctx context.Context, tables []Table, m []*manifest.Manifest) error {
	for i, t := range tables {
		if err := r.replaceManifest(ctx, t.Out, m[i]); err != nil {
			return err
		}
	}
	return nil
}

// replaceManifest writes the manifest, replacing the one of an earlier attempt.
func (r *Resume) replaceManifest(ctx context.Context, out Output, m *manifest.Manifest) error {
	if r != nil {
		if err := out.FS.Remove(ctx, path.Join(out.Dir, manifest.FileName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fail.With(fail.HDFS, err)
		}
	}
	return writeManifest(ctx, out, m)
}

// ChecksumOf returns the checksum of a file that the build wrote, 0 if it is
// unknown. It is for journals whose load record lacks it.
func (d *Done) ChecksumOf(id uint64, size int64) uint32 {
	for _, w := range d.Written {
		for _, g := range w.Files() {
			if id != 0 && g.FileID == id && g.Bytes == size {
				return g.CRC32C
			}
		}
	}
	return 0
}

// CheckWritten verifies the files of earlier attempts, which are on one file system. The regions of missing
// or damaged files count as not written. The plan of a single table is not needed.
func (r *Resume) CheckWritten(ctx context.Context, tables []Table, gate progress.Gate, e progress.Events) error {
	var work []filecheck.Target
	var ordinals []int
	for _, ordinal := range slices.Sorted(maps.Keys(r.Written)) {
		w := r.Written[ordinal]
		for _, f := range w.Files() {
			work = append(work, filecheck.Target{File: f, Path: path.Join(outOf(tables, ordinal).Dir, f.Name)})
			ordinals = append(ordinals, ordinal)
		}
	}
	damaged, err := (&filecheck.Checker{FS: tables[0].Out.FS, Gate: gate, Events: e}).All(ctx, work)
	if err != nil {
		return fail.With(fail.HDFS, fmt.Errorf("read the files of an earlier attempt: %w", err))
	}
	lost := map[int]bool{}
	for i, d := range damaged {
		e.Warn("a file of an earlier attempt is damaged and is written again", "error", d)
		lost[ordinals[i]] = true
	}
	return r.lose(lost)
}

// lose records that files must be written again.
func (r *Resume) lose(regions map[int]bool) error {
	if len(regions) == 0 {
		return nil
	}
	return r.Checkpoint.Lost(LostRecord{Regions: slices.Sorted(maps.Keys(regions))})
}

// outOf returns the output of a region, given by its ordinal in the sort. A single table needs no plan.
func outOf(tables []Table, ordinal int) Output {
	for i, t := range tables {
		if i == len(tables)-1 || ordinal < t.Plan.Ranges.Len() {
			return t.Out
		}
		ordinal -= t.Plan.Ranges.Len()
	}
	return Output{}
}

// KeepWritten forgets the files of earlier attempts that are missing or differ
// from what was written, and removes unfinished files. If a file cannot be
// examined, it returns the error and forgets nothing. The plan of a single table is not needed.
func (r *Resume) KeepWritten(ctx context.Context, tables []Table) error {
	lost := map[int]bool{}
	for ordinal, w := range r.Written {
		out := outOf(tables, ordinal)
		for _, f := range w.Files() {
			info, err := out.FS.Stat(ctx, path.Join(out.Dir, f.Name))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fail.With(fail.HDFS, err)
			}
			if err == nil && info.Size() == f.Bytes {
				if id, ok := hdfsio.FileID(info); !ok || f.FileID == 0 || id == f.FileID {
					continue
				}
			}
			lost[ordinal] = true
		}
	}
	for _, t := range tables {
		if err := t.Out.FS.RemoveAll(ctx, path.Join(t.Out.Dir, WritingDir)); err != nil {
			return fail.With(fail.HDFS, err)
		}
	}
	return r.lose(lost)
}
