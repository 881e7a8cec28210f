package status

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"bulkload/internal/base/durable"
	"bulkload/internal/engine/journal"
	"bulkload/internal/model/progress"
)

// Names in a job's state directory, next to the journal.
const (
	LiveName   = "progress.json" // progress of the running job
	EndingName = "result.json"   // result of the last run that did something
	TasksName  = "tasks.json"    // every task of the YARN job that built the HFiles
)

// Live is the progress that a running job reports every few seconds, for other
// processes to read.
type Live struct {
	Schema      int               `json:"schema"` // version of this format: 1
	PID         int               `json:"pid"`
	Host        string            `json:"host"`
	Version     string            `json:"version,omitempty"`
	Command     string            `json:"command,omitempty"` // run, load, rekey, …
	Updated     time.Time         `json:"updated"`
	Phase       string            `json:"phase,omitempty"`
	Percent     *float64          `json:"percent,omitempty"`          // of the phase, 0 to 100; absent: unknown
	RowsRate    float64           `json:"rows_per_second,omitempty"`  // of the phase, from its beginning
	BytesRate   float64           `json:"bytes_per_second,omitempty"` // likewise
	SecondsLeft *float64          `json:"seconds_left,omitempty"`     // of the phase; absent: unknown
	JobLeft     *float64          `json:"job_seconds_left,omitempty"` // of the whole job; absent: unknown
	Paused      *progress.Pause   `json:"paused,omitempty"`           // while work waits
	Progress    progress.Progress `json:"progress"`
	Log         []string          `json:"log,omitempty"` // the last lines of its log
}

// LiveEvery is the interval at which a job writes its progress to its state
// directory.
const LiveEvery = 2 * time.Second

// NewLive returns the report of this process for a progress.
func NewLive(p progress.Progress, version string) Live {
	host, _ := os.Hostname()
	l := Live{Schema: 1, PID: os.Getpid(), Host: host, Version: version, Updated: p.At, Progress: p}
	if len(p.Phases) == 0 {
		return l
	}
	phase := p.Phases[len(p.Phases)-1]
	l.Phase = phase.Name
	took := p.At.Sub(phase.Began).Seconds()
	if !phase.Ended.IsZero() {
		took = phase.Ended.Sub(phase.Began).Seconds()
	}
	if took > 0 {
		l.RowsRate, l.BytesRate = float64(phase.Done.Rows)/took, float64(phase.Done.Bytes)/took
	}
	if p.Left.PhaseKnown {
		l.SecondsLeft = new(p.Left.Phase.Seconds())
	}
	if p.Left.JobKnown {
		l.JobLeft = new(p.Left.Job.Seconds())
	}
	if f, ok := phase.Fraction(); ok {
		l.Percent = new(100 * f)
	}
	return l
}

// Write writes the report to a job's state directory, replacing the previous one.
func (l Live) Write(dir string) error { return writeState(filepath.Join(dir, LiveName), l) }

// ReadLive reads the report of a job; nil if there is none that this version
// understands.
func ReadLive(dir string) *Live { return readState[Live](dir, LiveName) }

// freshLive is the maximum age of the progress report of a job on another machine for the job to count as running. Reports are written every two
// seconds; clocks may differ.
const freshLive = time.Minute

// IsOurs reports whether this process was the last to take the lock of a job's directory. If so, it is the process that reports the newest run there.
func IsOurs(dir string) bool {
	o, err := journal.LastOwner(dir)
	host, e := os.Hostname()
	return err == nil && e == nil && o.PID == os.Getpid() && o.Host == host
}

// OwnerAlive reports whether the last owner of a job's lock still works on the job. It does not touch the lock. On this machine it looks for the process;
// a process on another machine is known only by the job's own progress reports.
func OwnerAlive(o journal.Owner, live *Live, now time.Time) bool {
	if runs, here := o.Running(); here {
		return runs
	}
	return live != nil && live.PID == o.PID && live.Host == o.Host && now.Sub(live.Updated) < freshLive
}

// Ending is the part of the file [EndingName] that [State] uses.
type Ending struct {
	Schema   int       `json:"schema"`
	Status   string    `json:"status"`
	ExitCode int       `json:"exit_code"`
	Command  string    `json:"command"`
	Error    string    `json:"error"`
	Kind     string    `json:"error_kind"`
	Rejected int64     `json:"rejected"`
	Table    string    `json:"table"`
	JobID    string    `json:"job_id"`
	Attempt  int       `json:"attempt"`
	Began    time.Time `json:"began"`
	Ended    time.Time `json:"ended"`
	PID      int       `json:"pid"`
	Host     string    `json:"host"`
}

// ReadEnding reads the result of a job's last run; nil if there is none that this version understands.
func ReadEnding(dir string) *Ending { return readState[Ending](dir, EndingName) }

// MaxFile is the maximum size of a file of a state directory that is read as a
// whole, except for journals.
const MaxFile = 1 << 20

// writeState writes a file of a state directory, replacing its contents.
func writeState(name string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return durable.ReplaceVolatile(name, append(b, '\n'))
}

// readState reads a file of a state directory; nil if it cannot be read, or has another schema than 1.
func readState[T any](dir, name string) *T {
	name = filepath.Join(dir, name)
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > MaxFile {
		return nil
	}
	var head struct {
		Schema int `json:"schema"`
	}
	v := new(T)
	b, err := os.ReadFile(name)
	if err != nil || json.Unmarshal(b, &head) != nil || head.Schema != 1 || json.Unmarshal(b, v) != nil {
		return nil
	}
	return v
}
