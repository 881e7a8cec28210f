package hdfsio

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"bulkload/internal/hadoop/dfs"
)

// ErrNoChecksum is matched by errors of a file system without checksums from which a whole file's CRC-32C can be
// computed: DataNodes before Hadoop 3.1.1, checksums other than CRC-32C.
var ErrNoChecksum = dfs.ErrNoChecksum

// CRC32C returns the CRC-32C of a file's bytes, computed from the checksums that DataNodes store with its blocks, and the
// number of bytes that it covers. No data are read, so it is not verified that the data still match the checksums, as a read
// would. One replica of each block is queried. If the error is ErrNoChecksum, the file has to be read.
func (h *HDFS) CRC32C(ctx context.Context, name string) (sum uint32, size int64, err error) {
	info, err := h.stat(ctx, "checksum", name)
	if err != nil {
		return 0, 0, err
	}
	err = info.supported("checksum", name)
	if p, coded := info.coding(); coded && err == nil {
		err = fmt.Errorf("it is erasure coded (%s)", p.Name)
	}
	if err != nil {
		return 0, 0, &fs.PathError{Op: "checksum", Path: name, Err: fmt.Errorf("%w: %w", ErrNoChecksum, err)}
	}
	if info.encryption() != nil {
		return 0, 0, &fs.PathError{Op: "checksum", Path: name, Err: fmt.Errorf("%w: DataNodes have the checksums of its encrypted bytes", ErrNoChecksum)}
	}
	err = h.repeat(ctx, "checksum", name, func() error {
		sum, err = h.dfs.Checksum(ctx, name, info.Size())
		return err
	})
	return sum, info.Size(), err
}

// BeingWritten reports whether a file is open for writing: created or opened for append by a client that has not closed it,
// and whose lease has not been recovered. For such a file, Stat and ReadDir return the length without the block that is
// being written (0 while that is the first) or, if the file is being appended to, the previous length; and a modification
// time from before its writer closes it. No DataNode is queried.
func (h *HDFS) BeingWritten(ctx context.Context, name string) (open bool, err error) {
	err = h.about(ctx, "open", name, func(name string) error {
		l, err := h.dfs.Locate(ctx, name, 0, 0)
		open = l.Open
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		if info, e := h.stat(ctx, "open", name); e == nil && info.IsDir() {
			return false, nil
		}
	}
	return open, err
}
