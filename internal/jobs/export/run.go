package export

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"
	"time"

	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/choice"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/pipeline/exportdir"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/setting"
)

// Attempt has the results of earlier attempts, and a callback that records results for later ones. The zero value is a first attempt.
type Attempt struct {
	Now  time.Time                       // the time that decides which cells have expired; default: when [Plan.Write] is called
	Done map[int]manifest.ExportedRegion // regions, by number, whose files are complete
	// Gate makes work wait before a region. Default: no gate.
	Gate progress.Gate
	// OnRegion is called when a region is complete, by several goroutines. Its error stops the export. Default: nothing is called.
	OnRegion func(region int, done manifest.ExportedRegion) error
}

// Write writes the rows of a table into a directory. Afterwards the caller calls [exportdir.Dir.Finish], or after an error [exportdir.Dir.Remove].
func (p *Plan) Write(ctx context.Context, in Input, d *exportdir.Dir, a Attempt) (_ *Manifest, err error) {
	w := &writing{plan: p, in: in, dir: d, attempt: a, done: make([]*manifest.ExportedRegion, len(in.Regions)), now: a.Now}
	if w.now.IsZero() {
		w.now = time.Now()
	}
	for i, r := range a.Done {
		w.done[i] = &r
	}
	for _, name := range p.family {
		if !slices.Contains(in.Families, name) {
			return nil, fail.Errorf(fail.Config, "table %s has no family %s", in.Table, name)
		}
	}
	if w.choice, err = p.choice(append([][]byte{}, in.Splits...)); err != nil {
		return nil, err
	}
	if err := w.choice.CheckFamilies("table "+in.Table, in.Families); err != nil {
		return nil, err
	}
	if in.Check != nil {
		if err := in.Check(ctx, w.choice); err != nil {
			return nil, err
		}
	}
	if err := w.share(); err != nil {
		return nil, err
	}
	if err := w.each(ctx); err != nil {
		return nil, w.stopped(ctx, tablesource.InputFailure(err))
	}
	m, err := w.finish(ctx)
	return m, w.stopped(ctx, fail.With(fail.HDFS, err))
}

// stopped adds the cancellation as the cause of a failure, since file systems have their own errors for it.
func (w *writing) stopped(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
		return errors.Join(cause, err)
	}
	return err
}

// writing is one call of Write.
type writing struct {
	plan    *Plan
	dir     *exportdir.Dir
	attempt Attempt
	in      Input
	choice  choice.Choice
	workers int
	ahead   int       // read-ahead of each store file, in bytes
	most    int       // maximum bytes of an encoder, and of a row
	now     time.Time // the time that decides which cells have expired

	mu   sync.Mutex
	done []*manifest.ExportedRegion // by region
}

// The minimum memory of a worker, in bytes: for each store file the read-ahead and
// a block, compressed and decompressed; and for its encoder and a row.
const (
	minAhead  = 64 << 10
	maxAhead  = 256 << 10
	blockRoom = 192 << 10
	minText   = 1 << 20
	maxText   = 16 << 20
	minGroup  = 12 << 20
	maxGroup  = 192 << 20
)

// share divides the memory.
func (w *writing) share() error {
	least, most := minText, maxText
	if w.plan.options.Format == Parquet {
		least, most = minGroup, maxGroup
	}
	held := 1 // shares of a worker: one for the encoder and a row, and one for another row if records are versions
	if w.plan.versions() {
		held = 2
	}
	need := w.in.Room + held*least
	memory := int(w.plan.options.Memory)
	if need > memory {
		if w.in.snap == nil {
			return setting.Errorf("the scan and the writer need %d MiB, %s is %s: give more", need>>20+1, setting.Memory, w.plan.options.Memory)
		}
		return setting.Errorf("a region has %s, which need %d MiB; %s is %s: give more", setting.Count(w.in.files, "file"), need>>20+1, setting.Memory, w.plan.options.Memory)
	}
	w.workers = max(1, min(w.plan.options.Workers, len(w.in.Regions), memory/need))
	each := memory / w.workers
	w.most = min((each-w.in.Room)/held, most)
	if w.in.snap != nil {
		w.ahead = min(max((each-held*w.most)/w.in.files-blockRoom, minAhead), maxAhead)
	}
	return nil
}

// region writes the file of a region, unless it has no rows or its file is complete. The first region
// always has a file if only the first file has a header.
func (w *writing) region(ctx context.Context, i int, sc tablesource.Cells) error {
	if w.done[i] != nil {
		return nil
	}
	if err := progress.Pass(ctx, w.attempt.Gate); err != nil {
		return err
	}
	f := &partFile{export: w, ctx: ctx, region: i}
	defer f.abort()
	if i == 0 && w.plan.text != nil && w.plan.text.header(true) && !w.plan.text.header(false) {
		if err := f.open(); err != nil {
			return err
		}
	}
	r := &rows{plan: w.plan, out: f, most: min(w.most, maxRow)}
	if w.plan.versions() {
		sc = tablesource.NewByTime(sc, r.most)
	}
	if err := r.run(ctx, sc); err != nil {
		return fmt.Errorf("%s: %w", w.in.name(i), err)
	}
	done := &manifest.ExportedRegion{NoCells: r.noCells, LeftOver: r.leftOver, Absent: r.absent()}
	if f.enc != nil {
		file, err := f.finish()
		if err != nil {
			return fmt.Errorf("%s: %w", f.name(), err)
		}
		file.Digest = r.digest
		done.File = file
	}
	w.mu.Lock()
	w.done[i] = done
	w.mu.Unlock()
	if w.attempt.OnRegion != nil {
		return w.attempt.OnRegion(i, *done)
	}
	return nil
}

// finish writes the manifest. For a table without rows it writes one file without
// rows, so that readers find the columns.
func (w *writing) finish(ctx context.Context) (*Manifest, error) {
	m := &Manifest{Schema: 1, Table: w.in.Table, Snapshot: w.in.Snapshot, Created: w.in.Created.UTC(), Now: w.now.UTC(), Format: w.plan.options.Format, Columns: w.plan.Columns(), Choice: w.plan.options.Choice, ReadAs: w.plan.Settings(), Files: []manifest.ExportedFile{}}
	m.Absent = manifest.InAll(w.done, func(d *manifest.ExportedRegion) []string { return d.Absent })
	for _, d := range w.done {
		m.NoCells += d.NoCells
		m.LeftOver += d.LeftOver
		if d.File != nil {
			m.Files = append(m.Files, *d.File)
		}
	}
	if len(m.Files) == 0 && w.plan.hasHead() {
		f := &partFile{export: w, ctx: ctx}
		defer f.abort()
		err := f.open()
		var file *manifest.ExportedFile
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
	return m, m.save(ctx, w.dir)
}

// partFile is the file of a region, which is created with its first row.
type partFile struct {
	export *writing
	ctx    context.Context // bounds the life of the file
	region int

	file hdfsio.Writer
	out  *output
	enc  encoder
}

func (f *partFile) name() string {
	return fmt.Sprintf(exportdir.PartPrefix+"%05d.%s", f.region, f.export.plan.options.Format)
}

func (f *partFile) writing() string { return path.Join(f.export.dir.Path, exportdir.Writing, f.name()) }

func (f *partFile) open() (err error) {
	if f.file, err = f.export.dir.FS.Create(f.ctx, f.writing(), f.export.dir.NewFile()); err != nil {
		return err
	}
	f.out = &output{w: f.file, sum: sha256.New()}
	f.enc, err = f.export.plan.begin(f.out, f.region == 0, f.export.most)
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

// finish closes the file and renames it to its final name.
func (f *partFile) finish() (*manifest.ExportedFile, error) {
	if err := f.close(); err != nil {
		return nil, err
	}
	if err := f.file.Finish(); err != nil {
		return nil, err
	}
	if err := f.export.dir.FS.Rename(f.ctx, f.writing(), path.Join(f.export.dir.Path, f.name())); err != nil {
		return nil, err
	}
	return &manifest.ExportedFile{Name: f.name(), Region: f.export.in.Regions[f.region], Bytes: f.out.n, SHA256: fmt.Sprintf("%x", f.out.sum.Sum(nil))}, nil
}

// abort discards an unfinished file.
func (f *partFile) abort() {
	if f.file != nil {
		_ = f.file.Abort() // a leftover is removed with the directory, or by the next attempt
	}
}

// An Input is a table to export.
type Input struct {
	Table    string
	Families []string
	// Snapshot is the name of the snapshot that is read. Empty: the table is scanned.
	Snapshot string
	// Created is the creation time of the snapshot, or the start of reading a table.
	Created time.Time
	// Splits are the start keys of all regions but the first.
	Splits [][]byte
	// Regions are the encoded names of the regions, in order, "" if unknown.
	Regions []string
	// Room is the memory in bytes for reading a region.
	Room int
	// Each reads all regions, up to n concurrently. It reads the cells of a choice in the given families; no families mean all. The first error stops it.
	Each func(ctx context.Context, n int, families []string, c choice.Choice, do func(ctx context.Context, region int, c tablesource.Cells) error) error

	// Check refuses a choice that does not fit the table, before reading. Nil: every choice fits.
	Check func(context.Context, choice.Choice) error

	snap  *snapshot.Snapshot
	files int // maximum number of files in a region
}

// OfSnapshot returns a snapshot as an input.
func OfSnapshot(s *snapshot.Snapshot) Input {
	in := Input{Table: s.Table, Snapshot: s.Name, Created: s.Created, Families: s.FamilyNames(), Splits: s.Splits(), snap: s, files: 1}
	for i := range s.Regions {
		in.Regions = append(in.Regions, s.Regions[i].Encoded)
		in.files = max(in.files, s.Regions[i].Files)
	}
	in.Room = in.files * (minAhead + blockRoom)
	return in
}

// each reads all regions.
func (w *writing) each(ctx context.Context) error {
	if w.in.snap == nil {
		return w.in.Each(ctx, w.workers, w.plan.family, w.choice, w.region)
	}
	view := snapshot.View{Versions: max(1, w.choice.Versions), Families: w.plan.family, Choice: w.choice, Now: w.now, ReadAhead: w.ahead}
	return w.in.snap.Each(ctx, w.workers, view, func(ctx context.Context, i int, sc *snapshot.Scan) error { return w.region(ctx, i, sc) })
}

// name returns the name of the input in errors.
func (in *Input) name(region int) string {
	if in.Snapshot == "" {
		return "table " + in.Table
	}
	return "snapshot " + in.Snapshot + ", region " + in.Regions[region]
}
