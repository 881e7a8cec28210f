package tablesource

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"bulkload/pkg/hdfsio"
	"bulkload/pkg/snapshot"
	"bulkload/pkg/source"
)

// Files shows a snapshot as a directory with one file for each region, whose
// records are the region's rows (rows.go). A file has the snapshot's time, the
// bytes of the region's HFiles as its size, and a number from the checksum of the
// manifest, so that another snapshot of the same name has other files.
type Files struct {
	fsys       hdfsio.FS
	root, name string // of the snapshot
	dir        string // as which it is shown
}

var _ source.Table = (*Files)(nil)

// NewFiles shows the snapshot of a name under hbase.rootdir, as the directory
// /REF.
func NewFiles(fsys hdfsio.FS, root, name string, r Ref) *Files {
	return &Files{fsys: fsys, root: root, name: name, dir: "/" + r.String()}
}

// Dir is the name of the directory.
func (f *Files) Dir() string { return f.dir }

// region is a region as a file, or the directory of them all.
type region struct {
	snap   *snapshot.Snapshot
	number int // −1: the directory
}

func (r region) Name() string {
	if r.number < 0 {
		return r.snap.Name
	}
	return fmt.Sprintf("%05d-%s", r.number, r.snap.Regions[r.number].Encoded) // in the order of rows
}

// Size is 0 of a region without files, which has no rows.
func (r region) Size() int64 {
	if r.number < 0 {
		return 0
	}
	s := r.snap.Regions[r.number]
	return max(s.Bytes, int64(s.Files))
}

func (r region) Mode() fs.FileMode {
	if r.number < 0 {
		return fs.ModeDir | 0o500
	}
	return 0o400
}

func (r region) ModTime() time.Time { return r.snap.Created }
func (r region) IsDir() bool        { return r.number < 0 }
func (r region) Sys() any           { return nil }

// FileID distinguishes the files of one manifest from those of another.
func (r region) FileID() (uint64, bool) {
	return binary.BigEndian.Uint64(r.snap.Checksum[:])>>1 + uint64(r.number+1), true // JSON has 63 bits everywhere
}

// open reads the manifest: a snapshot may have been replaced.
func (f *Files) open(ctx context.Context) (*snapshot.Snapshot, error) {
	return snapshot.Open(ctx, f.fsys, f.root, f.name)
}

// Stat describes the directory, or a file in it.
func (f *Files) Stat(ctx context.Context, name string) (fs.FileInfo, error) {
	dir, base := path.Split(name)
	if name != f.dir && path.Clean(dir) != f.dir {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	if name != f.dir && strings.ContainsAny(base[:min(len(base), 1)], "_.") { // what no region is called
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	snap, err := f.open(ctx)
	if err != nil || name == f.dir {
		return region{snap, -1}, err
	}
	for i := range snap.Regions {
		if r := (region{snap, i}); r.Name() == base {
			return r, nil
		}
	}
	return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
}

// ReadDir lists the regions.
func (f *Files) ReadDir(ctx context.Context, name string) ([]fs.FileInfo, error) {
	if name != f.dir {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	snap, err := f.open(ctx)
	if err != nil {
		return nil, err
	}
	infos := make([]fs.FileInfo, len(snap.Regions))
	for i := range snap.Regions {
		infos[i] = region{snap, i}
	}
	return infos, nil
}

// Open opens the HFiles of a region, which shows whether they may be read, and
// gives none of their bytes.
func (f *Files) Open(ctx context.Context, name string) (fs.File, error) {
	info, err := f.Stat(ctx, name)
	if err != nil {
		return nil, err
	}
	r := info.(region)
	if r.number < 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("it is a directory")}
	}
	sc, err := r.snap.Scan(ctx, r.number, snapshot.View{Raw: true, ReadAhead: probeAhead})
	if err != nil {
		return nil, err
	}
	return &regionFile{sc, r}, nil
}

// probeAhead is for scans that only see whether files can be opened.
const probeAhead = 4 << 10

type regionFile struct {
	*snapshot.Scan
	info region
}

func (f *regionFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *regionFile) Read([]byte) (int, error)   { return 0, io.EOF }

// Memory is what a scan of the region takes.
func (f *Files) Memory(info fs.FileInfo) int64 {
	r, ok := info.(region)
	if !ok {
		return 0
	}
	return r.snap.ScanMemory(r.number)
}

// Check sees that columns are of families that the table has.
func (f *Files) Check(info fs.FileInfo, columns []string) error {
	r, ok := info.(region)
	if !ok {
		return fmt.Errorf("%s is no region of snapshot %s", info.Name(), f.name)
	}
	_, err := columnsOf(r.snap, columns)
	return err
}

// Rows scans a region at the time at which the snapshot was taken: cells whose
// lifetime was over by then are left out, and the rest stays as long as the
// snapshot does.
func (f *Files) Rows(ctx context.Context, info fs.FileInfo, columns []string) (source.Rows, error) {
	r, ok := info.(region)
	if !ok || r.number < 0 {
		return nil, fmt.Errorf("%s is no region of snapshot %s", info.Name(), f.name)
	}
	cols, err := columnsOf(r.snap, columns)
	if err != nil {
		return nil, err
	}
	sc, err := r.snap.Scan(ctx, r.number, snapshot.View{Versions: 1, Now: r.snap.Created})
	if err != nil {
		return nil, err
	}
	return &rows{scan: sc, columns: cols, row: rowColumn(columns)}, nil
}
