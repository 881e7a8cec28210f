package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/choice"
	"bulkload/internal/model/fail"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/setting"
)

// Run claims a directory, which is empty or does not exist, and writes the rows of a snapshot into it.
func (p *Plan) Run(ctx context.Context, s *snapshot.Snapshot, fsys hdfsio.FS, dir string) (*Manifest, error) {
	t, err := Begin(ctx, fsys, dir)
	if err != nil {
		return nil, err
	}
	if t.Complete != nil {
		return t.Complete, t.End(ctx, p, s.Table, s.Name)
	}
	m, err := p.Write(ctx, OfSnapshot(s), t)
	if err != nil {
		return nil, errors.Join(err, t.Remove(ctx))
	}
	return m, t.Finish(ctx)
}

// Write writes the rows of a table into a target. The caller ends the target by [Target.Finish], or after an error by
// [Target.Remove].
func (p *Plan) Write(ctx context.Context, in Input, t *Target) (*Manifest, error) {
	w := &writing{p: p, in: in, Target: t, done: make([]*part, len(in.Regions)), now: cmp.Or(p.o.Now, time.Now())}
	for _, name := range p.family {
		if !slices.Contains(in.Families, name) {
			return nil, fail.Errorf(fail.Config, "table %s has no family %s", in.Table, name)
		}
	}
	var err error
	if w.choice, err = p.choice(append([][]byte{}, in.Splits...)); err != nil {
		return nil, err
	}
	if err := w.choice.CheckFamilies("table "+in.Table, in.Families); err != nil {
		return nil, err
	}
	if err := w.share(); err != nil {
		return nil, err
	}
	if err := w.each(ctx); err != nil {
		return nil, w.stopped(ctx, fail.With(kindOf(err), err))
	}
	m, err := w.finish(ctx)
	return m, w.stopped(ctx, fail.With(fail.HDFS, err))
}

// stopped says that a stop caused a failure, if there was one: file systems have errors of their own for that.
func (w *writing) stopped(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
		return errors.Join(cause, err)
	}
	return err
}

// kindOf is what a failure that says nothing else is about.
func kindOf(err error) fail.Kind {
	if errors.Is(err, snapshot.ErrDamaged) || errors.Is(err, snapshot.ErrUnsupported) || errors.Is(err, hfile.ErrCorrupt) {
		return fail.Input
	}
	return fail.HDFS
}

// writing is one run.
type writing struct {
	*Target
	p       *Plan
	in      Input
	choice  choice.Choice
	workers int
	ahead   int       // bytes of each store file
	most    int       // of an encoder, and of a row
	now     time.Time // by which cells have expired

	mu   sync.Mutex
	done []*part // by region
}

// part is what became of a region.
type part struct {
	file              *File // nil: it has no rows
	noCells, leftOver int64
}

// What a worker needs at least, in bytes: for each store file what is read ahead
// and a block, packed and unpacked; for its encoder and a row.
const (
	leastAhead = 64 << 10
	mostAhead  = 256 << 10
	blockRoom  = 192 << 10
	leastText  = 1 << 20
	mostText   = 16 << 20
	leastGroup = 12 << 20
	mostGroup  = 192 << 20
)

// share divides the memory.
func (w *writing) share() error {
	least, most := leastText, mostText
	if w.p.o.Format == Parquet {
		least, most = leastGroup, mostGroup
	}
	need := w.in.Room + least
	memory := int(w.p.o.Memory)
	if need > memory {
		if w.in.snap == nil {
			return setting.Errorf("the scan and the writer need %d MiB, %s is %s: give more", need>>20+1, setting.Memory, w.p.o.Memory)
		}
		return setting.Errorf("a region has %s, which need %d MiB; %s is %s: give more", setting.Count(w.in.files, "file"), need>>20+1, setting.Memory, w.p.o.Memory)
	}
	w.workers = max(1, min(w.p.o.Workers, len(w.in.Regions), memory/need))
	each := memory / w.workers
	w.most = min(each-w.in.Room, most)
	if w.in.snap != nil {
		w.ahead = min(max((each-w.most)/w.in.files-blockRoom, leastAhead), mostAhead)
	}
	return nil
}

// region writes the file of a region, unless it has no rows. The first has one
// where only the first file names the columns.
func (w *writing) region(ctx context.Context, i int, sc Cells) error {
	f := &partFile{w: w, ctx: ctx, region: i}
	defer f.abort()
	if i == 0 && w.p.text != nil && w.p.text.header(true) && !w.p.text.header(false) {
		if err := f.open(); err != nil {
			return err
		}
	}
	r := &rows{p: w.p, out: f, most: min(w.most, mostRow)}
	if err := r.run(ctx, sc); err != nil {
		return fmt.Errorf("%s: %w", w.in.name(i), err)
	}
	done := &part{noCells: r.noCells, leftOver: r.leftOver}
	if f.enc != nil {
		file, err := f.finish()
		if err != nil {
			return fmt.Errorf("%s: %w", f.name(), err)
		}
		file.Digest = r.digest
		done.file = file
	}
	w.mu.Lock()
	w.done[i] = done
	w.mu.Unlock()
	if done.file != nil && w.p.o.OnFile != nil {
		w.p.o.OnFile(*done.file)
	}
	return nil
}

// finish writes the manifest. A table without rows has one file without rows, so that
// readers find the columns.
func (w *writing) finish(ctx context.Context) (*Manifest, error) {
	m := &Manifest{Schema: 1, Table: w.in.Table, Snapshot: w.in.Snapshot, Created: w.in.Created.UTC(), Now: w.now.UTC(), Format: w.p.o.Format, Columns: w.p.Columns(), Choice: w.p.o.Choice, ReadAs: w.p.Settings(), Files: []File{}}
	for _, d := range w.done {
		m.NoCells += d.noCells
		m.LeftOver += d.leftOver
		if d.file != nil {
			m.Files = append(m.Files, *d.file)
		}
	}
	if len(m.Files) == 0 && w.p.hasHead() {
		f := &partFile{w: w, ctx: ctx}
		defer f.abort()
		err := f.open()
		var file *File
		if err == nil {
			file, err = f.finish()
		}
		if err != nil {
			return nil, err
		}
		m.Files = append(m.Files, *file)
	}
	for _, f := range m.Files {
		m.Digest.Add(f.Digest)
		m.Bytes += f.Bytes
	}
	return m, m.save(ctx, w.fsys, w.dir)
}

// partFile is the file of a region, which is made with its first row.
type partFile struct {
	w      *writing
	ctx    context.Context // bounds the life of the file
	region int

	file hdfsio.Writer
	out  *output
	enc  encoder
}

func (f *partFile) name() string { return fmt.Sprintf(partPrefix+"%05d.%s", f.region, f.w.p.o.Format) }

func (f *partFile) writing() string { return path.Join(f.w.dir, writingDir, f.name()) }

func (f *partFile) open() (err error) {
	if f.file, err = f.w.fsys.Create(f.ctx, f.writing(), hdfsio.CreateOptions{}); err != nil {
		return err
	}
	f.out = newOutput(f.file)
	f.enc, err = f.w.p.begin(f.out, f.region == 0, f.w.most)
	return err
}

// row writes a record.
func (f *partFile) row(r *row) (int, error) {
	if f.enc == nil {
		if err := f.open(); err != nil {
			return -1, err
		}
	}
	return f.enc.row(r)
}

func (f *partFile) close() error { return f.enc.close() }

// finish gives the whole file its name.
func (f *partFile) finish() (*File, error) {
	if err := f.close(); err != nil {
		return nil, err
	}
	if err := f.file.Finish(); err != nil {
		return nil, err
	}
	name := path.Join(f.w.dir, f.name())
	if err := f.w.fsys.Rename(f.ctx, f.writing(), name); err != nil {
		return nil, err
	}
	return &File{Name: strings.TrimPrefix(name, f.w.dir+"/"), Region: f.w.in.Regions[f.region], Bytes: f.out.n, SHA256: f.out.digest()}, nil
}

// abort gives up a file that is not finished.
func (f *partFile) abort() {
	if f.file != nil {
		_ = f.file.Abort() // all of the directory is removed then
	}
}
