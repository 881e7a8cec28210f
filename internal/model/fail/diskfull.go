package fail

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"bulkload/pkg/setting"
)

// A DiskFullError is a local disk, or a user's share of it, without room for
// what had to be written. Its directory is empty where that is not known.
type DiskFullError struct {
	Dir    string
	Name   string // the file, as it was written; empty where that is not known
	Free   uint64 // bytes that are left to this user
	Advice setting.Text
	Err    error
}

func (e *DiskFullError) message() setting.Text {
	if e.Dir == "" {
		return setting.Textf("%v (%s)", e.Err, e.Advice)
	}
	cause := syscall.ENOSPC
	if errors.Is(e.Err, syscall.EDQUOT) {
		cause = syscall.EDQUOT
	}
	return setting.Textf("write %s: %v: %d bytes are free (%s)", e.Name, cause, e.Free, e.Advice)
}

func (e *DiskFullError) Error() string { return e.message().String() }
func (e *DiskFullError) Unwrap() error { return e.Err }

// Settings returns the settings that the advice names, and In is the message with each as words calls it.
func (e *DiskFullError) Settings() []setting.Name                  { return e.Advice.Settings() }
func (e *DiskFullError) In(words func(setting.Name) string) string { return e.message().In(words) }

// DiskFull reports whether a full local disk is the cause of an error, whatever
// the job was doing then.
func DiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// ExplainFull adds to the error of a full disk which one it is.
func ExplainFull(err error) error {
	if _, ok := errors.AsType[*DiskFullError](err); ok {
		return err
	}
	e := &DiskFullError{Err: err, Advice: setting.Plain("make room there, or name another directory; the same command resumes the job")}
	name := WrittenName(err)
	if name == "" {
		return e
	}
	e.Name = name
	// A file that could not be made, and its directory, need not be there.
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

// WrittenName returns the absolute name of the file that an error of the local disk
// is about; empty where it does not say.
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
