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
	Hit      bool   // the fault came while the program ran, or between its runs
	Note     string // why a fault could not be what it was to be, or what it was
	Exits    []int  // of each run
	Errors   []string
	Problems []string // promises that were broken
	Silent   bool     // one of them by a command that said that all is well
	Broken   error    // the round itself could not be done: the cluster did not heal
	Took     time.Duration
	Calls    int // loading calls in all runs, where a proxy harmed some
	Events   []string

	Restarted bool // it was restarted, as a refusal said
	Refused   bool // the last word is a refusal, which is right
	Late      bool // it came when the damage was in the table
	// Spoilt says that region servers have read a damaged file. They read into buffers that they use again, and may fail with
	// other tables after it: see [Lab.Refresh].
	Spoilt bool
}

// OK says that nothing that is promised was broken.
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

// problem notes a promise that was broken.
func (o *Outcome) problem(format string, args ...any) {
	o.Problems = append(o.Problems, fmt.Sprintf(format, args...))
}

// silent is a problem that no command reports.
func (o *Outcome) silent(format string, args ...any) {
	o.Silent = o.Silent || o.Exits == nil || o.Exits[len(o.Exits)-1] == 0
	o.problem(format, args...)
}
