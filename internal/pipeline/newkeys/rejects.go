package newkeys

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"bulkload/internal/base/durable"
	"bulkload/internal/model/fail"
	"bulkload/pkg/keygen/rowkey"
)

// rejectFile collects the old keys of rows without a new one, one per line in
// HBase's notation, followed by a tab and the reason. It is created with the
// first row, without a name on its disk, and copied when it is complete: a killed
// process leaves nothing. It is safe for concurrent use.
type rejectFile struct {
	path string
	keep bool // an attempt that has read all rows has written the file: one that fails must not replace it

	mu     sync.Mutex
	target string // the path without symbolic links; empty: it is no regular file
	file   *os.File
	out    *bufio.Writer
}

func (f *rejectFile) write(key []byte, why error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		if err := f.create(); err != nil {
			return fail.With(fail.HDFS, fmt.Errorf("file of the rows that get no new key: %w", err))
		}
		f.out = bufio.NewWriter(f.file)
	}
	_, err := fmt.Fprintf(f.out, "%s\t%v\n", rowkey.String(key), why)
	return fail.With(fail.HDFS, err)
}

// create creates the file and removes its name, unless its path is no regular file, such as a pipe.
func (f *rejectFile) create() (err error) {
	if info, statErr := os.Stat(f.path); statErr == nil && !info.Mode().IsRegular() {
		f.file, err = os.OpenFile(f.path, os.O_WRONLY, 0)
		return err
	}
	if f.target, err = durable.Target(f.path); err != nil {
		return err
	}
	file, err := f.temp()
	if err != nil {
		return err
	}
	if err := os.Remove(file.Name()); err != nil {
		return errors.Join(err, file.Close())
	}
	f.file = file
	return nil
}

// temp creates a file of mode 0600 in the directory of the path.
func (f *rejectFile) temp() (*os.File, error) {
	return os.CreateTemp(filepath.Dir(f.target), "."+filepath.Base(f.target)+".*")
}

// place copies the file to its path.
func (f *rejectFile) place() error {
	out, err := f.temp()
	if err != nil {
		return err
	}
	if _, err = f.file.Seek(0, io.SeekStart); err == nil {
		_, err = io.Copy(out, f.file)
	}
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err == nil {
		err = os.Rename(out.Name(), f.target)
	}
	if err != nil {
		return errors.Join(err, os.Remove(out.Name()))
	}
	return durable.SyncDir(filepath.Dir(f.target))
}

// finish makes the file durable, and gives it its name; used reports whether there is one. After a failure of the reading, it keeps the file of an earlier
// attempt, which may be complete. A second call does nothing.
func (f *rejectFile) finish(failed bool) (used bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		return false, nil
	}
	err = f.out.Flush()
	if _, earlier := os.Stat(f.target); err == nil && f.target != "" && !(failed && f.keep && earlier == nil) {
		err = f.place()
	}
	err = errors.Join(err, f.file.Close())
	f.file = nil
	return true, fail.With(fail.HDFS, err)
}
