package hdfsio

import (
	"os"

	"golang.org/x/sys/unix"
)

// startWriteback has the kernel begin to write a part of a file to the disk, and does not wait for it. Errors are the
// next sync's to say.
func startWriteback(f *os.File, off, n int64) {
	_ = unix.SyncFileRange(int(f.Fd()), off, n, unix.SYNC_FILE_RANGE_WRITE)
}
