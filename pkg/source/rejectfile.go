package source

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"bulkload/internal/base/durable"
)

// RejectFile collects bad records in a local file, one JSON object a line. Its first line says how the records were read:
//
//	{"bulkload_rejects":1,"format":"csv","field_sep":",","columns":["id","check_id"]}
//	{"path":"check.csv","offset":2301,"record":17,"column":"check_id","reason":"…","raw":"…"}
//
// so that it can be read as an input again, by [FormatRejects]; where that changes from one file to the next, such a line
// stands before the first record. "partitions" there, such as ["dt=2026-11-01"], are columns that the records had by their path. "since" is there when record counts from that byte of the file on; "lines" when the
// record spans several; "column" and "value" when one column is at fault. "raw" is the record without its end mark,
// "raw_base64" stands in for it when the record is not UTF-8. Parquet and Avro have no such thing: raw is a line of CSV then,
// in which NULL is \N.
//
// The order of lines is that of the input, however the records came in. Until Finish they are in a temporary file next to
// it, which takes a few megabytes of memory, however many they are. Its methods may be called by any number of goroutines.
type RejectFile struct {
	path   string
	target string // the path without symbolic links, once it was checked

	mu      sync.Mutex
	spool   *rejectSpool // nil before the first record
	records int
	closed  bool
	err     error
}

// NewRejectFile is a reject file with the given local path. Nothing is created before the first record, so a job without
// bad records leaves no file, and one that has some replaces an earlier reject file.
func NewRejectFile(path string) *RejectFile { return &RejectFile{path: path, target: path} }

// Path is where Finish puts the file.
func (f *RejectFile) Path() string { return f.path }

// Write adds a record. It keeps nothing of e.
func (f *RejectFile) Write(e RowError) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed && f.err == nil {
		f.err = os.ErrClosed
	}
	if f.spool == nil && f.err == nil {
		f.spool, f.err = newRejectSpool(f.target)
	}
	if f.err == nil {
		f.spool.split, f.spool.form = e.split, e.form
		f.err = writeReject(f.spool, &e)
	}
	if f.err != nil {
		return fmt.Errorf("reject file %s: %w", f.path, f.err)
	}
	f.records++
	return nil
}

// Finish writes the records in order, gives the file its name, and says how many there are. It is for jobs that failed
// too: the file says why. After it, Abort does nothing.
func (f *RejectFile) Finish() (records int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return f.records, f.err
	}
	f.closed = true
	if f.spool == nil {
		return 0, f.err
	}
	defer func() {
		f.err = err
		if err != nil {
			records, err = 0, fmt.Errorf("reject file %s: %w", f.path, err)
		}
	}()
	defer func() { err = errors.Join(err, f.spool.Close()) }()
	if f.err != nil {
		return 0, f.err
	}
	out, err := os.CreateTemp(filepath.Dir(f.target), tempPattern(f.target)) // mode 0600
	if err != nil {
		return 0, err
	}
	err = f.spool.copyTo(out)
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err == nil {
		_, err = replaceable(f.target) // what has come meanwhile is not replaced either
	}
	if err == nil {
		err = os.Rename(out.Name(), f.target)
	}
	if err != nil {
		return 0, errors.Join(err, os.Remove(out.Name()))
	}
	return f.records, durable.SyncDir(filepath.Dir(f.target))
}

// Abort drops all records.
func (f *RejectFile) Abort() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.spool == nil {
		f.closed = true
		return nil
	}
	f.closed = true
	return f.spool.Close()
}

// tempPattern is that of the temporary files next to a reject file.
func tempPattern(path string) string { return "." + filepath.Base(path) + ".*" }

// RemoveTemp removes the temporary files that a killed process has left next to a reject file: for callers that know that no
// other is at work on it.
func (f *RejectFile) RemoveTemp() error {
	dir, prefix := filepath.Dir(f.path), strings.TrimSuffix(tempPattern(f.path), "*")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), prefix)
		if _, other := strconv.ParseUint(number, 10, 64); ok && other == nil { // as os.CreateTemp makes them
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

var _ io.Writer = (*rejectSpool)(nil)
