package build

import (
	"cmp"
	"context"
	"io/fs"
	"path"
	"strings"
	"sync"
	"time"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/pipeline/encode"
	"bulkload/internal/pipeline/filecheck"
	"bulkload/internal/pipeline/upload"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/partition/extsort"

	"golang.org/x/sync/errgroup"
)

// Output is the destination of HFiles: Dir/family/name, written under Dir/_writing first.
type Output struct {
	FS       hdfsio.FS
	Dir      string
	FileMode fs.FileMode // default 0644
	DirMode  fs.FileMode // default 0755
	Retry    WriteRetry  // for files that could not be written

	Identify bool // files get their ids also without a journal
	Made     bool // Dir exists, and is not created again if another process has removed it

	// Writing is the directory of incomplete files below Dir. Default [WritingDir].
	Writing string
	// Shared means that other processes may write the same files: an existing file with the same bytes is kept, and written
	// files stay when the build fails.
	Shared bool

	Policies Policies // of the families

	Uploads *upload.Limiter // limits the data written, if it is on HDFS
}

// WritingDir is the directory of incomplete files, and MergeDir that of the records
// of merges of shares, both below the parent directory of the families. A directory
// whose name begins with LoadingPrefix holds files that a load has split or merged.
const (
	WritingDir    = "_writing"
	MergeDir      = "_merge"
	LoadingPrefix = "_loading-"
)

// TemporaryDir is the directory in which Hadoop's jobs write until they are committed.
const TemporaryDir = "_temporary"

// Reserved reports whether a directory name is reserved, so that it is not a family's.
func Reserved(name string) bool {
	return name == WritingDir || name == MergeDir || name == TemporaryDir || strings.HasPrefix(name, LoadingPrefix)
}

// CheckFamily returns an error for a family whose directory would have a reserved name.
func CheckFamily(name string) error {
	if Reserved(name) {
		return fail.Errorf(fail.Config, "family %s: its name is reserved for unfinished files: choose another family name", name)
	}
	return nil
}

// writing returns the directory of incomplete files.
func (o Output) writing() string { return cmp.Or(o.Writing, WritingDir) }

func (o Output) withDefaults() Output {
	o.FileMode = cmp.Or(o.FileMode, 0o644)
	o.DirMode = cmp.Or(o.DirMode, 0o755)
	o.Retry = o.Retry.withDefaults()
	return o
}

// Prepare creates the directories, several at a time.
func (o Output) Prepare(ctx context.Context, families ...string) error {
	const atATime = 8
	for _, f := range families {
		if err := CheckFamily(f); err != nil {
			return err
		}
	}
	outer := ctx
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atATime)
	for _, d := range append([]string{o.writing()}, families...) {
		g.Go(func() error {
			return fail.With(fail.HDFS, o.Mkdir(ctx, d))
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, f := range families {
		if err := o.SetPolicy(outer, f); err != nil {
			return fail.With(fail.HDFS, err)
		}
	}
	return nil
}

// Mkdir creates a directory below Dir with exactly the mode DirMode, regardless of the umask of the process or cluster.
func (o Output) Mkdir(ctx context.Context, name string) error {
	mkdir := o.FS.MkdirAll
	if o.Made {
		mkdir = o.FS.Mkdir
	}
	err := mkdir(ctx, path.Join(o.Dir, name), o.DirMode)
	if err == nil {
		err = o.FS.Chmod(ctx, path.Join(o.Dir, name), o.DirMode)
	}
	return err
}

// writers is pass 2 of one table: workers take regions, the largest first, merge each and
// write its file. Workers without a region help the others to encode.
type writers struct {
	plan   *cells.Plan
	sort   sortedRows
	from   int // ordinal of the table's first region in the sort
	out    Output
	sample int // number of rows to sample from each region, for verification
	events progress.Events
	resume *Resume
	gate   progress.Gate         // passed before each region
	only   func(region int) bool // by its ordinal in the sort; nil: all

	decoder func() cells.RowDecoder // of packed rows

	allowed func() error // called before files get their names; nil: they may

	helpers *encode.Idle
	sinks   *sinkPool // of all tables

	mu      sync.Mutex
	files   []manifest.File
	digest  manifest.Digest
	sum     manifest.RowSum // of packed rows
	times   *manifest.CellTimes
	counts  regionCounts
	samples []manifest.Sample
	last    time.Time           // time of the last finished file
	claims  map[string][]uint64 // ids of the files that were being renamed to a final name

	several   bool // other tables are written in the same build
	uncounted bool // the journal of an older version lacks the counts of its files
}

// sortedRows provides the rows of all regions, in order. Different regions may be merged concurrently.
type sortedRows interface {
	// Region merges one region; if finish returns nil, everything of the region was written.
	Region(region int) (m *extsort.Merge, finish func(*encode.Region) error, err error)
	// Size returns the number of rows of a region and their size in bytes, before duplicates are left out.
	Size(region int) (rows, bytes int64)
	// LeftOut returns the number of rows of a region that were left out as duplicates earlier.
	LeftOut(region int) int64
}

// ownSort is the sort of this process.
type ownSort struct{ *extsort.Sorter }

func (s ownSort) Region(region int) (*extsort.Merge, func(*encode.Region) error, error) {
	m, err := s.Sorter.Region(region)
	return m, func(*encode.Region) error { return nil }, err
}

func (ownSort) LeftOut(int) int64 { return 0 }

// pendingFile is an encoded HFile whose last bytes may still be in transit.
type pendingFile struct {
	manifest.File
	writing string // temporary name
	sink    *lateWriter
	out     *hdfsio.Overlapped
}

// bytes returns the total size of the files.
func (p *pendingRegion) bytes() (n int64) {
	for _, f := range p.files {
		n += f.Bytes
	}
	return n
}

// pendingRegion holds the files of one region, one for each family.
type pendingRegion struct {
	files []*pendingFile
	part  encode.Region

	counts regionCounts
}

// abort discards the files that do not have their final names. Remains are in
// _writing, which is removed with its contents.
func (p *pendingRegion) abort() {
	for _, f := range p.files {
		f.abort()
	}
}

func (p *pendingFile) abort() {
	_ = p.out.Drain() // unwanted data need not have arrived
	_ = p.sink.Abort()
}

// complete finishes the files, verifies them and renames them to their final
// names. The region is done when all files have these and are recorded.
func (w *writers) complete(ctx context.Context, p *pendingRegion) (err error) {
	defer func() {
		if err != nil {
			w.events.Merged(-p.part.Taken)
		}
	}()
	defer w.out.Uploads.Leave()
	var files []*pendingFile
	for i, f := range p.files {
		ok, err := w.finish(ctx, f)
		if err != nil {
			for _, f := range p.files[i+1:] {
				f.abort()
			}
			w.discard(ctx, files)
			return fail.With(fail.HDFS, err)
		}
		if ok {
			files = append(files, f)
		}
	}
	if err := w.mayName(ctx); err != nil {
		w.discard(ctx, files)
		return err
	}
	for i, f := range files {
		if err := w.name(ctx, f); err != nil {
			w.discard(ctx, files[i:])
			w.unname(ctx, files[:i])
			return fail.With(fail.HDFS, err)
		}
	}
	if len(files) > 0 {
		if err := w.resume.wrote(files, p, w.from); err != nil {
			return recordError{err}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts.add(p.counts)
	if len(files) == 0 {
		return nil
	}
	for _, f := range files {
		w.files = append(w.files, f.File)
		w.events.Hfile(progress.HFile{Name: f.Name, Region: w.from + f.Region, Rows: f.Rows, Cells: f.Cells, Bytes: f.Bytes})
	}
	w.digest.Add(p.part.Digest)
	w.sum.Add(p.part.Sum)
	w.times = w.times.Join(p.part.Times)
	w.samples = append(w.samples, p.part.Samples()...)
	w.last = time.Now()
	return nil
}

// discard removes files without a final name if possible: remaining ones are in _writing.
func (w *writers) discard(ctx context.Context, files []*pendingFile) {
	for _, f := range files {
		_ = w.out.FS.Remove(ctx, f.writing)
	}
}

// finish ends one file and verifies it by reading back its metadata. It returns
// false if the file has no cells and is not kept.
func (w *writers) finish(ctx context.Context, f *pendingFile) (bool, error) {
	err := f.out.Drain()
	if err == nil && f.Cells > 0 {
		err = f.sink.Finish()
	}
	if err != nil || f.Cells == 0 {
		f.abort()
		return false, err
	}
	f.CRC32C = f.out.Sum
	if err := filecheck.Written(ctx, reopen{w.out.FS, f.sink}, f.writing, f.File); err != nil {
		_ = w.out.FS.Remove(ctx, f.writing)
		return false, err
	}
	return true, nil
}

// Create creates an HFile whose bytes count against the upload limit.
func (o Output) Create(ctx context.Context, name string, c hdfsio.CreateOptions) (hdfsio.Writer, error) {
	w, err := o.FS.Create(ctx, name, c)
	if err != nil {
		return nil, err
	}
	return o.Uploads.Writer(ctx, w), nil
}
