package fail

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"bulkload/pkg/setting"
)

// A DiskFullError reports that a local disk, or a user's quota on it, has no room
// for a write, or that a file would exceed the limit of a file's size. The directory
// is empty if it is not known.
type DiskFullError struct {
	Dir    string
	Name   string // the file, by its absolute name; empty if it is not known
	Free   uint64 // bytes available to this user
	Advice setting.Text
	Err    error
}

func (e *DiskFullError) message() setting.Text {
	if e.Dir == "" {
		return setting.Textf("%v (%s)", e.Err, e.Advice)
	}
	cause := fullCause(e.Err)
	if cause == syscall.EFBIG {
		return setting.Textf("write %s: %v (%s)", e.Name, cause, e.Advice)
	}
	return setting.Textf("write %s: %v: %d bytes are free (%s)", e.Name, cause, e.Free, e.Advice)
}

func (e *DiskFullError) Error() string { return e.message().String() }
func (e *DiskFullError) Unwrap() error { return e.Err }

// Settings returns the settings that the advice names. In returns the message with
// the names that words has for them.
func (e *DiskFullError) Settings() []setting.Name                  { return e.Advice.Settings() }
func (e *DiskFullError) In(words func(setting.Name) string) string { return e.message().In(words) }

// Advise sets the advice, unless the cause is the limit of a file's size: another
// directory or setting would not help then.
func (e *DiskFullError) Advise(advice setting.Text) {
	if fullCause(e.Err) != syscall.EFBIG {
		e.Advice = advice
	}
}

// DiskFull reports whether a full local disk, an exceeded quota or the limit of a
// file's size caused an error, whatever the job was doing.
func DiskFull(err error) bool { return fullCause(err) != 0 }

// fullCause returns the errno by which [DiskFull] recognizes an error, or 0.
func fullCause(err error) syscall.Errno {
	for _, cause := range []syscall.Errno{syscall.EDQUOT, syscall.ENOSPC, syscall.EFBIG} {
		if errors.Is(err, cause) {
			return cause
		}
	}
	return 0
}

// ExplainFull returns the error of a full disk with the file, the directory and the
// free space. The error of a device or a pipe, such as standard output, is not about a disk: it stays as it is.
func ExplainFull(err error) error {
	if _, ok := errors.AsType[*DiskFullError](err); ok {
		return err
	}
	e := &DiskFullError{Err: err, Advice: setting.Plain("make room there, or name another directory; then repeat the command")}
	if fullCause(err) == syscall.EFBIG {
		e.Advice = setting.Plain("raise the limit of a file's size by ulimit -f, or LimitFSIZE of a systemd unit; then repeat the command")
	}
	name := WrittenName(err)
	if name == "" {
		return e
	}
	if info, statErr := os.Stat(name); statErr == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return err
	}
	e.Name = name
	if to, linkErr := filepath.EvalSymlinks(name); linkErr == nil {
		name = to
	}
	// A file that could not be created, and its directory, may not exist.
	for dir := filepath.Dir(name); ; dir = filepath.Dir(dir) {
		var st syscall.Statfs_t
		if syscall.Statfs(dir, &st) == nil {
			e.Dir, e.Free = dir, st.Bavail*uint64(st.Bsize)
			return e
		}
		if dir == filepath.Dir(dir) {
			return e
		}
	}
}

// WrittenName returns the absolute name of the file in an error of the local disk;
// empty if the error does not name it.
func WrittenName(err error) string {
	name := ""
	if e, ok := errors.AsType[*os.PathError](err); ok {
		name = e.Path
	} else if e, ok := errors.AsType[*os.LinkError](err); ok {
		name = e.New
	}
	if name == "" {
		return ""
	}
	if name, err = filepath.Abs(name); err != nil {
		return ""
	}
	return name
}
