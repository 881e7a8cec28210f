package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/partition/extsort"
)

// File is one HFile that a build made.
type File struct {
	Name     string `json:"name"` // below the output directory: family/32 hex digits
	Family   string `json:"family"`
	Region   int    `json:"region"` // ordinal in the plan
	FirstRow Key    `json:"first_row"`
	LastRow  Key    `json:"last_row"`
	Rows     int64  `json:"rows"`
	Cells    int64  `json:"cells"`
	Bytes    int64  `json:"bytes"`
	CRC32C   uint32 `json:"crc32c,omitempty"`  // of the whole file
	FileID   uint64 `json:"file_id,omitempty"` // on HDFS; a rename keeps it
}

// Output is where HFiles go: Dir/family/name, written under Dir/_writing first.
type Output struct {
	FS       hdfsio.FS
	Dir      string
	FileMode fs.FileMode // default 0644
	DirMode  fs.FileMode // default 0755
	Retry    WriteRetry  // of files that could not be written
}

// writingDir holds files that are not complete. HBase's loader skips names
// that start with an underscore.
const writingDir = "_writing"

func (o Output) withDefaults() Output {
	if o.FileMode == 0 {
		o.FileMode = 0o644
	}
	if o.DirMode == 0 {
		o.DirMode = 0o755
	}
	o.Retry = o.Retry.withDefaults()
	return o
}

// prepare makes the directories.
func (o Output) prepare(ctx context.Context, family string) error {
	for _, d := range []string{writingDir, family} {
		if err := o.FS.MkdirAll(ctx, path.Join(o.Dir, d), o.DirMode); err != nil {
			return fail(KindHDFS, err)
		}
		// the mode as it is, whatever the process's or the cluster's mask
		if err := o.FS.Chmod(ctx, path.Join(o.Dir, d), o.DirMode); err != nil {
			return fail(KindHDFS, err)
		}
	}
	return nil
}

// writers is pass 2: workers take regions, the largest first, merge each and
// write its file.
type writers struct {
	plan   *Plan
	sort   *extsort.Sorter
	out    Output
	sample int // rows to remember of each region, for verification
	events Events
	resume *resumable

	mu      sync.Mutex
	files   []File
	digest  Digest
	dups    int64
	samples []sampleRow
	last    time.Time           // when a file was finished
	claims  map[string][]uint64 // ids of the files that were to get a name
}

// region is work of pass 2: rows and bytes of a region, duplicates included.
type region struct {
	i          int
	rows, size int64
}

func (w *writers) run(ctx context.Context, workers int) error {
	var regions []region
	for i := range w.plan.Ranges.Len() {
		if rows, size := w.sort.Size(i); rows > 0 && !w.resume.has(i) {
			regions = append(regions, region{i, rows, size})
		}
	}
	slices.SortFunc(regions, func(a, b region) int { return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(a.i, b.i)) })
	var next atomic.Int64
	err := together(ctx, min(workers, len(regions)), func(ctx context.Context, _ int) error {
		// Completing a file is waiting for answers, so the next one is encoded
		// meanwhile. A file that failed is written again by itself, so that no
		// worker merges two regions at a time.
		completed := make(chan error, 1)
		completed <- nil
		var before region
		for i := int(next.Add(1)) - 1; i < len(regions) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
			now := regions[i]
			p, err := w.encode(ctx, now, 0)
			failed := <-completed
			if err == nil {
				go func() { completed <- w.complete(ctx, p) }()
			} else {
				completed <- nil
			}
			failed = w.writeAgain(ctx, before, failed)
			if err := errors.Join(failed, w.writeAgain(ctx, now, err)); err != nil {
				return errors.Join(err, <-completed)
			}
			before = now
		}
		return w.writeAgain(ctx, before, <-completed)
	})
	slices.SortFunc(w.files, func(a, b File) int { return cmp.Compare(a.Region, b.Region) })
	return err
}

// pendingFile is an HFile that was encoded; its end may still be on the way.
type pendingFile struct {
	File
	part    regionPart
	dups    int64
	writing string // name until it is complete
	sink    hdfsio.Writer
	out     *overlapped
}

// encode writes the rows of one region into a file that has not got its name
// yet. Each attempt has a name of its own: the file of a failed one may still
// be open to a lease. What failed is given up.
func (w *writers) encode(ctx context.Context, r region, attempt int) (*pendingFile, error) {
	m, err := w.sort.Region(r.i)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	name := w.plan.fileName(r.i)
	p := &pendingFile{writing: path.Join(w.out.Dir, writingDir, name)}
	if attempt > 0 {
		p.writing += "." + strconv.Itoa(attempt)
	}
	p.sink, err = w.out.FS.Create(ctx, p.writing, hdfsio.CreateOptions{Perm: w.out.FileMode, BlockSize: w.blockSize(r.rows, r.size)})
	if err != nil {
		return nil, fail(KindHDFS, err)
	}
	p.out = newOverlapped(p.sink)
	p.File, p.part, err = w.write(ctx, m, p.out)
	if err != nil {
		p.abort()
		return nil, err
	}
	p.Name, p.Family, p.Region = path.Join(w.plan.Family.Name, name), w.plan.Family.Name, r.i
	p.dups = m.Duplicates()
	return p, nil
}

// abort gives the file up. What stays of it lies in _writing, which is removed
// with all that is in it.
func (p *pendingFile) abort() {
	_ = p.out.drain() // what is not wanted need not have arrived
	_ = p.sink.Abort()
}

// complete finishes the file, verifies it and gives it its name.
func (w *writers) complete(ctx context.Context, p *pendingFile) error {
	err := p.out.drain()
	if err == nil && p.Cells > 0 {
		err = p.sink.Finish()
	}
	if err != nil || p.Cells == 0 {
		p.abort()
		return fail(KindHDFS, err)
	}
	p.CRC32C = p.out.sum
	if err = verifyFile(ctx, w.out.FS, p.writing, p.File); err == nil {
		err = w.name(ctx, p)
	}
	if err != nil {
		_ = w.out.FS.Remove(ctx, p.writing) // it lies in _writing
		return fail(KindHDFS, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.files = append(w.files, p.File)
	w.digest.add(p.part.digest)
	w.dups += p.dups
	w.samples = append(w.samples, p.part.rows...)
	w.last = time.Now()
	w.events.hfile(p.File)
	return w.resume.wrote(p)
}

// name gives a complete file its name. A file that has the name already is
// ours when its rename was answered by an error, or when a job goes on that
// was stopped between the rename and its record; it is written again.
func (w *writers) name(ctx context.Context, p *pendingFile) error {
	info, err := w.out.FS.Stat(ctx, p.writing)
	if err != nil {
		return err
	}
	id, ok := hdfsio.FileID(info)
	if ok && w.resume != nil {
		p.FileID = id
	}
	name := path.Join(w.out.Dir, p.Name)
	err = w.out.FS.Rename(ctx, p.writing, name)
	if errors.Is(err, fs.ErrExist) && (w.resume != nil || w.claimed(ctx, name)) {
		if err = w.out.FS.Remove(ctx, name); err == nil {
			err = w.out.FS.Rename(ctx, p.writing, name)
		}
	}
	if err != nil && ok {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.claims == nil {
			w.claims = map[string][]uint64{}
		}
		w.claims[name] = append(w.claims[name], id)
	}
	return err
}

// claimed says whether the file of that name is one that this job renamed,
// though it was told otherwise.
func (w *writers) claimed(ctx context.Context, name string) bool {
	w.mu.Lock()
	ids := w.claims[name]
	w.mu.Unlock()
	if len(ids) == 0 {
		return false
	}
	info, err := w.out.FS.Stat(ctx, name)
	if err != nil {
		return false
	}
	id, ok := hdfsio.FileID(info)
	return ok && slices.Contains(ids, id)
}

// regionPart is what one region adds to the job's totals.
type regionPart struct {
	digest Digest
	sampler
}

// write streams the merged rows into an HFile.
func (w *writers) write(ctx context.Context, m *extsort.Merge, sink io.Writer) (File, regionPart, error) {
	part := regionPart{sampler: sampler{most: w.sample}}
	hw, err := hfile.NewRowWriter(sink, w.plan.hfileOptions(), hfile.Schema{Qualifiers: w.plan.qualifiers(), Timestamp: w.plan.Timestamp})
	if err != nil {
		return File{}, part, err
	}
	if err := part.encode(ctx, m, hw, len(w.plan.Columns)); err != nil {
		return File{}, part, err
	}
	stats, err := hw.Finish()
	if err != nil {
		return File{}, part, sinkError(err)
	}
	f := File{FirstRow: stats.FirstRow, LastRow: stats.LastRow, Rows: part.digest.Rows, Cells: stats.Cells, Bytes: stats.Bytes}
	return f, part, nil
}

// encode appends the merged rows to an HFile.
func (p *regionPart) encode(ctx context.Context, m *extsort.Merge, hw *hfile.RowWriter, columns int) error {
	values := make([][]byte, columns)
	for n := 0; m.Next(); n++ {
		if n&0xfff == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := extsort.Values(m.Payload(), values); err != nil {
			return err
		}
		cells := 0
		for _, v := range values {
			if v != nil {
				cells++
			}
		}
		if cells == 0 {
			continue
		}
		p.digest.addRow(m.Row(), cells)
		p.sampler.add(m)
		if err := hw.AppendRow(m.Key(), values); err != nil {
			return sinkError(err)
		}
	}
	return m.Err()
}

// sinkError tells a failed write from rows that no HFile can hold.
func sinkError(err error) error {
	if errors.Is(err, hfile.ErrOrder) || errors.Is(err, hfile.ErrTooLarge) {
		return err
	}
	return fail(KindHDFS, err)
}

// blockSize is at least the size of the file to come, or nearly so: then the
// file is one block and its write needs no change of pipeline. It is not much
// more, because a DataNode without that much room is passed over.
func (w *writers) blockSize(rows, raw int64) int64 {
	const unit, most = 1 << 20, 8 << 30
	perCell := int64(24) // lengths, timestamp, type, tags, sequence id
	for _, c := range w.plan.Columns {
		perCell = max(perCell, int64(24+len(c)))
	}
	if w.plan.Family.Encoding == hfile.EncodingNone && rows > 0 {
		perCell += raw / rows / 2 // the key again and again
	}
	bound := raw + rows*int64(len(w.plan.Columns))*perCell
	if w.plan.Family.Compression != hfile.CompressionNone {
		bound /= 2
	}
	return min(bound/unit*unit+4*unit, most)
}

// verifyFile reads back what was written: length, trailer, index and file info.
func verifyFile(ctx context.Context, fsys hdfsio.FS, name string, want File) error {
	meta, err := readMeta(ctx, fsys, name)
	if err != nil {
		return fmt.Errorf("read back %s: %w", name, err)
	}
	if meta.Cells != want.Cells || meta.Bytes != want.Bytes {
		return fmt.Errorf("read back %s: it has %d cells in %d bytes, written were %d in %d", name, meta.Cells, meta.Bytes, want.Cells, want.Bytes)
	}
	return nil
}
