package tablesource

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"sync"

	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/choice"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/keygen"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/source"
)

// Files presents a snapshot as a directory with one file for each region, or
// several for a large one (parts.go), whose records are the region's rows
// (rows.go). A file has the snapshot's time, the bytes of the region's HFiles as
// its size, and an id derived from the checksum of the manifest, so that another
// snapshot of the same name has different files.
type Files struct {
	// PartBytes is the number of bytes of a region's files that one file
	// represents, default 32 MiB. It is set before anything is read.
	PartBytes int64
	// Choice selects the cells to read. It is set before anything is read. Default: all.
	Choice choice.Choice

	fsys       hdfsio.FS
	root, name string // of the snapshot
	dir        string // the directory's name
	parser     Parser

	// Set from a plan; nil without one.
	held *snapshot.Snapshot
	cuts map[int][]rowkey.Key // by region

	mu    sync.Mutex
	of    [sha256.Size]byte // the checksum of the manifest of parts
	parts []region
}

// A Parser returns the parser of columns from row keys, nil if no columns are parsed.
type Parser func() (*keygen.KeyParser, error)

// columns resolves columns to the cells of a table, and returns the parser of the columns from keys.
func (p Parser) columns(table string, families, names []string, chosen choice.Choice) (_ []column, parser *keygen.KeyParser, err error) {
	var parsed []string
	if p != nil {
		if parser, err = p(); err != nil {
			return nil, nil, err
		}
	}
	if parser != nil {
		parsed = parser.Columns()
	}
	cells, err := columnsOf(table, families, names, parsed, chosen)
	return cells, parser, err
}

var _ source.Table = (*Files)(nil)

// NewFiles presents the named snapshot under hbase.rootdir as the directory
// /REF. The columns of the parser, which may be nil, are parsed from row keys.
func NewFiles(fsys hdfsio.FS, root, name string, r Ref, parser Parser) *Files {
	return &Files{fsys: fsys, root: root, name: name, dir: "/" + r.String(), parser: parser}
}

// Dir returns the name of the directory.
func (f *Files) Dir() string { return f.dir }

// open reads the manifest, since the snapshot may have been replaced. With a plan,
// the snapshot was compared with it, and its files do not change.
func (f *Files) open(ctx context.Context) (*snapshot.Snapshot, error) {
	if f.held != nil {
		return f.held, nil
	}
	return snapshot.Open(ctx, f.fsys, f.root, f.name)
}

// Stat describes the directory, or a file in it.
func (f *Files) Stat(ctx context.Context, name string) (fs.FileInfo, error) {
	dir, base := path.Split(name)
	if name == f.dir {
		snap, err := f.open(ctx)
		return region{snap: snap, number: -1}, err
	}
	if path.Clean(dir) != f.dir || strings.ContainsAny(base[:min(len(base), 1)], "_.") { // regions have no such names
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	_, parts, err := f.layout(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range parts {
		if r.Name() == base {
			return r, nil
		}
	}
	return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
}

// ReadDir lists the regions and their parts.
func (f *Files) ReadDir(ctx context.Context, name string) ([]fs.FileInfo, error) {
	if name != f.dir {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	_, parts, err := f.layout(ctx)
	if err != nil {
		return nil, err
	}
	infos := make([]fs.FileInfo, len(parts))
	for i, r := range parts {
		infos[i] = r
	}
	return infos, nil
}

// Open opens the HFiles of a region, which shows whether they are readable. The
// returned file is empty.
func (f *Files) Open(ctx context.Context, name string) (fs.File, error) {
	info, err := f.Stat(ctx, name)
	if err != nil {
		return nil, err
	}
	r := info.(region)
	if r.number < 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("it is a directory")}
	}
	sc, err := r.snap.Scan(ctx, int(r.number), snapshot.View{Raw: true, ReadAhead: probeAhead, Start: r.start, Stop: r.stop})
	if err != nil {
		return nil, err
	}
	return emptyFile{sc, r}, nil
}

// probeAhead is the read-ahead of scans that only test whether files can be opened.
const probeAhead = 4 << 10

// emptyFile is an open file without bytes.
type emptyFile struct {
	io.Closer
	info fs.FileInfo
}

func (f emptyFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f emptyFile) Read([]byte) (int, error)   { return 0, io.EOF }

// Memory returns the memory of a scan of the region.
func (f *Files) Memory(info fs.FileInfo) int64 {
	r, ok := info.(region)
	if !ok {
		return 0
	}
	return r.snap.ScanMemory(int(r.number))
}

// Check checks that the table has the families of columns.
func (f *Files) Check(info fs.FileInfo, columns []string) error {
	r, ok := info.(region)
	if !ok {
		return fmt.Errorf("%s is not a region of snapshot %s", info.Name(), f.name)
	}
	_, _, err := f.parser.columns(r.snap.Table, r.snap.FamilyNames(), columns, f.Choice)
	return err
}

// Rows scans a region as of the time at which the snapshot was taken: cells
// that had expired by then are omitted, and the others stay visible as long as
// the snapshot exists.
func (f *Files) Rows(ctx context.Context, info fs.FileInfo, columns []string) (source.Rows, error) {
	r, ok := info.(region)
	if !ok || r.number < 0 {
		return nil, fmt.Errorf("%s is not a region of snapshot %s", info.Name(), f.name)
	}
	cols, parser, err := f.parser.columns(r.snap.Table, r.snap.FamilyNames(), columns, f.Choice)
	if err != nil {
		return nil, err
	}
	sc, err := r.snap.Scan(ctx, int(r.number), snapshot.View{Versions: max(1, f.Choice.Versions), Now: r.snap.Created, Start: r.start, Stop: r.stop, Choice: f.Choice})
	if err != nil {
		return nil, err
	}
	return newRows(sc, f.Choice.Versions, cols, parser, columns), nil
}
