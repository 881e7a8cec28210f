package progress

import (
	"slices"
	"sync"
	"time"
)

// Progress is the progress of a job at one moment. Times are UTC.
type Progress struct {
	Schema   int             `json:"schema"` // version of this format: 1
	Start    Start           `json:"start"`
	Began    time.Time       `json:"began,omitzero"` // zero before the attempt starts
	At       time.Time       `json:"at"`
	Phases   []PhaseProgress `json:"phases"` // phases begun, in order; in a run of several parts, those of earlier parts are merged by name
	Spilled  Amount          `json:"spilled"`
	Written  int64           `json:"written_bytes"` // bytes of HFiles passed to the file system
	HFiles   Amount          `json:"hfiles"`        // complete HFiles
	Own      Amount          `json:"-"`             // of these, those of the job's own table; the rows of several families count once
	OwnCells int64           `json:"-"`
	Records  Records         `json:"-"` // of the parts whose pass 1 has ended
	Warnings int             `json:"warnings"`
	Tasks    Tasks           `json:"tasks,omitzero"` // of a job on YARN
	Left     Left            `json:"left"`           // current estimate
}

// PhaseProgress is one phase of a job.
type PhaseProgress struct {
	Name   string    `json:"name"`
	Began  time.Time `json:"began"`
	Ended  time.Time `json:"ended,omitzero"`  // zero while it is under way
	Done   Amount    `json:"done"`            // its bytes are those of the input; for write and upload, those passed to the file system
	Total  Amount    `json:"total"`           // zero fields are unknown
	Recent Span      `json:"recent,omitzero"` // the last third of a running phase, and at least its last second
}

// Span is an amount of work and its duration.
type Span struct {
	Took time.Duration `json:"took_ns"`
	Done Amount        `json:"done"`
}

// Fraction returns the completed part of a phase, 0 to 1; false if it is unknown.
func (p PhaseProgress) Fraction() (float64, bool) {
	for _, f := range [][2]int64{{p.Done.Bytes, p.Total.Bytes}, {p.Done.Rows, p.Total.Rows}, {p.Done.Files, p.Total.Files}} {
		if f[1] > 0 {
			return min(float64(f[0])/float64(f[1]), 1), true
		}
	}
	return 0, false
}

// Tracker collects events into [Progress]. The zero value is ready to use. It is
// safe for concurrent use.
type Tracker struct {
	Now func() time.Time // default time.Now

	mu     sync.Mutex
	p      Progress
	totals map[string]Amount // of phases that have not begun
	marks  marks             // of the current phase
	before Records           // of earlier parts
	rows   map[int]int64     // in HFiles, by region of the current part
}

// Progress returns a copy of the current state.
func (t *Tracker) Progress() Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.p
	p.Schema, p.At = 1, t.now()
	p.Phases = slices.Clone(p.Phases)
	if n := len(p.Phases); n > 0 && p.Phases[n-1].Ended.IsZero() {
		p.Phases[n-1].Recent = t.marks.recent(p.Phases[n-1], p.At)
	}
	p.Left = p.left()
	return p
}

// End closes the current phase when the job has ended.
func (t *Tracker) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endPhase()
}

func (t *Tracker) now() time.Time {
	if t.Now != nil {
		return t.Now().UTC()
	}
	return time.Now().UTC()
}

// endPhase and current are called with the lock held.
func (t *Tracker) endPhase() {
	if p := t.current(); p != nil && p.Ended.IsZero() {
		p.Ended = t.now()
	}
}

func (t *Tracker) current() *PhaseProgress {
	if len(t.p.Phases) == 0 {
		return nil
	}
	return &t.p.Phases[len(t.p.Phases)-1]
}

// Events returns the events that update the tracker.
func (t *Tracker) Events() Events {
	locked := func(do func()) {
		t.mu.Lock()
		defer t.mu.Unlock()
		do()
	}
	done := func(phase string, a Amount) {
		locked(func() {
			for i := range slices.Backward(t.p.Phases) {
				if p := &t.p.Phases[i]; p.Name == phase {
					p.Done = p.Done.plus(a)
					if i == len(t.p.Phases)-1 {
						t.marks.add(t.now(), p.Done)
					}
					return
				}
			}
		})
	}
	return Events{
		OnStart: func(s Start) {
			locked(func() {
				t.endPhase()
				if s.Part > 1 {
					t.p.Phases = fold(t.p.Phases) // so that a run of thousands of parts does not collect thousands of phases
					t.totals = nil
				}
				t.p.Start, t.p.Began, t.before, t.rows = s, t.now(), t.p.Records, nil
			})
		},
		OnPhase: func(name string) {
			locked(func() {
				t.endPhase()
				t.marks = marks{}
				t.p.Phases = append(t.p.Phases, PhaseProgress{Name: name, Began: t.now(), Total: t.totals[name]})
			})
		},
		OnTotal: func(phase string, total Amount) {
			locked(func() {
				if t.totals == nil {
					t.totals = map[string]Amount{}
				}
				t.totals[phase] = total
				for i := range t.p.Phases {
					if p := &t.p.Phases[i]; p.Name == phase && p.Ended.IsZero() {
						p.Total = total
					}
				}
			})
		},
		OnRows:    func(rows, bytes int64) { done("read", Amount{Rows: rows, Bytes: bytes}) },
		OnRecords: func(r Records) { locked(func() { t.p.Records = t.before.plus(r) }) },
		OnChecked: func(bytes int64) { done("check", Amount{Bytes: bytes}) },
		OnMerged:  func(rows int64) { done("write", Amount{Rows: rows}) },
		OnLoad:    func(_ string, files int) { done("load", Amount{Files: int64(files)}) },
		OnRead:    func(rows int64) { done("verify", Amount{Rows: rows}) },
		OnSpill:   func(rows, bytes int64) { locked(func() { t.p.Spilled.Rows += rows; t.p.Spilled.Bytes += bytes }) },
		OnWritten: func(bytes int64) {
			done("write", Amount{Bytes: bytes})
			done("upload", Amount{Bytes: bytes})            // the bytes count for this phase if finished files are copied
			locked(func() { t.p.Written += max(bytes, 0) }) // a counter, also of copies that are written again
		},
		OnHFile: func(f HFile) {
			locked(func() {
				t.p.HFiles = t.p.HFiles.plus(Amount{Files: 1, Rows: f.Rows, Bytes: f.Bytes})
				if t.p.Start.Further(f) {
					return
				}
				t.p.OwnCells += f.Cells
				more := max(0, f.Rows-t.rows[f.Region])
				t.p.Own = t.p.Own.plus(Amount{Files: 1, Rows: more, Bytes: f.Bytes})
				if t.rows == nil {
					t.rows = map[int]int64{}
				}
				t.rows[f.Region] += more
			})
		},
		OnTasks: func(tasks Tasks) { locked(func() { t.p.Tasks = tasks }) },
		OnWarn:  func(string, ...any) { locked(func() { t.p.Warnings++ }) },
	}
}

// marks records a few moments of a phase, with the work that was done by then.
type marks struct {
	all   []mark
	every time.Duration // minimum interval
}

type mark struct {
	at   time.Time
	done Amount
}

const (
	maxMarks   = 64
	firstMarks = 100 * time.Millisecond
	minSpan    = time.Second
)

// add records a moment, if the last one is long enough ago. When there are too many, every second one is dropped.
func (m *marks) add(now time.Time, done Amount) {
	if n := len(m.all); n > 0 && now.Sub(m.all[n-1].at) < max(m.every, firstMarks) {
		return
	}
	if len(m.all) == maxMarks {
		for i := range maxMarks / 2 {
			m.all[i] = m.all[2*i]
		}
		m.all = m.all[:maxMarks/2]
		m.every = 2 * max(m.every, firstMarks)
	}
	m.all = append(m.all, mark{now, done})
}

// recent returns the work done in about the last third of a phase. It is zero in the phase's first second.
func (m *marks) recent(p PhaseProgress, now time.Time) Span {
	since := now.Add(-max(minSpan, now.Sub(p.Began)/3))
	for i := len(m.all) - 1; i >= 0; i-- {
		if k := m.all[i]; !k.at.After(since) {
			return Span{now.Sub(k.at), Amount{p.Done.Rows - k.done.Rows, p.Done.Bytes - k.done.Bytes, p.Done.Files - k.done.Files}}
		}
	}
	return Span{}
}
