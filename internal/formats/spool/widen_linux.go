package spool

import (
	"os"

	"golang.org/x/sys/unix"
)

// Widen has a pipe hold 1 MiB, the most that the system allows by default, so that its writer waits less. What is no pipe
// stays as it is.
func Widen(f *os.File) {
	if c, err := f.SyscallConn(); err == nil {
		_ = c.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, 1<<20) })
	}
}
