package hdfsio

import (
	"os"

	"golang.org/x/sys/unix"
)

// startWriteback asks the kernel to start writing a part of a file to the disk, without waiting. Errors are reported
// by the next sync.
func startWriteback(f *os.File, off, n int64) {
	_ = unix.SyncFileRange(int(f.Fd()), off, n, unix.SYNC_FILE_RANGE_WRITE)
}
