package tablesource

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path"
	"sync/atomic"
	"time"

	"bulkload/internal/base/workers"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/choice"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/keyrange"
	"bulkload/pkg/loader"
	"bulkload/pkg/source"
)

// Bounds records the state of a table at the beginning of a scan. A caller that repeats
// an attempt keeps them, so that the parts stay the same when regions are split.
type Bounds struct {
	Began  int64    // milliseconds
	State  int64    // [loader.Table].StateTime: unchanged if the table was not recreated, emptied or disabled
	Starts [][]byte // the first row of each part, in order; empty for the first
}

// A Scanned is a table that is read by scans, in parts: the regions that it had when
// the first attempt began. It may change meanwhile: each row is returned once and
// whole, as of the moment at which its region was read. It is safe for concurrent use.
type Scanned struct {
	Bounds
	Table    loader.TableName
	Families []string // sorted
	// ChunkBytes is the number of bytes that a server sends at once, default 1 MiB.
	// It is set before anything is read.
	ChunkBytes int64

	cluster *loader.Cluster
	log     *slog.Logger
	done    atomic.Int64 // parts that were read; repeated reads count
	torn    atomic.Int64 // of these, interrupted ones
}

// openScan determines the table's parts, and checks that its families are readable.
func openScan(ctx context.Context, env *cluster.Env, table loader.TableName, b *Bounds) (_ *Scanned, err error) {
	c, err := env.Dial(ctx)
	if err != nil {
		return nil, err
	}
	s := &Scanned{Table: table, cluster: c, log: env.Log}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	t, err := c.Describe(ctx, table)
	switch {
	case errors.Is(err, loader.ErrTableNotFound):
		return nil, fail.With(fail.Input, fmt.Errorf("%w (or its descriptor may not be read, for which the user needs the right CREATE: without it a scan may not show all families)", err))
	case err != nil:
		return nil, cluster.Failure(err)
	case t.State != loader.Enabled:
		return nil, fail.Errorf(fail.Input, "table %s is %s: region servers have none of its rows", table, t.State)
	}
	s.Families = t.FamilyNames()
	if b != nil {
		s.Bounds = *b
		if t.StateTime != s.State {
			return nil, fail.With(fail.Input, s.otherTable())
		}
		return s, s.probe(ctx)
	}
	regions, err := c.Regions(ctx, table)
	if err != nil {
		return nil, cluster.Failure(err)
	}
	s.Began, s.State = time.Now().UnixMilli(), t.StateTime
	for _, r := range regions {
		s.Starts = append(s.Starts, r.Start)
	}
	return s, s.probe(ctx)
}

// probe checks the right to read every family: all cells are to be read.
func (s *Scanned) probe(ctx context.Context) error {
	return cluster.Failure(s.cluster.MayRead(ctx, s.Table, s.Families...))
}

// Each scans all parts, up to n at a time. It calls do with each part's number
// and its scan, from up to n goroutines; do need not close the scan. The first
// error ends all scans.
func (s *Scanned) Each(ctx context.Context, n int, v RowView, do func(ctx context.Context, part int, sc *Scan) error) error {
	return workers.Each(ctx, n, len(s.Starts), func(ctx context.Context, i int) error {
		sc := s.Scan(ctx, i, v)
		err := do(ctx, i, sc)
		if err == nil {
			err = sc.Err()
		}
		return errors.Join(err, sc.Close())
	})
}

// checkSame checks that the table is still the same.
func (s *Scanned) checkSame(ctx context.Context) error {
	t, err := s.cluster.Describe(ctx, s.Table)
	if err == nil && t.StateTime != s.State {
		return fail.With(fail.Input, s.otherTable())
	}
	return err
}

func (s *Scanned) otherTable() error {
	return fmt.Errorf("table %s was disabled, emptied or made again since %s, while it was read: rows may be missing; read it again from the beginning", s.Table, s.Since().Format(time.RFC3339))
}

// Since returns the time when the first attempt began.
func (s *Scanned) Since() time.Time { return time.UnixMilli(s.Began).UTC() }

// Torn returns the number of parts whose scan was interrupted: their region was
// split, merged or moved, or a server had forgotten the scan.
func (s *Scanned) Torn() int64 { return s.torn.Load() }

// close logs how the table was read.
func (s *Scanned) close() error {
	if n := s.done.Load(); n > 0 {
		s.log.Info("table was read by scans: each row is whole, the rows of a part are of one moment unless it was interrupted", "table", s.Table.String(),
			"parts", n, "interrupted", s.Torn(), "from", s.Since(), "to", time.Now().UTC())
	}
	return s.cluster.Close()
}

// first returns the keys of the first n rows of a range.
func (s *Scanned) first(ctx context.Context, r keyrange.Range, n int) (rows [][]byte, err error) {
	req := loader.ScanRequest{Table: s.Table, Families: s.Families, Start: r.Start, Stop: r.Stop, MaxRows: int64(n), Prompt: true}
	err = s.cluster.Scan(ctx, req, func(row loader.Row) error {
		rows = append(rows, bytes.Clone(row.Key))
		return nil
	})
	return rows, scanError(err)
}

// ScanFiles presents a scanned table as a directory with a file for each part, as
// [Files] presents a snapshot. The size of a part is unknown in advance: each file
// has one byte, so that progress counts parts.
type ScanFiles struct {
	// Choice selects the cells to read. Default: all.
	Choice choice.Choice

	table  *Scanned
	dir    string // the directory's name
	parser Parser // of columns from row keys; may be nil
}

var _ source.Table = (*ScanFiles)(nil)

// scanPart is a file that represents a part, or the directory.
type scanPart struct {
	table *Scanned
	number
	none bool // no row of it is read
}

// part returns the file of a part.
func (f *ScanFiles) part(i int) scanPart {
	return scanPart{f.table, number(i), len(keyrange.Within(f.Choice.Ranges, f.table.part(i))) == 0}
}

// Name returns a name that sorts files in the order of their rows.
func (p scanPart) Name() string {
	if p.number < 0 {
		return p.table.Table.String()
	}
	return fmt.Sprintf("%05d-scan", p.number)
}

func (p scanPart) Size() int64 {
	if p.number < 0 || p.none {
		return 0
	}
	return 1
}

func (p scanPart) ModTime() time.Time { return p.table.Since() }

// FileID returns an id that differs between the parts of different jobs.
func (p scanPart) FileID() (uint64, bool) {
	return (uint64(p.table.Began)<<20)&(1<<63-1) + uint64(p.number+1), true // JSON numbers have 63 bits everywhere
}

// Stat describes the directory, or a file in it.
func (f *ScanFiles) Stat(_ context.Context, name string) (fs.FileInfo, error) {
	if name == f.dir {
		return scanPart{table: f.table, number: -1}, nil
	}
	if path.Dir(name) == f.dir {
		for i := range f.table.Starts {
			if p := f.part(i); p.Name() == path.Base(name) {
				return p, nil
			}
		}
	}
	return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
}

// ReadDir lists the parts.
func (f *ScanFiles) ReadDir(_ context.Context, name string) ([]fs.FileInfo, error) {
	if name != f.dir {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	infos := make([]fs.FileInfo, len(f.table.Starts))
	for i := range infos {
		infos[i] = f.part(i)
	}
	return infos, nil
}

// Open opens a part as an empty file.
func (f *ScanFiles) Open(ctx context.Context, name string) (fs.File, error) {
	info, err := f.Stat(ctx, name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("it is a directory")}
	}
	return emptyFile{io.NopCloser(nil), info}, nil
}

// Memory returns [ScanMemory].
func (f *ScanFiles) Memory(fs.FileInfo) int64 { return ScanMemory }

// Check checks that the table has the families of columns.
func (f *ScanFiles) Check(_ fs.FileInfo, columns []string) error {
	_, _, err := f.parser.columns(f.table.Table.String(), f.table.Families, columns, f.Choice)
	return err
}

// Rows scans a part.
func (f *ScanFiles) Rows(ctx context.Context, info fs.FileInfo, columns []string) (source.Rows, error) {
	p, ok := info.(scanPart)
	if !ok || p.number < 0 {
		return nil, fmt.Errorf("%s is not part of table %s", info.Name(), f.table.Table)
	}
	cols, parser, err := f.parser.columns(f.table.Table.String(), f.table.Families, columns, f.Choice)
	if err != nil {
		return nil, err
	}
	return newRows(f.table.Scan(ctx, int(p.number), RowView{Choice: f.Choice}), f.Choice.Versions, cols, parser, columns), nil
}
