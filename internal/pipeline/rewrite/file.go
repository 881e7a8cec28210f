package rewrite

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/pipeline/filecheck"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
)

// rewriting is one attempt to split or merge files.
type rewriting struct {
	rewriter *Rewriter
	attempt  int
	open     *rewritten   // being written
	files    []*rewritten // complete, in the order of their rows
	scratch  []string     // temporary files of this attempt
}

// rewritten is one new file.
type rewritten struct {
	file    loader.HFile
	name    string // its final name
	writing string // its path until it is renamed
	public  bool   // it may have its final name
	writer  *hfile.Writer
	out     *hdfsio.Overlapped
	sink    hdfsio.Writer
}

// options returns the options of a file that replaces another: the family's settings
// in the table and, from the file info, the origin of the data, its compaction
// settings and the MOB files that it needs. HBase's splitter copies these too (BulkLoadHFilesTool.copyHFileHalf,
// 2.6.4); everything else is derived from the cells.
func (w *Rewriter) options(family string, from hfile.Meta) hfile.Options {
	o := w.family(family).HFileOptions(w.timestamp)
	o.Task = string(from.Info["BULKLOAD_SOURCE_TASK"])
	if v := from.Info["BULKLOAD_TIMESTAMP"]; len(v) == 8 {
		o.BulkloadTime = int64(binary.BigEndian.Uint64(v))
	}
	o.ExcludeFromMinorCompaction = excluded(from)
	o.MobRefs = mobRefs(from)
	return o
}

// mobRefs returns the MOB files that the file's values refer to; nil for none, which HBase writes as no byte or one.
func mobRefs(m hfile.Meta) []byte {
	if v := m.Info["MOB_FILE_REFS"]; len(v) > 1 {
		return v
	}
	return nil
}

// excluded reports whether minor compactions exclude the file.
func excluded(m hfile.Meta) bool {
	v := m.Info["EXCLUDE_FROM_MINOR_COMPACTION"]
	return len(v) == 1 && v[0] != 0
}

// create starts a file near the region of one of its rows. The size is an estimate, or an upper bound, of the file's size.
func (a *rewriting) create(ctx context.Context, family, name string, o hfile.Options, size int64, row []byte) (_ *rewritten, err error) {
	out := a.rewriter.Output
	r := &rewritten{
		file: loader.HFile{Family: family}, name: name,
		// A failed write may leave a file under its name; the next attempt uses another name.
		writing: path.Join(out.Dir, out.WritingOf(family), fmt.Sprintf("%s-%d", name, a.attempt)),
	}
	if err := out.FS.Remove(ctx, r.writing); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if r.sink, err = out.Create(ctx, r.writing, hdfsio.CreateOptions{Perm: out.FileMode, BlockSize: rewriteBlock(size), Near: a.rewriter.Near.Of(row)}); err != nil {
		a.scratch = append(a.scratch, r.writing) // it may exist nevertheless
		return nil, err
	}
	a.open = r
	r.out = hdfsio.NewOverlapped(r.sink, nil)
	r.writer, err = hfile.NewWriter(r.out, o)
	return r, err
}

// rewriteBlock returns an HDFS block size with which a file is one block: then
// its write needs no change of pipeline.
func rewriteBlock(size int64) int64 {
	const unit, most = 1 << 20, 8 << 30
	return min((size+size/4)/unit*unit+4*unit, most)
}

// finish completes the file being written. It verifies its metadata, and then
// reads back all of it. It does nothing for a nil file.
func (a *rewriting) finish(ctx context.Context, r *rewritten) error {
	if r == nil {
		return nil
	}
	stats, err := r.writer.Finish()
	if err == nil {
		err = r.out.Drain()
	}
	if err == nil {
		err = r.sink.Finish()
	}
	if err != nil {
		return err
	}
	a.open = nil
	a.files = append(a.files, r)
	r.file.First, r.file.Last, r.file.Cells, r.file.Size = stats.FirstRow, stats.LastRow, stats.Cells, stats.Bytes
	r.file.CRC32C = r.out.Sum
	m, err := filecheck.ReadMeta(ctx, a.rewriter.Output.FS, r.writing)
	if err != nil {
		return fmt.Errorf("read back %s: %w", r.writing, err)
	}
	if m.Cells != r.file.Cells || m.Bytes != r.file.Size || !bytes.Equal(m.FirstRow, r.file.First) || !bytes.Equal(m.LastRow, r.file.Last) {
		return fmt.Errorf("read back %s: it has %d cells in %d bytes, want %d in %d; or its first and last rows differ", r.writing,
			m.Cells, m.Bytes, r.file.Cells, r.file.Size)
	}
	return filecheck.ReadBack(ctx, a.rewriter.Output.FS, r.writing, r.file.CRC32C)
}

// publish renames the files to their final names, once all are complete. An existing
// file of that name is from an attempt that was killed before its result was known.
func (a *rewriting) publish(ctx context.Context, prefix string) ([]loader.HFile, error) {
	out := a.rewriter.Output
	files := make([]loader.HFile, 0, len(a.files))
	for _, r := range a.files {
		final := path.Join(out.Dir, r.file.Family, r.name)
		r.public = true
		err := out.FS.Rename(ctx, r.writing, final)
		if errors.Is(err, fs.ErrExist) {
			if err = out.FS.Remove(ctx, final); err == nil || errors.Is(err, fs.ErrNotExist) {
				err = out.FS.Rename(ctx, r.writing, final)
			}
		}
		if err != nil {
			return nil, err
		}
		info, err := out.FS.Stat(ctx, final)
		if err != nil {
			return nil, err
		}
		r.file.FileID, _ = hdfsio.FileID(info)
		r.file.Path = prefix + final
		files = append(files, r.file)
	}
	return files, nil
}

// clean removes the temporary files of the attempt, or all its files if it failed, unless another process has the job.
func (a *rewriting) clean(ctx context.Context, failed bool) {
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	out := a.rewriter.Output
	if a.open != nil {
		_ = a.open.out.Drain()
		_ = a.open.sink.Abort()
	}
	if a.rewriter.owned(ctx) != nil {
		return
	}
	if a.open != nil {
		_ = out.FS.Remove(ctx, a.open.writing)
	}
	for _, name := range a.scratch {
		_ = out.FS.Remove(ctx, name)
	}
	if !failed {
		return
	}
	for _, r := range a.files {
		_ = out.FS.Remove(ctx, r.writing)
		if r.public {
			_ = out.FS.Remove(ctx, path.Join(out.Dir, r.file.Family, r.name))
		}
	}
}

// forwardFile is an HFile that is read from its first cell to its last.
type forwardFile struct {
	reader *hfile.Reader
	io.Closer
}

// openForward opens an HFile for one pass over its cells.
func openForward(ctx context.Context, fsys hdfsio.FS, name string) (*forwardFile, error) {
	f, err := hdfsio.OpenAt(ctx, fsys, name)
	if err != nil {
		return nil, err
	}
	r, err := hfile.Open(&forward{at: f, size: f.Info.Size()}, f.Info.Size(), hfile.ReaderOptions{})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), f.Close())
	}
	return &forwardFile{r, f}, nil
}

// forward turns reads that seek back a little, like reads of blocks at the end
// of a window, into reads that only advance: on HDFS each backward seek needs a
// new connection to a DataNode. It belongs to one goroutine.
type forward struct {
	at   io.ReaderAt
	size int64
	from int64 // offset of buf in the file
	buf  []byte
}

// forwardWindow is the number of bytes read at a time.
const forwardWindow = 512 << 10

func (f *forward) ReadAt(p []byte, off int64) (int, error) {
	end := f.from + int64(len(f.buf))
	if off < f.from || off > end {
		f.from, f.buf, end = off, f.buf[:0], off
	}
	if need := off + int64(len(p)); need > end {
		keep := copy(f.buf, f.buf[off-f.from:])
		want := min(max(int64(len(p)), forwardWindow), f.size-off)
		if want < int64(len(p)) {
			return 0, io.ErrUnexpectedEOF
		}
		f.from = off
		f.buf = append(f.buf[:keep], make([]byte, want-int64(keep))...)
		if n, err := f.at.ReadAt(f.buf[keep:], end); n < len(f.buf)-keep {
			f.buf = f.buf[:0]
			return 0, errors.Join(err, io.ErrUnexpectedEOF)
		}
	}
	return copy(p, f.buf[off-f.from:]), nil
}
