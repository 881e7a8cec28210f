package progress

import (
	"time"
)

// Events are the callbacks that report a job's progress. They are called
// synchronously, some by many goroutines at a time, and must not block. Nil
// callbacks are not called.
type Events struct {
	OnOpen    func(s Start)                    // the command has locked a job, and may wait at a gate before the attempt begins; only Job and JobID are set
	OnStart   func(s Start)                    // an attempt begins, or the job was done before
	OnPhase   func(name string)                // read, sort, write, snapshot, check, upload, load, verify
	OnTotal   func(phase string, total Amount) // the work of a phase, as far as it is known; later calls replace earlier ones
	OnScanned func(bytes int64)                // bytes of inputs that were read before the phases: of streams that are copied, of texts whose records are found
	OnRows    func(rows, bytes int64)          // rows were read and added to the sort
	OnSplit   func()                           // an input split was read completely
	OnRecords func(r Records)                  // pass 1 has ended, with or without an error; later calls of an attempt replace earlier ones
	OnSpill   func(rows, bytes int64)          // a run was written to disk; bytes on disk
	OnMerged  func(rows int64)                 // rows that pass 2 read from the sort; negative when a region is written again
	OnWritten func(bytes int64)                // bytes of HFiles passed to the file system; negative for those of a failed copy
	OnHFile   func(f HFile)                    // an HFile is complete under its final name
	OnChecked func(bytes int64)                // bytes of HFiles that were checked before the load
	OnLoad    func(region string, files int)   // HBase loaded files; the region's encoded name, or an empty one of files that were found in the table
	OnRead    func(rows int64)                 // rows of the table that verification has read
	OnTasks   func(t Tasks)                    // progress of the tasks of a YARN job; later calls replace earlier ones
	OnPause   func(p Pause)                    // work waits or continues
	OnNote    func(msg string, kv ...any)      // information for a person
	OnWarn    func(msg string, kv ...any)      // a warning for a person
}

// Start describes an attempt when it begins.
type Start struct {
	Job       string    `json:"job,omitempty"`    // state directory; empty: no state is kept
	JobID     string    `json:"job_id,omitempty"` // the caller's ID of the job
	Table     string    `json:"table"`
	Attempt   int       `json:"attempt"` // from 1; 0: the job was already done
	Key       string    `json:"key"`
	Inputs    []string  `json:"inputs"` // as they were given
	Files     int       `json:"input_files"`
	Bytes     int64     `json:"input_bytes"`
	Regions   int       `json:"regions"`   // number of regions in the plan
	Timestamp int64     `json:"timestamp"` // milliseconds
	Staging   string    `json:"staging,omitempty"`
	Part      int       `json:"part,omitempty"`        // from 1, if the job was split
	Parts     int       `json:"parts,omitempty"`       // number of parts
	Behind    PartsWork `json:"parts_behind,omitzero"` // parts that this run did completely
	Ahead     PartsWork `json:"parts_ahead,omitzero"`  // later parts that are not done
	Phases    []string  `json:"phases,omitempty"`      // phases that the attempt will run
	Columns   int       `json:"columns,omitempty"`     // number of columns of the input
	Earlier   *Pace     `json:"earlier,omitempty"`     // pace of the table's newest job before this one
	Verify    string    `json:"verify,omitempty"`      // mode of verification: full, sample or files

	Splits  [][]byte    `json:"-"` // split points of the plan's regions; must not be modified
	Sources []InputFile `json:"-"` // the files of the inputs
	Reading *Reading    `json:"-"` // how the files are read; must not be modified
}

// Further reports whether a file is of a further table of the job.
func (s Start) Further(f HFile) bool { return s.Regions > 0 && f.Region >= s.Regions }

// InputFile is a file that a job reads.
type InputFile struct {
	Path  string
	Bytes int64
}

// HFile is a complete HFile.
type HFile struct {
	Name   string // below the output directory
	Region int    // ordinal in the plan; the regions of further tables follow those of the tables before them
	Rows   int64
	Cells  int64
	Bytes  int64
}

// Pause describes why work waits at a [Gate]. The zero value means that work
// continues.
type Pause struct {
	Reason string    `json:"reason"`
	Until  time.Time `json:"until,omitzero"` // zero: until a person resumes
}

// Tasks counts the tasks of a YARN job.
type Tasks struct {
	Application    string `json:"application"`
	Maps           int    `json:"maps"`
	MapsDone       int    `json:"maps_done"`
	MapsRunning    int    `json:"maps_running"`
	Reduces        int    `json:"reduces"`
	ReducesDone    int    `json:"reduces_done"`
	ReducesRunning int    `json:"reduces_running"`
	Failed         int    `json:"failed_attempts"` // YARN repeats failed attempts, up to a limit
}

// Records counts the records of pass 1.
type Records struct {
	Read     int64 // good and bad
	Rejected int64 // set aside
	Filtered int64 // left out by the filter
}

// Amount is an amount of a phase's work, done or planned. Zero fields are unknown.
type Amount struct {
	Rows  int64 `json:"rows,omitempty"`
	Bytes int64 `json:"bytes,omitempty"`
	Files int64 `json:"files,omitempty"`
}

// Tee returns events that call all of the given ones, in order.
func Tee(all ...Events) Events {
	return Events{
		OnOpen:    func(s Start) { each(all, func(e Events) { e.Open(s) }) },
		OnStart:   func(s Start) { each(all, func(e Events) { e.Start(s) }) },
		OnPhase:   func(name string) { each(all, func(e Events) { e.Phase(name) }) },
		OnTotal:   func(phase string, a Amount) { each(all, func(e Events) { e.Total(phase, a) }) },
		OnScanned: func(bytes int64) { each(all, func(e Events) { e.Scanned(bytes) }) },
		OnRows:    func(rows, bytes int64) { each(all, func(e Events) { e.Rows(rows, bytes) }) },
		OnSplit:   func() { each(all, Events.Split) },
		OnRecords: func(r Records) { each(all, func(e Events) { e.Records(r) }) },
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

func each(all []Events, send func(Events)) {
	for _, e := range all {
		send(e)
	}
}

// call calls a callback unless it is nil.
func call[T any](on func(T), v T) {
	if on != nil {
		on(v)
	}
}

// call2 is call for a callback with two arguments.
func call2[A, B any](on func(A, B), a A, b B) {
	if on != nil {
		on(a, b)
	}
}

func (e Events) Open(s Start)                  { call(e.OnOpen, s) }
func (e Events) Start(s Start)                 { call(e.OnStart, s) }
func (e Events) Phase(name string)             { call(e.OnPhase, name) }
func (e Events) Total(phase string, a Amount)  { call2(e.OnTotal, phase, a) }
func (e Events) Scanned(bytes int64)           { call(e.OnScanned, bytes) }
func (e Events) Rows(rows, bytes int64)        { call2(e.OnRows, rows, bytes) }
func (e Events) Records(r Records)             { call(e.OnRecords, r) }
func (e Events) spill(rows, bytes int64)       { call2(e.OnSpill, rows, bytes) }
func (e Events) Written(bytes int64)           { call(e.OnWritten, bytes) }
func (e Events) Hfile(f HFile)                 { call(e.OnHFile, f) }
func (e Events) Checked(bytes int64)           { call(e.OnChecked, bytes) }
func (e Events) Load(region string, files int) { call2(e.OnLoad, region, files) }
func (e Events) Read(rows int64)               { call(e.OnRead, rows) }
func (e Events) Tasks(t Tasks)                 { call(e.OnTasks, t) }
func (e Events) pause(p Pause)                 { call(e.OnPause, p) }

func (e Events) Split() {
	if e.OnSplit != nil {
		e.OnSplit()
	}
}

func (e Events) Merged(rows int64) {
	if rows != 0 {
		call(e.OnMerged, rows)
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
