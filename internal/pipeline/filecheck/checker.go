package filecheck

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"bulkload/internal/base/workers"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
)

// A DamagedError reports an HFile that differs from what was written, or is not valid.
type DamagedError struct {
	Path  string
	Found []string // findings, with offsets if there are any
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s is damaged: %s", e.Path, strings.Join(e.Found, "; "))
}

// unsupportedError reports an HFile that cannot be read because it is encrypted or of another version. It may be intact.
type unsupportedError struct{ of DamagedError }

func (e *unsupportedError) Error() string { return e.of.Path + ": " + strings.Join(e.of.Found, "; ") }

func (e *unsupportedError) Unwrap() error { return hfile.ErrUnsupported }

// Target is a file to be checked, with its known properties.
type Target struct {
	manifest.File
	Path      string // on the file system
	MayBeGone bool   // a missing file is not damage
	ID        uint64 // of the file that was read, if the file system has ids
}

// Checker reads whole HFiles before HBase gets them. It compares a file with
// its checksum if that is known; otherwise it checks the file block by block
// and cell by cell.
type Checker struct {
	FS     hdfsio.FS
	Gate   progress.Gate // passed before each file
	Events progress.Events
}

const (
	// minWorkers and maxWorkers limit the number of files that are read at a time: more than one core can process, since
	// reading waits for DataNodes; the upper limit bounds memory.
	minWorkers, maxWorkers = 4, 8
	// quickFile is the size up to which maxWorkers files are read at a time.
	quickFile = 1 << 20
)

// atATime returns the number of files to read at a time.
func atATime(files []Target) int {
	n := max(runtime.GOMAXPROCS(0), minWorkers)
	if !slices.ContainsFunc(files, func(f Target) bool { return f.Bytes > quickFile }) {
		n = maxWorkers
	}
	return min(n, len(files), maxWorkers)
}

// All checks files, and stores their ids and checksums in them. It finds all
// damaged files; it returns an error if a file could not be read.
func (p *Checker) All(ctx context.Context, files []Target) (damaged map[int]*DamagedError, err error) {
	if len(files) == 0 {
		return nil, nil
	}
	p.Events.Phase("check")
	total := progress.Amount{}
	for _, f := range files {
		total.Files++
		total.Bytes += f.Bytes
	}
	p.Events.Total("check", total)
	var mu sync.Mutex
	damaged = map[int]*DamagedError{}
	err = workers.Each(ctx, atATime(files), len(files), func(ctx context.Context, i int) error {
		if err := progress.Pass(ctx, p.Gate); err != nil {
			return err
		}
		err := damagedBlock(files[i].Path, p.checkFile(ctx, &files[i]))
		if files[i].MayBeGone && errors.Is(err, fs.ErrNotExist) { // also between its opening and a read
			return nil
		}
		d, ok := errors.AsType[*DamagedError](err)
		if !ok {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		damaged[i] = d
		return nil
	})
	return damaged, err
}

// damagedBlock marks a file as damaged if HDFS has no intact replica of one of its blocks.
func damagedBlock(name string, err error) error {
	if b, ok := errors.AsType[*hdfsio.BlockError](err); ok {
		return &DamagedError{name, []string{b.Error()}}
	}
	return err
}

// checkFile checks a file. It stores the file's checksum, if that was unknown.
func (p *Checker) checkFile(ctx context.Context, f *Target) error {
	file, err := Open(ctx, p.FS, f.Path)
	if err != nil {
		return err
	}
	defer file.Close()
	f.ID, _ = hdfsio.FileID(file.Info)
	if size := file.Info.Size(); size != f.Bytes {
		return &DamagedError{f.Path, []string{fmt.Sprintf("it has %d bytes, want %d", size, f.Bytes)}}
	}
	if f.CRC32C == 0 {
		f.CRC32C, err = p.check(ctx, file, f)
		return err
	}
	sum, err := sumOf(ctx, file, f.Bytes, p.Events.Checked)
	if err != nil || sum == f.CRC32C {
		return err
	}
	return p.Differs(ctx, file, f, sum)
}

// Differs returns an error that describes the damage of a file with a wrong checksum.
func (p *Checker) Differs(ctx context.Context, at io.ReaderAt, f *Target, sum uint32) error {
	found := []string{fmt.Sprintf("the CRC-32C of its bytes is %08x, want %08x", sum, f.CRC32C)}
	_, err := (&Checker{FS: p.FS}).check(ctx, at, f)
	if d, ok := errors.AsType[*DamagedError](err); ok {
		found = append(found, d.Found...)
	} else if u, ok := errors.AsType[*unsupportedError](err); ok {
		found = append(found, u.of.Found...)
	} else if err == nil {
		found = append(found, "it is a valid HFile, but not the one that was written")
	}
	return &DamagedError{f.Path, found}
}

// sumOf reads a file of about the given number of bytes to its end.
func sumOf(ctx context.Context, r io.Reader, bytes int64, told func(int64)) (uint32, error) {
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	sum := uint32(0)
	buf := make([]byte, min(max(bytes+1, 4<<10), 512<<10))
	for {
		n, err := r.Read(buf)
		sum = crc32.Update(sum, castagnoli, buf[:n])
		if told != nil {
			told(int64(n))
		}
		switch {
		case ctx.Err() != nil:
			return 0, context.Cause(ctx)
		case err == io.EOF:
			return sum, nil
		case err != nil:
			return 0, err
		}
	}
}

// check checks a file against its own metadata, and returns the checksum of its
// bytes.
func (p *Checker) check(ctx context.Context, at io.ReaderAt, f *Target) (uint32, error) {
	if _, ok := p.FS.(hdfsio.Local); !ok {
		at = newPieces(at, f.Bytes)
	}
	r := &checkedReader{ctx: ctx, at: at, report: p.Events.Checked}
	res := hfile.Check(r, f.Bytes, hfile.CheckOptions{Name: path.Base(f.Path)})
	if r.err != nil {
		return 0, r.err
	}
	if res.Unsupported {
		return 0, &unsupportedError{DamagedError{f.Path, withoutValues(res.Errors)}}
	}
	found := res.Errors
	if res.OK && res.Entries != f.Cells {
		found = append(found, fmt.Sprintf("it has %d cells, not %d", res.Entries, f.Cells))
	}
	if len(found) > 0 {
		return 0, &DamagedError{f.Path, withoutValues(found)}
	}
	return r.end(f.Bytes)
}

// quoted matches a row or a value in a finding.
var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// withoutValues removes the table's data from the first findings.
func withoutValues(found []string) []string {
	const most = 3
	found = slices.Compact(slices.Clone(found)) // two passes may find the same problem
	var kept []string
	for _, s := range found[:min(most, len(found))] {
		kept = append(kept, quoted.ReplaceAllString(s, "…"))
	}
	if more := len(found) - most; more > 0 {
		kept = append(kept, fmt.Sprintf("and %d more", more))
	}
	return kept
}

// ReadBack reads every byte of a written file and compares the checksum. If it
// succeeds, the file has the bytes that were sent.
func ReadBack(ctx context.Context, fsys hdfsio.FS, name string, sent uint32) error {
	f, err := fsys.Open(ctx, name)
	if err != nil {
		return err
	}
	defer f.Close()
	sum, err := sumOf(ctx, f, 512<<10, nil)
	if err == nil && sum != sent {
		err = fmt.Errorf("the CRC-32C of its bytes is %08x, want %08x", sum, sent)
	}
	if err != nil {
		return fmt.Errorf("read back %s: %w", name, err)
	}
	return nil
}
