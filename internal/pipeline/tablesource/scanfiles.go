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

// Dir returns the name of the directory.
func (f *ScanFiles) Dir() string { return f.dir }

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
