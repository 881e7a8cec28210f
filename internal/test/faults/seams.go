package faults

import (
	"context"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"

	"bulkload/internal/test/bench/data"
)

// The harms to what a job rests on: its input, its files, its table. The program need not survive them. It may refuse by
// name, and must then do the job right when it is asked to start over.
const (
	InputChange = "input-change" // the input is another; Fault.How says in which way
	BitFlip     = "bit-flip"     // one bit of a staged file is another
	Recreate    = "recreate"     // the table is dropped and created again, or truncated
)

// Seams returns the kinds that the program may refuse.
func Seams() []string { return []string{InputChange, BitFlip, Recreate} }

// mayRefuse reports whether it is right that a command refuses after the fault.
func (f Fault) mayRefuse() bool { return slices.Contains(Seams(), f.Kind) }

// drawSeam draws what these harms need besides the rest.
func (f *Fault) drawSeam(r *rand.Rand) {
	f.Between = r.IntN(2) == 0
	f.Nth = 1 + r.IntN(6)
	soon := time.Duration(r.IntN(150)) * time.Millisecond
	early := r.IntN(3) > 0
	switch f.Kind {
	case InputChange:
		f.How = oneOf(r, inputChanges()...)
		f.Frozen = r.IntN(2) == 0
		switch {
		case f.Between:
			f.When.Event = oneOf(r, "plan", "attempt", "sorted", "written", "written", "built", "loading", "sending", "loaded", "loaded")
		case early || f.How == Arrive: // while the input is read
			f.When = Trigger{Event: oneOf(r, "plan", "attempt", "attempt"), After: soon}
		}
		if f.How == Arrive { // later it cannot be noticed that there is more
			f.When.Event = oneOf(r, "plan", "attempt", "sorted")
		}
	case BitFlip:
		f.How = oneOf(r, flipWays()...)
		f.Frozen = r.IntN(2) == 0
		// A program that runs reads the files once more between "built" and "loading"; one that continues, when it begins.
		if f.Between = early; early {
			f.When.Event = oneOf(r, "written", "written", "built", "loading", "prepared")
		} else {
			f.When = Trigger{Event: "written", After: soon / 10}
		}
	case Recreate:
		f.How = oneOf(r, dropped, dropped, truncated)
		f.Frozen = true
		f.When = Trigger{Event: oneOf(r, "plan", "sorted", "written", "built", "prepared", "sending", "loaded", "loaded", "loaded"), After: soon / 5}
	}
	if f.Between {
		f.Frozen, f.When.After = false, 0
		if slices.Contains([]string{"prepared", "sending", "loaded"}, f.When.Event) {
			f.Another = false // a program that is to stop then is done before
		}
	}
}

// fitted makes of a job one by which the fault can be judged, and of the fault one that the job gives an occasion for.
func fitted(j Job, f Fault) (Job, Fault) {
	if !f.mayRefuse() {
		return j, f
	}
	j.Compact = false // what was loaded before a new beginning is reported by the files
	if f.Kind != BitFlip && f.Pick%3 == 0 {
		j.Verify = "off"
	}
	if f.How == Add || f.How == Remove {
		j.Files, j.Dir = max(2, j.Files), true
	}
	if f.Kind == InputChange && !f.Between && f.When.Event != "" {
		j.Spec.Rows = min(3*j.Spec.Rows, 40_000) // so that reading them takes a while
	}
	if j.Form == data.Parquet && j.Files > 1 && j.Memory == "64MiB" {
		j.Memory = "512MiB"
	}
	if f.When.Event == "prepared" && j.Stage == "direct" { // nothing is prepared then
		f.When.Event = "loading"
	}
	switch {
	case f.When.Event != "written" && f.When.Event != "loaded":
		f.Nth = 1
	default:
		f.Nth = 1 + (f.Nth-1)%j.Spec.Regions
	}
	return j, f
}

// kills reports whether the program kills itself at the fault's event.
func (f Fault) kills() bool { return f.Kind == KillAt || f.Between && !f.Another }

// between waits until the first run has been ended by a signal and does the harm.
func (r *round) between(ctx context.Context, p *process) (hit bool, err error) {
	if r.fault.Another {
		if !r.fault.When.wait(p, r.state) {
			return false, nil
		}
		p.signal(syscall.SIGTERM)
	}
	<-p.done
	if p.exit <= 128 {
		return false, nil // it was done, or failed, before
	}
	err = r.seam(ctx)
	return !r.late, err
}

// arrive has the rest of the input come, if nothing has brought it until the end of the first run.
func (r *round) arrive(p *process) error {
	if !r.partly {
		return nil
	}
	r.late = true
	r.undecided = p.exit == 0 // it was through before there was anything to notice
	return r.changeInput()
}

// seam does one of these harms.
func (r *round) seam(ctx context.Context) error {
	switch r.fault.Kind {
	case InputChange:
		return r.changeInput()
	case BitFlip:
		return r.flip(ctx)
	default:
		return r.recreate(ctx)
	}
}

// inputStream and flipStream distinguish what is drawn from a fault's Pick.
const (
	inputStream = iota
	flipStream
	partStream
)

// changeInput changes the input.
func (r *round) changeInput() error {
	next, err := r.input.change(r.fault.How, rand.New(rand.NewPCG(r.fault.Pick, inputStream)))
	if err != nil {
		return err
	}
	if r.fault.How == Arrive {
		r.partly = false
		return nil // it is what was meant from the beginning
	}
	if r.input = next; next != nil {
		r.names = append(r.names, next.names()...)
		r.deliver(next, "the changed input")
	}
	return nil
}

// The ways to make a table again.
const (
	dropped   = "drop"
	truncated = "truncate"
)

// recreate makes the table again, with the same regions. What others had in it is gone.
func (r *round) recreate(ctx context.Context) error {
	all, _ := events(r.state)
	if !r.fault.Between && count(all, "loaded") >= r.job.Spec.Regions || count(all, "verified") > 0 {
		r.late = true // the job was done but for looking
		return nil
	}
	var err error
	if r.fault.How == truncated {
		_, err = r.lab.admin(ctx, "truncate", r.table)
	} else if _, err = r.lab.admin(ctx, "drop", r.table); err == nil {
		err = r.create(ctx)
	}
	r.others, r.before, r.contents = nil, 0, nil
	r.deliver(r.input, "the input")
	return err
}

// count counts an event.
func count(all []string, one string) (n int) {
	for _, s := range all {
		if s == one {
			n++
		}
	}
	return n
}
