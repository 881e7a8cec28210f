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
	f.file, err = durable.Nameless(filepath.Dir(f.target), durable.TempPattern(f.target))
	return err
}

// place copies the file to its path.
func (f *rejectFile) place() error {
	return durable.ReplaceBy(f.target, func(out *os.File) error {
		if _, err := f.file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		_, err := io.Copy(out, f.file)
		return err
	})
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
