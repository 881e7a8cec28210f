package tablesource

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"time"

	"bulkload/internal/model/choice"
	"bulkload/internal/model/keyrange"
	"bulkload/pkg/source"
)

// ScanFiles shows a table that is scanned as a directory with a file for each
// part, as [Files] shows a snapshot. What is in a part is not known before: a file
// has one byte, so that progress counts parts.
type ScanFiles struct {
	// Choice is which cells are read. It is set before anything is read. Default: all.
	Choice choice.Choice

	table  *Scanned
	dir    string
	parser Parser
}

var _ source.Table = (*ScanFiles)(nil)

// NewScanFiles shows the table as the directory /REF. Columns that the parser
// knows, which may be nil, are those of row keys.
func NewScanFiles(s *Scanned, r Ref, parser Parser) *ScanFiles {
	return &ScanFiles{table: s, dir: "/" + r.String(), parser: parser}
}

// Dir returns the name of the directory.
func (f *ScanFiles) Dir() string { return f.dir }

// scanPart is a part as a file, or the directory of them all.
type scanPart struct {
	table  *Scanned
	number int  // −1: the directory
	none   bool // it has no row that is read
}

// part returns a part as a file.
func (f *ScanFiles) part(i int) scanPart {
	return scanPart{f.table, i, len(keyrange.Within(f.Choice.Ranges, f.table.part(i))) == 0}
}

// Name orders files as rows are.
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

func (p scanPart) Mode() fs.FileMode {
	if p.number < 0 {
		return fs.ModeDir | 0o500
	}
	return 0o400
}

func (p scanPart) ModTime() time.Time { return p.table.Since() }
func (p scanPart) IsDir() bool        { return p.number < 0 }
func (p scanPart) Sys() any           { return nil }

// FileID distinguishes the parts of one job from those of another.
func (p scanPart) FileID() (uint64, bool) {
	return (uint64(p.table.Began)<<20)&(1<<63-1) + uint64(p.number+1), true // JSON has 63 bits everywhere
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

// Open gives none of a part's bytes.
func (f *ScanFiles) Open(ctx context.Context, name string) (fs.File, error) {
	info, err := f.Stat(ctx, name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("it is a directory")}
	}
	return scanPartFile{info}, nil
}

type scanPartFile struct{ info fs.FileInfo }

func (f scanPartFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f scanPartFile) Read([]byte) (int, error)   { return 0, io.EOF }
func (f scanPartFile) Close() error               { return nil }

// Memory is [ScanMemory].
func (f *ScanFiles) Memory(fs.FileInfo) int64 { return ScanMemory }

// Check sees that columns are of families that the table has.
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
	return newRows(f.table.Scan(ctx, p.number, RowView{Choice: f.Choice}), f.Choice.Versions, cols, parser, columns), nil
}
