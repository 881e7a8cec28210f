package checkpoint

import (
	"time"
)

// Attempt is one process's work on a job.
type Attempt struct {
	Attempt int        `json:"attempt"`
	PID     int        `json:"pid"`
	Host    string     `json:"host"`
	Start   int64      `json:"-"` // of the process, as in journal.Owner
	Version string     `json:"version,omitempty"`
	Began   time.Time  `json:"began"`
	Ended   time.Time  `json:"ended"` // time of the last record of the attempt
	State   Status     `json:"state"`
	Error   string     `json:"error,omitempty"`
	Kind    string     `json:"error_kind,omitempty"`
	Steps   []DoneStep `json:"steps"`
}

// lastOf returns the last attempt of a list; for an empty list, an attempt that belongs to none.
func lastOf(list []Attempt) *Attempt {
	if len(list) == 0 {
		return &Attempt{}
	}
	return &list[len(list)-1]
}

// DoneStep is a finished step of an attempt.
type DoneStep struct {
	Name string    `json:"name"` // event of the journal: sorted, built, snapshot, loading, verified, done
	Time time.Time `json:"time"`
}

// Taken is a region that has received files.
type Taken struct {
	Region string
	Server string // the server that was asked; empty if the journal does not have it
	Files  int
}

// Status is the status of a job.
type Status string

// The statuses of a job.
const (
	JobDone       Status = "done"       // finished
	JobAbandoned  Status = "abandoned"  // stopped or failed; the same command would resume it
	JobRunning    Status = "running"    // its lock is held
	JobUnresolved Status = "unresolved" // some files were sent to HBase and their outcome is unknown
	JobUnknown    Status = "unknown"    // there is no journal, or it cannot be read
)

// Further statuses, in addition to [JobDone], [JobRunning] and [JobUnknown].
const (
	JobFailed      Status = "failed"      // the last attempt ended with an error
	JobStopped     Status = "stopped"     // the last attempt was stopped by a signal
	JobInterrupted Status = "interrupted" // the last attempt was killed, or its machine failed
)

// StateDigits is the number of digits of a job's identity in its directory's name.
const StateDigits = 12
