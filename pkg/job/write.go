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
	"sync"
	"sync/atomic"

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
}

// Output is where HFiles go: Dir/family/name, written under Dir/_writing first.
type Output struct {
	FS       hdfsio.FS
	Dir      string
	FileMode fs.FileMode // default 0644
	DirMode  fs.FileMode // default 0755
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

	mu      sync.Mutex
	files   []File
	digest  Digest
	dups    int64
	samples []sampleRow
}

func (w *writers) run(ctx context.Context, workers int) error {
	type region struct {
		i          int
		rows, size int64
	}
	var regions []region
	for i := range w.plan.Ranges.Len() {
		if rows, size := w.sort.Size(i); rows > 0 {
			regions = append(regions, region{i, rows, size})
		}
	}
	slices.SortFunc(regions, func(a, b region) int { return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(a.i, b.i)) })
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(workers, len(regions)) {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(regions) {
					return
				}
				if err := w.region(ctx, regions[i].i, regions[i].rows, regions[i].size); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	slices.SortFunc(w.files, func(a, b File) int { return cmp.Compare(a.Region, b.Region) })
	return context.Cause(ctx)
}

// region writes the HFile of one region, verifies it and gives it its name.
func (w *writers) region(ctx context.Context, region int, rows, size int64) error {
	m, err := w.sort.Region(region)
	if err != nil {
		return err
	}
	defer m.Close()
	name := w.plan.fileName(region)
	writing := path.Join(w.out.Dir, writingDir, name)
	sink, err := w.out.FS.Create(ctx, writing, hdfsio.CreateOptions{Perm: w.out.FileMode, BlockSize: w.blockSize(rows, size)})
	if err != nil {
		return fail(KindHDFS, err)
	}
	o := newOverlapped(sink)
	f, part, err := w.write(ctx, m, o)
	if e := o.drain(); err == nil {
		err = fail(KindHDFS, e)
	}
	if err == nil && f.Cells > 0 {
		err = fail(KindHDFS, sink.Finish())
	}
	if err != nil || f.Cells == 0 {
		return errors.Join(err, sink.Abort())
	}
	f.Name, f.Family, f.Region = path.Join(w.plan.Family.Name, name), w.plan.Family.Name, region
	if err := verifyFile(ctx, w.out.FS, writing, f); err != nil {
		return fail(KindHDFS, err)
	}
	if err := w.out.FS.Rename(ctx, writing, path.Join(w.out.Dir, f.Name)); err != nil {
		return fail(KindHDFS, err)
	}
	w.mu.Lock()
	w.files = append(w.files, f)
	w.digest.add(part.digest)
	w.dups += m.Duplicates()
	w.samples = append(w.samples, part.samples...)
	w.mu.Unlock()
	w.events.hfile(f)
	return nil
}

// regionPart is what one region adds to the job's totals.
type regionPart struct {
	digest  Digest
	samples []sampleRow
}

// write streams the merged rows into an HFile.
func (w *writers) write(ctx context.Context, m *extsort.Merge, sink io.Writer) (File, regionPart, error) {
	var part regionPart
	hw, err := hfile.NewRowWriter(sink, w.plan.hfileOptions(), hfile.Schema{Qualifiers: w.plan.qualifiers(), Timestamp: w.plan.Timestamp})
	if err != nil {
		return File{}, part, err
	}
	sampler := sampler{most: w.sample}
	values := make([][]byte, len(w.plan.Columns))
	for n := 0; m.Next(); n++ {
		if n&0xfff == 0 && ctx.Err() != nil {
			return File{}, part, context.Cause(ctx)
		}
		if err := extsort.Values(m.Payload(), values); err != nil {
			return File{}, part, err
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
		part.digest.addRow(m.Row(), cells)
		sampler.add(m)
		if err := hw.AppendRow(m.Key(), values); err != nil {
			return File{}, part, sinkError(err)
		}
	}
	if err := m.Err(); err != nil {
		return File{}, part, err
	}
	stats, err := hw.Finish()
	if err != nil {
		return File{}, part, sinkError(err)
	}
	part.samples = sampler.rows
	f := File{FirstRow: stats.FirstRow, LastRow: stats.LastRow, Rows: part.digest.Rows, Cells: stats.Cells, Bytes: stats.Bytes}
	return f, part, nil
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
