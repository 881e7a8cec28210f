package checkpoint

import (
	"os"
	"time"

	"bulkload/internal/engine/journal"
)

// freshLive is the maximum age of the progress report of a job on another machine for the job to count as running. Reports are written every two
// seconds; clocks may differ.
const freshLive = time.Minute

// IsOurs reports whether this process was the last to take the lock of a job's directory. If so, it is the process that reports the newest run there.
func IsOurs(dir string) bool {
	o, err := journal.LastOwner(dir)
	host, e := os.Hostname()
	return err == nil && e == nil && o.PID == os.Getpid() && o.Host == host
}

// ownerAlive reports whether the last owner of a job's lock still works on the job. It does not touch the lock. On this machine it looks for the process;
// a process on another machine is known only by the job's own progress reports.
func ownerAlive(o journal.Owner, live *Live, now time.Time) bool {
	if runs, here := o.Running(); here {
		return runs
	}
	return live != nil && live.PID == o.PID && live.Host == o.Host && now.Sub(live.Updated) < freshLive
}
