package faults

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Outcome is the outcome of a round.
type Outcome struct {
	Seed     uint64
	Job      Job
	Fault    Fault
	Hit      bool   // the fault was injected while the program ran, or between its runs
	Note     string // why a fault differed from its plan, or details of it
	Exits    []int  // of each run
	Errors   []string
	Problems []string // violated guarantees
	Silent   bool     // one of them by a command that reported success
	Broken   error    // the round could not be run: the cluster did not heal
	Took     time.Duration
	Calls    int // loading calls in all runs, if a proxy disturbed some
	Events   []string

	Restarted bool // it was restarted, as a refusal instructs
	Refused   bool // the final result is a refusal, which is right
	Late      bool // the refusal came after the damage was in the table
	// Spoilt means that region servers have read a damaged file. They reuse their read buffers, and may fail with other
	// tables afterwards: see [Lab.Refresh].
	Spoilt bool
}

// OK reports whether no guarantee was violated.
func (o *Outcome) OK() bool { return len(o.Problems) == 0 && o.Broken == nil }

// String returns a line for a log.
func (o *Outcome) String() string {
	exits := make([]string, len(o.Exits))
	for i, e := range o.Exits {
		exits[i] = strconv.Itoa(e)
	}
	verdict := "ok"
	switch {
	case o.Broken != nil:
		verdict = "BROKEN ROUND: " + strings.ReplaceAll(o.Broken.Error(), "\n", " | ")
	case o.Silent:
		verdict = "SILENT: " + strings.Join(o.Problems, "; ")
	case len(o.Problems) > 0:
		verdict = "WRONG: " + strings.Join(o.Problems, "; ")
	case !o.Hit && o.Fault.Kind != None:
		verdict = "ok, the fault came too late"
	case o.Late:
		verdict = "refused late, what was damaged is in the table"
	case o.Refused:
		verdict = "ok, refused"
	case o.Restarted:
		verdict = "ok, restarted"
	}
	if o.Note != "" {
		verdict += " (" + o.Note + ")"
	}
	return fmt.Sprintf("seed %d | %s | %s | exits %s | %.1fs | %s", o.Seed, o.Job, o.Fault, strings.Join(exits, ","), o.Took.Seconds(), verdict)
}

// problem records a violated guarantee.
func (o *Outcome) problem(format string, args ...any) {
	o.Problems = append(o.Problems, fmt.Sprintf(format, args...))
}

// silent records a problem that no command reports.
func (o *Outcome) silent(format string, args ...any) {
	o.Silent = o.Silent || o.Exits == nil || o.Exits[len(o.Exits)-1] == 0
	o.problem(format, args...)
}
