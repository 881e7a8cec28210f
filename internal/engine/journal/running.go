package journal

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Self returns this process as an owner, since now.
func Self(now time.Time) (Owner, error) {
	host, err := os.Hostname()
	return Owner{PID: os.Getpid(), Host: host, Since: now.UTC().Truncate(time.Second)}, err
}

// Running reports whether the owner's process runs. Only processes of this host can be found: here reports whether the owner is one.
func (o Owner) Running() (runs, here bool) {
	host, err := os.Hostname()
	if err != nil || host != o.Host {
		return false, false
	}
	return sameProcess(o.PID, o.Since), true
}

// sameProcess reports whether a process with the pid exists and began before the
// given time: pids are reused.
func sameProcess(pid int, before time.Time) bool {
	if err := unix.Kill(pid, 0); err != nil && !errors.Is(err, unix.EPERM) {
		return false
	}
	began, ok := processBegan(pid)
	return !ok || began.Before(before.Add(2*time.Second))
}

// processBegan returns the start time of a process, if /proc has it: field 22 of
// its stat, in ticks of 10 ms since boot.
func processBegan(pid int) (time.Time, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return time.Time{}, false
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return time.Time{}, false
	}
	ticks, err := strconv.ParseInt(string(fields[19]), 10, 64)
	if err != nil {
		return time.Time{}, false
	}
	all, err := os.ReadFile("/proc/stat")
	if err != nil {
		return time.Time{}, false
	}
	_, rest, ok := bytes.Cut(all, []byte("\nbtime "))
	boot, _, _ := bytes.Cut(rest, []byte("\n"))
	seconds, err := strconv.ParseInt(string(boot), 10, 64)
	if !ok || err != nil {
		return time.Time{}, false
	}
	return time.Unix(seconds, 0).Add(time.Duration(ticks) * 10 * time.Millisecond), true
}
