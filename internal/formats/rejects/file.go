package rejects

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"bulkload/internal/base/durable"
	"bulkload/internal/formats/charset"
	"bulkload/pkg/setting"
)

// fail adds the name of the file to an error.
func (f *File) fail(err error) error {
	return fmt.Errorf("%s %s: %w", strings.ReplaceAll(string(f.name), "_", " "), f.path, err)
}

// File collects records in a local file, one JSON object a line. They are in the order of the input, whatever the order of the calls of Write. Until
// Finish, they are in a temporary file next to it. A File needs a few megabytes of memory, whatever the number of records. Several goroutines may call
// its methods.
type File struct {
	name   setting.Name // the setting, which determines the kind of file
	path   string
	target string // the path without symbolic links, after Check

	mu      sync.Mutex
	spool   *spool           // nil before the first record
	set     *charset.Charset // of the records of the spool's current form, nil for UTF-8
	records int
	closed  bool
	err     error
}

// NewFile returns the file with a local path for one of the settings [setting.RejectFile] (bad records), [setting.FilteredFile] and
// [setting.DuplicatesFile]. Files of all three have the same format. Nothing is created before the first record, so a job without
// such records leaves no file. A job with such records replaces an earlier file of any of these kinds.
func NewFile(name setting.Name, path string) *File {
	return &File{name: name, path: path, target: path}
}

// Path returns the path of the finished file.
func (f *File) Path() string { return f.path }

// Write adds a record of a split. form describes how it was read. Write does not retain e.
func (f *File) Write(split int, form *Form, e *Record) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed && f.err == nil {
		f.err = os.ErrClosed
	}
	if f.spool == nil && f.err == nil {
		f.spool, f.err = newSpool(f.target)
	}
	if f.err == nil {
		if f.spool.split = split; f.spool.form != form {
			f.spool.form = form
			f.set, f.err = form.set()
		}
	}
	if f.err == nil {
		f.err = e.write(f.spool, f.set)
	}
	if f.err != nil {
		return f.fail(f.err)
	}
	f.records++
	return nil
}

// Finish writes the records in order, renames the file to its path, and returns the number of records. Jobs that fail call it too,
// because the file shows the reasons. After Finish, Abort does nothing.
func (f *File) Finish() (records int, err error) {
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
			records, err = 0, f.fail(err)
		}
	}()
	defer func() { err = errors.Join(err, f.spool.Close()) }()
	if f.err != nil {
		return 0, f.err
	}
	return f.records, durable.ReplaceBy(f.target, func(out *os.File) error {
		if err := f.spool.copyTo(out); err != nil {
			return err
		}
		if err := out.Sync(); err != nil { // it may take seconds
			return err
		}
		_, err := f.replaceable(f.target) // a file that was created meanwhile is not replaced
		return err
	})
}

// Abort drops all records.
func (f *File) Abort() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.spool == nil {
		f.closed = true
		return nil
	}
	f.closed = true
	return f.spool.Close()
}

// RemoveTemp removes the temporary files that a killed process has left next to a reject file. The caller must ensure that no other
// process is writing the file.
func (f *File) RemoveTemp() error {
	dir, prefix := filepath.Dir(f.path), strings.TrimSuffix(durable.TempPattern(f.path), "*")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), prefix)
		if _, other := strconv.ParseUint(number, 10, 64); ok && other == nil { // a name as os.CreateTemp makes it
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

var _ io.Writer = (*spool)(nil)

// ErrPath is wrapped by errors about a path that cannot be a job's reject file.
var ErrPath = errors.New("it cannot be this file")

// Check checks before a job begins that the file can be written: its directory must exist, and an existing file of this name
// must be empty or an earlier reject file, and must not be an input according to notInput.
func (f *File) Check(notInput func(info fs.FileInfo) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(filepath.Dir(f.path))
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", filepath.Dir(f.path))
	}
	if err == nil {
		f.target, err = f.replaceable(f.path)
	}
	if err == nil {
		if info, e := os.Stat(f.path); e == nil {
			err = notInput(info)
		}
	}
	if err != nil {
		return f.fail(err)
	}
	return nil
}

// replaceable follows symbolic links and returns the path of the file if it may be replaced: it is missing, empty or an
// earlier reject file.
func (f *File) replaceable(path string) (string, error) {
	link, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	if err != nil {
		return "", err
	}
	if link.Mode()&fs.ModeSymlink != 0 {
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return "", fmt.Errorf("%w: it is a symbolic link: %w", ErrPath, err)
		}
		if link, err = os.Lstat(path); err != nil {
			return "", err
		}
	}
	if !link.Mode().IsRegular() {
		return "", setting.Errorf("%w: it is not a regular file (name another with %s)", ErrPath, f.name)
	}
	if link.Size() == 0 {
		return path, nil
	}
	old, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer old.Close()
	head := make([]byte, 64<<10)
	n, err := io.ReadFull(old, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", err
	}
	if !isRejects(head[:n]) {
		return "", setting.Errorf("%w: there is a file, and it is not a reject file of an earlier run (name another with %s, or remove it)", ErrPath, f.name)
	}
	return path, nil
}

// isRejects recognizes a reject file by its beginning. Reject files of earlier versions have no line with a form.
func isRejects(head []byte) bool {
	if bytes.HasPrefix(head, []byte(Magic)) {
		return true
	}
	return bytes.HasPrefix(head, []byte(`{"path":"`)) && bytes.Contains(head, []byte(`,"offset":`)) && bytes.Contains(head, []byte(`,"record":`))
}
