package progress

import (
	"time"
)

// Events report a job's progress. They are called synchronously, some by
// many goroutines at a time, and must not block; a nil one is not called.
type Events struct {
	OnOpen    func(s Start)                    // the command holds the lock of a job, and may wait at a gate before the attempt begins; Job and JobID are known
	OnStart   func(s Start)                    // an attempt begins, or the job was done before
	OnPhase   func(name string)                // read, sort, write, snapshot, check, upload, load, verify
	OnTotal   func(phase string, total Amount) // what a phase has to do, as far as it is known; a later word replaces an earlier one
	OnRows    func(rows, bytes int64)          // read and added to the sort
	OnSplit   func()                           // read to its end
	OnSpill   func(rows, bytes int64)          // bytes on disk
	OnMerged  func(rows int64)                 // rows that pass 2 took out of the sort; below zero when a region is written again
	OnWritten func(bytes int64)                // of HFiles handed to the file system
	OnHFile   func(f HFile)                    // complete under its final name
	OnChecked func(bytes int64)                // of HFiles that were read before they are loaded
	OnLoad    func(region string, files int)   // taken by HBase; the region's encoded name
	OnRead    func(rows int64)                 // rows of the table that verification has read
	OnTasks   func(t Tasks)                    // how far the tasks of a job on YARN are; a later word replaces an earlier one
	OnPause   func(p Pause)                    // work waits, for a reason, or continues
	OnNote    func(msg string, kv ...any)      // something that a person may want to know
	OnWarn    func(msg string, kv ...any)      // something that a person should look at
}

// Start describes an attempt, as far as it is known at its start.
type Start struct {
	Job       string    `json:"job,omitempty"`    // directory of its state; empty: none is kept
	JobID     string    `json:"job_id,omitempty"` // the caller's own word
	Table     string    `json:"table"`
	Attempt   int       `json:"attempt"` // from 1; 0: the job was done before
	Key       string    `json:"key"`
	Inputs    []string  `json:"inputs"` // as they were given
	Files     int       `json:"input_files"`
	Bytes     int64     `json:"input_bytes"`
	Regions   int       `json:"regions"`   // of the plan
	Timestamp int64     `json:"timestamp"` // milliseconds
	Staging   string    `json:"staging,omitempty"`
	Part      int       `json:"part,omitempty"`        // from 1, of a job that was split
	Parts     int       `json:"parts,omitempty"`       // how many there are
	Behind    PartsWork `json:"parts_behind,omitzero"` // parts that this run has done from their beginning
	Ahead     PartsWork `json:"parts_ahead,omitzero"`  // parts after this one that are not done
	Phases    []string  `json:"phases,omitempty"`      // that the attempt is to go through
	Columns   int       `json:"columns,omitempty"`     // of the input
	Earlier   *Pace     `json:"earlier,omitempty"`     // of the table's newest job before this one
	Verify    string    `json:"verify,omitempty"`      // full or sample, if that is one of them

	Splits  [][]byte    `json:"-"` // of the plan's regions; not to be changed
	Sources []InputFile `json:"-"` // the files that the inputs led to
	Reading *Reading    `json:"-"` // and how they are read; not to be changed
}

// InputFile is a file that a job reads.
type InputFile struct {
	Path  string
	Bytes int64
}

// HFile is one that is complete.
type HFile struct {
	Name   string // below the output directory
	Family string
	Region int // ordinal in the plan; of a further table, after the regions of those before it
	Rows   int64
	Bytes  int64
}

// Pause is why work waits at a [Gate]. A zero one says that it continues.
type Pause struct {
	Reason string    `json:"reason"`
	Until  time.Time `json:"until,omitzero"` // zero: until a person says so
}

// Tasks are the tasks of a job on YARN.
type Tasks struct {
	Application    string `json:"application"`
	Maps           int    `json:"maps"`
	MapsDone       int    `json:"maps_done"`
	MapsRunning    int    `json:"maps_running"`
	Reduces        int    `json:"reduces"`
	ReducesDone    int    `json:"reduces_done"`
	ReducesRunning int    `json:"reduces_running"`
	Failed         int    `json:"failed_attempts"` // another follows each but the last
}

// Amount is work of a phase: done, or to do. Zero fields do not say anything.
type Amount struct {
	Rows  int64 `json:"rows,omitempty"`
	Bytes int64 `json:"bytes,omitempty"`
	Files int64 `json:"files,omitempty"`
}

// Tee gives every event to all, in their order.
func Tee(all ...Events) Events {
	return Events{
		OnOpen:    func(s Start) { each(all, func(e Events) { e.Open(s) }) },
		OnStart:   func(s Start) { each(all, func(e Events) { e.Start(s) }) },
		OnPhase:   func(name string) { each(all, func(e Events) { e.Phase(name) }) },
		OnTotal:   func(phase string, a Amount) { each(all, func(e Events) { e.Total(phase, a) }) },
		OnRows:    func(rows, bytes int64) { each(all, func(e Events) { e.Rows(rows, bytes) }) },
		OnSplit:   func() { each(all, Events.Split) },
		OnSpill:   func(rows, bytes int64) { each(all, func(e Events) { e.spill(rows, bytes) }) },
		OnMerged:  func(rows int64) { each(all, func(e Events) { e.Merged(rows) }) },
		OnWritten: func(bytes int64) { each(all, func(e Events) { e.Written(bytes) }) },
		OnHFile:   func(f HFile) { each(all, func(e Events) { e.Hfile(f) }) },
		OnChecked: func(bytes int64) { each(all, func(e Events) { e.Checked(bytes) }) },
		OnLoad:    func(region string, files int) { each(all, func(e Events) { e.Load(region, files) }) },
		OnRead:    func(rows int64) { each(all, func(e Events) { e.Read(rows) }) },
		OnTasks:   func(t Tasks) { each(all, func(e Events) { e.Tasks(t) }) },
		OnPause:   func(p Pause) { each(all, func(e Events) { e.pause(p) }) },
		OnNote:    func(msg string, kv ...any) { each(all, func(e Events) { e.Note(msg, kv...) }) },
		OnWarn:    func(msg string, kv ...any) { each(all, func(e Events) { e.Warn(msg, kv...) }) },
	}
}

func each(all []Events, tell func(Events)) {
	for _, e := range all {
		tell(e)
	}
}

func (e Events) Open(s Start) {
	if e.OnOpen != nil {
		e.OnOpen(s)
	}
}

func (e Events) Start(s Start) {
	if e.OnStart != nil {
		e.OnStart(s)
	}
}

func (e Events) Phase(name string) {
	if e.OnPhase != nil {
		e.OnPhase(name)
	}
}

func (e Events) Total(phase string, a Amount) {
	if e.OnTotal != nil {
		e.OnTotal(phase, a)
	}
}

func (e Events) Rows(rows, bytes int64) {
	if e.OnRows != nil {
		e.OnRows(rows, bytes)
	}
}

func (e Events) Split() {
	if e.OnSplit != nil {
		e.OnSplit()
	}
}

func (e Events) spill(rows, bytes int64) {
	if e.OnSpill != nil {
		e.OnSpill(rows, bytes)
	}
}

func (e Events) Merged(rows int64) {
	if e.OnMerged != nil && rows != 0 {
		e.OnMerged(rows)
	}
}

func (e Events) Written(bytes int64) {
	if e.OnWritten != nil {
		e.OnWritten(bytes)
	}
}

func (e Events) Hfile(f HFile) {
	if e.OnHFile != nil {
		e.OnHFile(f)
	}
}

func (e Events) Checked(bytes int64) {
	if e.OnChecked != nil {
		e.OnChecked(bytes)
	}
}

func (e Events) Load(region string, files int) {
	if e.OnLoad != nil {
		e.OnLoad(region, files)
	}
}

func (e Events) Read(rows int64) {
	if e.OnRead != nil {
		e.OnRead(rows)
	}
}

func (e Events) Tasks(t Tasks) {
	if e.OnTasks != nil {
		e.OnTasks(t)
	}
}

func (e Events) pause(p Pause) {
	if e.OnPause != nil {
		e.OnPause(p)
	}
}

func (e Events) Note(msg string, kv ...any) {
	if e.OnNote != nil {
		e.OnNote(msg, kv...)
	}
}

func (e Events) Warn(msg string, kv ...any) {
	if e.OnWarn != nil {
		e.OnWarn(msg, kv...)
	}
}
