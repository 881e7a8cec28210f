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

// LockName is the name of the lock's file in its directory.
const LockName = "lock"

// A BusyError says who holds a lock.
type BusyError struct {
	Dir    string
	Holder string // as the holder wrote it: process, host and since when
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("this job is running already: %s (its state is in %s)", e.Holder, e.Dir)
}

// A Lock keeps two processes of this machine apart. The system releases it
// when the process ends, however it ends.
type Lock struct{ f *os.File }

// TryLock takes the lock of a directory, which exists, and signs it. It does not
// wait: a lock that is taken, by this process or another, is a *[BusyError], a
// directory that does not exist fs.ErrNotExist. Where the directory is shared
// between machines the lock holds on each of them alone.
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
			return nil, errors.Join(&BusyError{Dir: dir, Holder: strings.TrimSpace(string(holder))}, f.Close())
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", name, err), f.Close())
		}
		// Who cleans up removes the file while it holds the lock: then this is
		// the lock of nothing.
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

// sign writes who holds the lock.
func sign(f *os.File) error {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(fmt.Appendf(nil, "process %d on %s since %s\n", os.Getpid(), host, time.Now().UTC().Format(time.RFC3339)), 0)
	return err
}

// Release gives the lock back, once. Its file stays.
func (l *Lock) Release() error { return l.f.Close() }
