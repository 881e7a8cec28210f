package checkpoint

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"bulkload/pkg/journal"
)

// freshLive is how old the word of a job on another machine may be for the job
// to count as running. It is written every two seconds; clocks may differ.
const freshLive = time.Minute

// IsOurs says whether this process was the last to take the lock of a job's directory, so that what the directory says
// of the newest run is for this process to write.
func IsOurs(dir string) bool {
	o, err := journal.LastOwner(dir)
	host, e := os.Hostname()
	return err == nil && e == nil && o.PID == os.Getpid() && o.Host == host
}

// holds says whether the one who signed a job's lock last still works on it.
// The lock is not touched. On this machine the process is looked for; on
// others only the job's own reports show it.
func holds(o journal.Owner, live *Live, now time.Time) bool {
	if host, err := os.Hostname(); err == nil && host == o.Host {
		return sameProcess(o.PID, o.Since)
	}
	return live != nil && live.PID == o.PID && live.Host == o.Host && now.Sub(live.Updated) < freshLive
}

// sameProcess says whether there is a process of that number that began before
// a moment: numbers are used again.
func sameProcess(pid int, before time.Time) bool {
	if err := unix.Kill(pid, 0); err != nil && !errors.Is(err, unix.EPERM) {
		return false
	}
	began, ok := processBegan(pid)
	return !ok || began.Before(before.Add(2*time.Second))
}

// processBegan is when a process began, where /proc says: in field 22 of its
// stat, in ticks of 10 ms since the machine began.
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
