package source

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"unicode/utf8"
)

// RejectFile collects bad records in a local file, one JSON object a line:
//
//	{"path":"check.csv","offset":2301,"record":17,"column":"check_id","reason":"…","raw":"…"}
//
// "since" is there when record counts from that byte of the file on; "column" when one column is at fault; "raw_base64"
// stands in for "raw" when the record is not UTF-8. At most 4 KiB of a record are kept.
//
// The order of lines is that of paths and offsets, however the records came in. Until Finish they lie in a temporary file
// beside it, and about 50 bytes of memory for each. Its methods may be called by any number of goroutines.
type RejectFile struct {
	path string

	mu     sync.Mutex
	spool  *os.File // in the order of arrival; nil before the first record
	w      *bufio.Writer
	at     int64
	lines  []rejectLine
	paths  map[string]string // one copy of each path
	closed bool
	err    error
}

// rejectLine is where a line lies in the spool.
type rejectLine struct {
	path   string
	offset int64
	column string
	at     int64
	size   int
}

// NewRejectFile is a reject file with the given local path. Nothing is created before the first record, so a job without
// bad records leaves no file, and one that has some replaces what is there.
func NewRejectFile(path string) *RejectFile {
	return &RejectFile{path: path, paths: make(map[string]string)}
}

// Path is where Finish puts the file.
func (f *RejectFile) Path() string { return f.path }

type rejectJSON struct {
	Path      string  `json:"path"`
	Offset    int64   `json:"offset"`
	Record    int64   `json:"record"`
	Since     int64   `json:"since,omitempty"`
	Column    string  `json:"column,omitempty"`
	Reason    string  `json:"reason"`
	Raw       *string `json:"raw,omitempty"`
	RawBase64 []byte  `json:"raw_base64,omitempty"`
}

// Write adds a record.
func (f *RejectFile) Write(e RowError) error {
	j := rejectJSON{Path: e.Path, Offset: e.Offset, Record: e.Record, Since: e.Since, Column: e.Column, Reason: e.Reason}
	if j.Reason == "" && e.Err != nil {
		j.Reason = e.Err.Error()
	}
	if raw := wholeRunes(e.Raw); utf8.Valid(raw) {
		text := string(raw)
		j.Raw = &text
	} else {
		j.RawBase64 = e.Raw
	}
	line, err := json.Marshal(j)
	if err != nil {
		return fmt.Errorf("reject file %s: %w", f.path, err)
	}
	line = append(line, '\n')

	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed && f.err == nil {
		f.err = os.ErrClosed
	}
	if f.spool == nil && f.err == nil {
		f.spool, f.err = os.CreateTemp(filepath.Dir(f.path), "."+filepath.Base(f.path)+".*")
		f.w = bufio.NewWriter(f.spool)
	}
	if f.err == nil {
		_, f.err = f.w.Write(line)
	}
	if f.err != nil {
		return fmt.Errorf("reject file %s: %w", f.path, f.err)
	}
	if _, ok := f.paths[e.Path]; !ok {
		f.paths[e.Path] = e.Path
	}
	f.lines = append(f.lines, rejectLine{f.paths[e.Path], e.Offset, e.Column, f.at, len(line)})
	f.at += int64(len(line))
	return nil
}

// wholeRunes takes off a character that was cut in two at the length limit.
func wholeRunes(raw []byte) []byte {
	if len(raw) < maxRaw {
		return raw
	}
	for i := 1; i <= utf8.UTFMax && i <= len(raw); i++ {
		if tail := raw[len(raw)-i:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return raw[:len(raw)-i]
			}
			break
		}
	}
	return raw
}

// Finish writes the records in order, gives the file its name, and says how many there are. It is for jobs that failed
// too: the file tells why. After it, Abort does nothing.
func (f *RejectFile) Finish() (records int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return len(f.lines), f.err
	}
	f.closed = true
	if f.spool == nil {
		return 0, f.err
	}
	defer func() {
		f.err = err
		if err != nil {
			err = fmt.Errorf("reject file %s: %w", f.path, err)
		}
	}()
	defer func() { err = errors.Join(err, f.dropSpool()) }()
	if f.err != nil {
		return 0, f.err
	}
	if err := f.w.Flush(); err != nil {
		return 0, err
	}
	slices.SortStableFunc(f.lines, func(a, b rejectLine) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.offset, b.offset), cmp.Compare(a.column, b.column))
	})
	out, err := os.CreateTemp(filepath.Dir(f.path), "."+filepath.Base(f.path)+".*")
	if err != nil {
		return 0, err
	}
	if err := f.copySorted(out); err != nil {
		return 0, errors.Join(err, out.Close(), os.Remove(out.Name()))
	}
	if err := os.Rename(out.Name(), f.path); err != nil {
		return 0, errors.Join(err, os.Remove(out.Name()))
	}
	return len(f.lines), nil
}

func (f *RejectFile) copySorted(out *os.File) error {
	w := bufio.NewWriter(out)
	for _, l := range f.lines {
		if _, err := io.Copy(w, io.NewSectionReader(f.spool, l.at, int64(l.size))); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := out.Sync(); err != nil {
		return err
	}
	return out.Close()
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
	return f.dropSpool()
}

func (f *RejectFile) dropSpool() error {
	return errors.Join(f.spool.Close(), os.Remove(f.spool.Name()))
}
