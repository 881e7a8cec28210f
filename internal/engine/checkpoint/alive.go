package checkpoint

import (
	"os"
	"time"

	"bulkload/internal/engine/journal"
)

// freshLive is how old the word of a job on another machine may be for the job
// to count as running. It is written every two seconds; clocks may differ.
const freshLive = time.Minute

// IsOurs reports whether this process was the last to take the lock of a job's directory, so that what the directory says
// of the newest run is for this process to write.
func IsOurs(dir string) bool {
	o, err := journal.LastOwner(dir)
	host, e := os.Hostname()
	return err == nil && e == nil && o.PID == os.Getpid() && o.Host == host
}

// holds reports whether the one who signed a job's lock last still works on it.
// The lock is not touched. On this machine the process is looked for; on
// others only the job's own reports show it.
func holds(o journal.Owner, live *Live, now time.Time) bool {
	if runs, here := o.Running(); here {
		return runs
	}
	return live != nil && live.PID == o.PID && live.Host == o.Host && now.Sub(live.Updated) < freshLive
}
