package hdfsio

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// renameNew atomically renames to a name that must not exist. On file systems without such a rename it returns
// [errors.ErrUnsupported].
func renameNew(from, to string) error {
	switch err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE); err {
	case nil:
		return nil
	case unix.EEXIST:
		return &fs.PathError{Op: "rename", Path: to, Err: fs.ErrExist}
	case unix.EINVAL, unix.ENOSYS, unix.EPERM: // NFS and others; also other failures, which the fallback hits again
		return errors.ErrUnsupported
	default:
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
}
