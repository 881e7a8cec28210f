package spool

import (
	"os"

	"golang.org/x/sys/unix"
)

// Widen increases the capacity of a pipe to 1 MiB, the default limit of the system, so that its writer waits less. It does not
// change other files.
func Widen(f *os.File) {
	if c, err := f.SyscallConn(); err == nil {
		_ = c.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, 1<<20) })
	}
}
