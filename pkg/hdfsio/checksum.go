package hdfsio

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"bulkload/internal/hadoop/dfs"
)

// ErrNoChecksum is matched by errors of a file system that keeps no checksum from which that of a whole file can be made:
// DataNodes before Hadoop 3.1.1, checksums other than CRC-32C.
var ErrNoChecksum = dfs.ErrNoChecksum

// CRC32C gives the CRC-32C of a file's bytes, from the checksums that DataNodes keep with its blocks: no data are read, nor
// is it seen whether the data still match them, as a reader of the data sees. Of each block one replica is asked. size is the
// number of bytes that it is of. An error that is ErrNoChecksum says that the file has to be read.
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
// and whose lease was not recovered. Of such a file Stat and ReadDir say the length without the block that is being
// written (0 while that is the first) or, of a file that is appended to, the length of before; and a time of modification
// from before its writer closes it. No DataNode is asked.
func (h *HDFS) BeingWritten(ctx context.Context, name string) (open bool, err error) {
	name, err = cleanName("open", name)
	if err != nil {
		return false, err
	}
	err = h.repeat(ctx, "open", name, func() error {
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
