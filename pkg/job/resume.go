package job

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"time"

	"bulkload/pkg/fail"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/manifest"
	"bulkload/pkg/source"
)

// resumable is a build that keeps what it has finished and goes on from what
// an earlier one has. A nil one does neither.
type resumable struct {
	st *state
}

// skip says of a region whether its file is written already.
func (r *resumable) skip() func(int) bool {
	if r == nil || len(r.st.written) == 0 {
		return nil
	}
	return r.has
}

// has says whether the file of a region is written already.
func (r *resumable) has(region int) bool {
	if r == nil {
		return false
	}
	_, ok := r.st.written[region]
	return ok
}

// complete says whether every region that has rows has its file, so that the
// input need not be read again.
func (r *resumable) complete(budget *source.Budget) bool {
	if r == nil || r.st.sorted == nil || !r.rejectsKept(budget) {
		return false
	}
	for _, region := range r.st.sorted.Regions {
		if !r.has(region) {
			return false
		}
	}
	return true
}

// start counts the files of earlier attempts as written.
func (r *resumable) start(w *writers) {
	if r == nil {
		return
	}
	for _, f := range r.st.written {
		w.files = append(w.files, f.File)
		w.files = append(w.files, f.Others...)
		w.digest.Add(f.Part)
		w.times = w.times.Join(f.Times)
		w.counts.add(regionCounts{dups: f.Dups, records: f.Records, joined: f.Joined, noCells: f.NoCells})
		w.uncounted = w.uncounted || f.Records == 0
		for _, s := range f.Samples {
			w.samples = append(w.samples, manifest.Sample{Key: s.Key, Sum: s.Sum, Stamp: s.Time, Expires: s.Expires})
		}
	}
}

// wrote notes that the files of a region are complete.
func (r *resumable) wrote(files []*pendingFile, p *pendingRegion) error {
	if r == nil {
		return nil
	}
	record := writtenRecord{File: files[0].File, Part: p.part.digest, Times: p.part.times,
		Dups: p.counts.dups, Records: p.counts.records, Joined: p.counts.joined, NoCells: p.counts.noCells}
	for _, f := range files[1:] {
		record.Others = append(record.Others, f.File)
	}
	for _, s := range p.part.rows {
		record.Samples = append(record.Samples, sampleRecord{s.Key, s.Sum, s.Stamp, s.Expires})
	}
	r.st.written[record.Region] = record
	return r.st.record("written", record, false)
}

// manifest is that of a build whose files are all there.
func (r *resumable) manifest(plan *Plan, out Output) (*manifest.Manifest, error) {
	w := &writers{plan: plan, out: out, resume: r}
	r.start(w)
	slices.SortFunc(w.files, func(a, b manifest.File) int { return cmp.Or(a.Region-b.Region, cmp.Compare(a.Family, b.Family)) })
	var t sortTotals
	if r.st.sorted != nil {
		t = r.st.sorted.sortTotals
	}
	var took time.Duration
	if b := r.st.built; b != nil {
		// Regions without cells have no record of their own.
		t = sortTotals{Records: b.Records, Rejected: b.Rejected, RejectFile: b.RejectFile, SpillBytes: b.SpillBytes, SpillRuns: b.Runs, Took: b.ReadTime}
		w.counts.dups, w.counts.joined, w.counts.noCells, took = b.Duplicates, b.Joined, b.NoCells, b.WriteTime
		w.counts.records = t.Records - t.Rejected
		w.uncounted = w.uncounted || len(w.files) == 0
	}
	m, err := w.manifest(t)
	if err == nil {
		m.WriteTime = took
	}
	return m, err
}

// replaceManifest writes the manifest, over that of an earlier attempt.
func (r *resumable) replaceManifest(ctx context.Context, out Output, m *manifest.Manifest) error {
	if r != nil {
		if err := out.FS.Remove(ctx, path.Join(out.Dir, manifest.FileName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fail.With(fail.HDFS, err)
		}
	}
	return writeManifest(ctx, out, m)
}

// tell puts the totals into a manifest.
func (t sortTotals) tell(m *manifest.Manifest) {
	m.Records, m.Rejected, m.RejectFile, m.SpillBytes, m.Runs, m.ReadTime = t.Records, t.Rejected, t.RejectFile, t.SpillBytes, t.SpillRuns, t.Took
}

// keepWritten forgets the files of earlier attempts that are not there as
// they were written, and removes what was not finished. A look that failed
// says nothing of a file.
func (r *resumable) keepWritten(ctx context.Context, out Output) error {
	before := len(r.st.written)
	for region, w := range r.st.written {
		for _, f := range append([]manifest.File{w.File}, w.Others...) {
			info, err := out.FS.Stat(ctx, path.Join(out.Dir, f.Name))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fail.With(fail.HDFS, err)
			}
			if err == nil && info.Size() == f.Bytes {
				if id, ok := hdfsio.FileID(info); !ok || f.FileID == 0 || id == f.FileID {
					continue
				}
			}
			delete(r.st.written, region)
		}
	}
	if err := out.FS.RemoveAll(ctx, path.Join(out.Dir, writingDir)); err != nil {
		return fail.With(fail.HDFS, err)
	}
	if kept := len(r.st.written); kept < before {
		r.st.built = nil // what the journal says of it, it says again when they are there
	}
	return nil
}
