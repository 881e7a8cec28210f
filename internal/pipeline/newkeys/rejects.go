package newkeys

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"sync"

	"bulkload/internal/model/fail"
	"bulkload/pkg/keygen/rowkey"
)

// rejectFile collects the old keys of rows without a new one, one per line in
// HBase's notation, followed by a tab and the reason. It is created with the
// first row. It is safe for concurrent use.
type rejectFile struct {
	path string

	mu   sync.Mutex
	file *os.File
	out  *bufio.Writer
}

func (f *rejectFile) write(key []byte, why error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		var err error
		if f.file, err = os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
			return fail.With(fail.HDFS, fmt.Errorf("file of the rows that get no new key: %w", err))
		}
		f.out = bufio.NewWriter(f.file)
	}
	_, err := fmt.Fprintf(f.out, "%s\t%v\n", rowkey.String(key), why)
	return fail.With(fail.HDFS, err)
}

// finish makes the file durable; used reports whether there is one. A second call does nothing.
func (f *rejectFile) finish() (used bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		return false, nil
	}
	err = errors.Join(f.out.Flush(), f.file.Sync(), f.file.Close())
	f.file = nil
	return true, fail.With(fail.HDFS, err)
}
