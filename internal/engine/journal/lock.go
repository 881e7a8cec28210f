package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// LockName is the name of the lock file in its directory.
const LockName = "lock"

// A BusyError reports that a lock is held, with its holder.
type BusyError struct {
	Dir    string
	Holder string // as the holder wrote it: process, host and since when
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("this job is running already: %s (its state is in %s)", e.Holder, e.Dir)
}

// A Lock excludes other processes of this machine. The system releases it when the
// process ends, for any reason.
type Lock struct{ f *os.File }

// TryLock takes the lock of an existing directory, and writes the owner to it. It
// does not wait: if this process or another holds the lock, the error is a
// *[BusyError], and if the directory does not exist, fs.ErrNotExist. If several
// machines share the directory, the lock holds on each of them separately.
func TryLock(dir string) (*Lock, error) {
	name := filepath.Join(dir, LockName)
	for {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, fmt.Errorf("lock: %w", err)
		}
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if errors.Is(err, unix.EWOULDBLOCK) {
			holder, _ := io.ReadAll(io.LimitReader(f, 1<<10))
			first, _, _ := strings.Cut(string(holder), "\n")
			return nil, errors.Join(&BusyError{Dir: dir, Holder: first}, f.Close())
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", name, err), f.Close())
		}
		// A cleaning process removes the file while it holds the lock: a lock on the
		// removed file is not valid.
		mine, err := f.Stat()
		if err == nil {
			there, e := os.Stat(name)
			if e != nil || !os.SameFile(mine, there) {
				if err := f.Close(); err != nil {
					return nil, err
				}
				if _, err := os.Stat(dir); err != nil {
					return nil, fmt.Errorf("lock: %w", err)
				}
				continue
			}
			err = sign(f)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", name, err), f.Close())
		}
		return &Lock{f}, nil
	}
}

// sign writes this process to the lock file as the holder.
func sign(f *os.File) error {
	o, err := Self(time.Now())
	if err != nil {
		o.Host = "unknown host"
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(fmt.Appendf(nil, "process %d on %s since %s\nstart %d\n", o.PID, o.Host, o.Since.Format(time.RFC3339), o.Start), 0)
	return err
}

// Release releases the lock. It is called once. The file is kept.
func (l *Lock) Release() error { return l.f.Close() }
