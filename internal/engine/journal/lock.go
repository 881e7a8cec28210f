package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
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

// An Owner is the process that last signed a lock file. The file is kept when the
// lock is released, so the owner may not hold the lock any more.
type Owner struct {
	PID   int
	Host  string    // host name as the machine reports it
	Since time.Time // UTC, to the second
	Start int64     // start of the process in ticks since boot, which steps of the clock do not change; 0 if unknown
}

// LastOwner reads the owner that last signed the lock of a directory, without
// touching the lock: a run that starts meanwhile does not find it taken. If the
// file is missing the error is fs.ErrNotExist; if it is not signed, the error is
// about its text.
func LastOwner(dir string) (Owner, error) {
	f, err := os.Open(filepath.Join(dir, LockName))
	if err != nil {
		return Owner{}, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 1<<10))
	if err != nil {
		return Owner{}, err
	}
	var o Owner
	var since string
	first, second, _ := strings.Cut(string(b), "\n")
	if _, err := fmt.Sscanf(first, "process %d on %s since %s", &o.PID, &o.Host, &since); err != nil {
		return Owner{}, fmt.Errorf("lock of %s: %q is not a process", dir, b)
	}
	_, _ = fmt.Sscanf(second, "start %d", &o.Start) // absent in a lock of version 0.1
	if o.Since, err = time.Parse(time.RFC3339, since); err != nil {
		return Owner{}, fmt.Errorf("lock of %s: %w", dir, err)
	}
	return o, nil
}

// Self returns this process as an owner, since now.
func Self(now time.Time) (Owner, error) {
	host, err := os.Hostname()
	start, _ := startTicks(os.Getpid())
	return Owner{PID: os.Getpid(), Host: host, Since: now.UTC().Truncate(time.Second), Start: start}, err
}

// Running reports whether the owner's process runs. Only processes of this host can be found: here reports whether the owner is one.
func (o Owner) Running() (runs, here bool) {
	host, err := os.Hostname()
	if err != nil || host != o.Host {
		return false, false
	}
	return o.exists(), true
}

// exists reports whether a process with the owner's pid exists and is the owner: pids are reused.
func (o Owner) exists() bool {
	if err := unix.Kill(o.PID, 0); err != nil && !errors.Is(err, unix.EPERM) {
		return false
	}
	start, ok := startTicks(o.PID)
	if !ok {
		return true
	}
	if o.Start != 0 {
		return start == o.Start
	}
	boot, ok := bootTime()
	return !ok || boot.Add(time.Duration(start)*10*time.Millisecond).Before(o.Since.Add(2*time.Second))
}

// startTicks returns the start of a process in ticks of 10 ms since boot, if /proc has it: field 22 of its stat.
func startTicks(pid int) (int64, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return 0, false
	}
	ticks, err := strconv.ParseInt(string(fields[19]), 10, 64)
	return ticks, err == nil
}

// bootTime returns the time of the machine's boot by the clock of today, if /proc has it.
func bootTime() (time.Time, bool) {
	all, err := os.ReadFile("/proc/stat")
	if err != nil {
		return time.Time{}, false
	}
	_, rest, ok := bytes.Cut(all, []byte("\nbtime "))
	boot, _, _ := bytes.Cut(rest, []byte("\n"))
	seconds, err := strconv.ParseInt(string(boot), 10, 64)
	return time.Unix(seconds, 0), ok && err == nil
}
