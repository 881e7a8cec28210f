package progress

import (
	"slices"
	"time"
)

// Sums returns the phases of all parts, one for each name, with their total time.
// They are in the order in which they last began.
func (p Progress) Sums() []PhaseProgress {
	sums := fold(p.Phases)
	last := func(f PhaseProgress) int {
		for i, phase := range slices.Backward(p.Phases) {
			if phase.Name == f.Name {
				return i
			}
		}
		return -1
	}
	slices.SortStableFunc(sums, func(a, b PhaseProgress) int { return last(a) - last(b) })
	return sums
}

// fold merges all phases of the same name. A merged phase has the
// total time of its phases, counted from when the first began.
func fold(phases []PhaseProgress) (folded []PhaseProgress) {
	for _, phase := range phases {
		phase.Recent = Span{}
		i := slices.IndexFunc(folded, func(f PhaseProgress) bool { return f.Name == phase.Name })
		if i < 0 {
			folded = append(folded, phase)
			continue
		}
		f := &folded[i]
		f.Ended = f.Ended.Add(phase.Ended.Sub(phase.Began))
		f.Done, f.Total = f.Done.plus(phase.Done), f.Total.plus(phase.Total)
	}
	return folded
}

func (a Amount) plus(b Amount) Amount {
	return Amount{a.Rows + b.Rows, a.Bytes + b.Bytes, a.Files + b.Files}
}

func (r Records) plus(o Records) Records {
	return Records{r.Read + o.Read, r.Rejected + o.Rejected, r.Filtered + o.Filtered}
}

// PartsWork is the amount of work in several parts of a split job.
type PartsWork struct {
	Parts int           `json:"parts"`
	Bytes int64         `json:"input_bytes"`
	Took  time.Duration `json:"took_ns,omitempty"` // time of completed parts, without pauses
}

// estimate returns the time that other parts are likely to take, judging by these.
func (w PartsWork) estimate(parts int, bytes int64) time.Duration {
	if w.Parts == 0 || w.Bytes == 0 {
		return 0
	}
	fixed := min(partSeconds, w.Took.Seconds()/float64(w.Parts))
	perByte := (w.Took.Seconds() - fixed*float64(w.Parts)) / float64(w.Bytes)
	return Seconds(fixed*float64(parts) + perByte*float64(bytes))
}

// Add adds one part.
func (w *PartsWork) Add(bytes int64, took time.Duration) {
	w.Parts++
	w.Bytes += bytes
	w.Took += max(took, 0)
}

// partSeconds is the fixed cost of a part in seconds: its table, checks, journal
// and verification.
const partSeconds = 0.4

// partsLeft adds the time of later parts to the remaining time of the current part.
// That time is proportional to their input, and is estimated from the parts that this
// run did and from the current one, unless the current part resumes an earlier run.
func (p Progress) partsLeft(l Left) Left {
	if p.Start.Parts <= 1 {
		return l
	}
	elapsed := p.At.Sub(p.Began)
	seen := p.Start.Behind
	if !l.JobKnown && seen.Bytes > 0 {
		l.Job, l.JobKnown = max(seen.estimate(1, p.Start.Bytes)-elapsed, l.Phase), true
	} else if l.JobKnown && p.Start.Attempt <= 1 {
		seen.Add(p.Start.Bytes, elapsed+l.Job)
	}
	if p.Start.Ahead.Parts > 0 {
		l.JobKnown = l.JobKnown && seen.Bytes > 0
		l.Job += seen.estimate(p.Start.Ahead.Parts, p.Start.Ahead.Bytes)
	}
	return l
}
