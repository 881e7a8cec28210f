package build

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"sync"
	"time"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/pipeline/streams"
)

// Done has the finished work of attempts of a build, from the records of their [Checkpoint].
type Done struct {
	Spill   string                // directory of the sorted runs, empty if there is none
	Sorted  *SortedRecord         // nil: the input has not been read to its end
	Written map[int]WrittenRecord // by the region's ordinal in the sort
	Built   *manifest.Manifest    // of the first table; nil: files may be missing
	// BuiltTables are the built tables of further tables.
	BuiltTables []*manifest.Manifest
	Streams     map[string]streams.State // by place: what was read of streams
}

// NewDone returns an empty Done.
func NewDone() Done { return Done{Written: map[int]WrittenRecord{}} }

// Sort takes it into account that all of the input is sorted.
func (d *Done) Sort(s SortedRecord) { d.Sorted = &s }

// Write takes the files of a region into account.
func (d *Done) Write(w WrittenRecord) { d.Written[w.InSort()] = w }

// Stream takes a record of a stream into account.
func (d *Done) Stream(r streams.Record) { d.Streams = streams.Note(d.Streams, r) }

// LostRecord is regions whose files are not there as they were written.
type LostRecord struct {
	Regions []int `json:"regions"`       // ordinals in the sort
	All     bool  `json:"all,omitempty"` // the sorted rows are void too: the input is another one, or is read in another way
}

// Lose takes it into account that files are to be written again.
func (d *Done) Lose(l LostRecord) {
	for _, ordinal := range l.Regions {
		delete(d.Written, ordinal)
	}
	if l.All {
		d.Sorted = nil
	}
	d.Built, d.BuiltTables = nil, nil // a record says it again when they are there
}

// Checkpoint keeps what a build has finished, so that another attempt can go
// on after a crash. Each call returns when the record is as safe as it says, and
// [Done] has it.
type Checkpoint interface {
	// Spilling is called before a directory for sorted runs is made, and with an empty one when it is gone.
	Spilling(SpillRecord) error
	// Streaming is called before a stream is copied into a file, when the copy is whole, and when it is gone. The record is
	// synced. Several goroutines may call it, one at a time.
	Streaming(streams.Record) error
	// Sorted is called when all of the input is sorted and its runs are on disk. The record is synced.
	Sorted(SortedRecord) error
	// Wrote is called when the files of a region have their names. Several goroutines may call it.
	Wrote(WrittenRecord) error
	// Lost is called when files of earlier attempts are not there as they were written. The record is synced.
	Lost(LostRecord) error
}

// Resume makes a build keep what it has finished and resume from what an earlier
// attempt has. A nil one does neither.
type Resume struct {
	*Done
	Checkpoint Checkpoint
	Name       string // of the job, by which its directories of sorted runs are known

	mu sync.Mutex // writers of several tables note what they have written
}

// skip says of a region whether its file is written already.
func (r *Resume) skip() func(int) bool {
	if r == nil || len(r.Written) == 0 {
		return nil
	}
	return r.has
}

// has reports whether the file of a region is written already.
func (r *Resume) has(region int) bool {
	if r == nil {
		return false
	}
	_, ok := r.Written[region]
	return ok
}

// complete reports whether every region that has rows has its file, so that the
// input need not be read again.
func (r *Resume) complete(o Options) bool {
	if r == nil || r.Sorted == nil || !r.usable(o) {
		return false
	}
	for _, region := range r.Sorted.Regions {
		if w, ok := r.Written[region]; !ok || o.Duplicates != nil && w.losers() {
			return false
		}
	}
	return true
}

// forgetLosing has those of the first table's regions, so many, written again that left duplicates out, while files of indexes
// may be missing: an index has no entry of a record that was left out, and only the merge shows which these are. 0 says that
// no table is an index. Files of duplicates have all regions written again that left some out.
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
		w.files = append(w.files, f.File)
		w.files = append(w.files, f.Others...)
		w.digest.Add(f.Part)
		w.sum.Add(f.RowSum)
		w.times = w.times.Join(f.Times)
		w.counts.add(regionCounts{dups: f.Dups, records: f.Records, joined: f.Joined, noCells: f.NoCells})
		w.uncounted = w.uncounted || f.Records == 0
		w.samples = append(w.samples, f.samples()...)
	}
}

// wrote notes that the files of a region are complete, of a table whose first region is the one of that ordinal in the sort.
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

// Manifests returns the manifests of a build of several tables whose files are all there.
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

// builtOf returns the journal's record of the finished build of a table, nil if it is not finished.
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
		// Regions without cells have no record of their own.
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

// replaceManifests is [Resume.replaceManifest] for all tables.
func (r *Resume) replaceManifests(ctx context.Context, tables []Table, m []*manifest.Manifest) error {
	for i, t := range tables {
		if err := r.replaceManifest(ctx, t.Out, m[i]); err != nil {
			return err
		}
	}
	return nil
}

// replaceManifest writes the manifest, over that of an earlier attempt.
func (r *Resume) replaceManifest(ctx context.Context, out Output, m *manifest.Manifest) error {
	if r != nil {
		if err := out.FS.Remove(ctx, path.Join(out.Dir, manifest.FileName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fail.With(fail.HDFS, err)
		}
	}
	return writeManifest(ctx, out, m)
}
