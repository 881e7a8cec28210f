package progress

import (
	"math"
	"slices"
	"testing"
	"time"

	"bulkload/internal/test/race"
)

// simulatedJob has the durations of the phases of a simulated job, in seconds, each at a constant speed.
type simulatedJob struct {
	read, sort, write, load, verify float64
	text                            bool    // progress of reading shows in bytes, not in rows
	earlier                         float64 // durations of the previous job, as a multiple of these; 0: there was none
	slower                          float64 // duration of the second half of writing, as a multiple of the first half
}

// run plays a job with a number of rows to a tracker, and returns its progress every tenth of a second.
func (s simulatedJob) run() (trace []Progress) {
	const rows, regions, columns, fileBytes = 10_000_000, 20, 18, 2_000_000_000
	now := time.Date(2017, 10, 12, 3, 0, 0, 0, time.UTC)
	tracker := Tracker{Now: func() time.Time { return now }}
	e := tracker.Events()
	phases := []string{"read", "sort", "write", "load", "verify"}
	if s.verify == 0 {
		phases = phases[:4]
	}
	start := Start{Table: "t", Attempt: 1, Regions: regions, Columns: columns, Phases: phases, Verify: "full"}
	if s.earlier > 0 {
		start.Earlier = &Pace{Records: rows / 2, Regions: regions, Read: Seconds(s.earlier * (s.read + s.sort) / 2), Write: Seconds(s.earlier * s.write / 2),
			Load: Seconds(s.load), Verify: Seconds(s.earlier * s.verify / 2), Mode: "full"}
	}
	e.OnStart(start)
	const step = 0.1
	play := func(name string, took float64, do func(from, to float64)) {
		e.OnPhase(name)
		if took == 0 {
			return
		}
		for t := 0.0; t < took; t += step {
			to := min(t+step, took)
			now = now.Add(time.Duration((to - t) * float64(time.Second)))
			do(t/took, to/took)
			trace = append(trace, tracker.Progress())
		}
	}
	part := func(n int64, from, to float64) int64 { return int64(float64(n)*to) - int64(float64(n)*from) }
	e.OnTotal("read", Amount{Rows: rows})
	if s.text {
		e.OnTotal("read", Amount{Bytes: 200 * rows})
	}
	play("read", s.read, func(from, to float64) { e.OnRows(part(rows, from, to), part(200*rows, from, to)) })
	play("sort", s.sort, func(float64, float64) {})
	e.OnTotal("write", Amount{Rows: rows})
	bend := func(x float64) float64 {
		if s.slower == 0 {
			return x
		}
		half := 1 / (1 + s.slower) // of the time, for half of the rows
		if x < half {
			return x / half / 2
		}
		return 0.5 + (x-half)/(1-half)/2
	}
	files := 0
	play("write", s.write, func(from, to float64) {
		from, to = bend(from), bend(to)
		e.OnMerged(part(rows, from, to))
		e.OnWritten(part(fileBytes, from, to))
		for ; float64(files+1) <= to*regions; files++ {
			e.OnHFile(HFile{Rows: rows / regions, Bytes: fileBytes / regions})
		}
	})
	e.OnTotal("load", Amount{Files: regions})
	play("load", s.load, func(from, to float64) {
		for range part(regions, from, to) {
			e.OnLoad("", 1)
		}
	})
	if s.verify > 0 {
		e.OnTotal("verify", Amount{Rows: rows})
		play("verify", s.verify, func(from, to float64) { e.OnRead(part(rows, from, to)) })
	}
	return trace
}

// TestLeftOfSimulations compares the estimated time left of jobs with constant speeds with the true one. With an earlier job of the table the
// estimate is good even if that one was a quarter faster or slower. Without one it is good as long as the ratios of the phases are about those for
// which the model was measured; otherwise from a third of the last phase on.
func TestLeftOfSimulations(t *testing.T) {
	for _, c := range []struct {
		name          string
		earlier       []float64
		read          []float64 // seconds
		write, verify []float64 // as a multiple of reading
		whole         bool      // from a third of the job on, not of the last long phase
	}{
		{"with an earlier job", []float64{0.8, 1, 1.25}, []float64{5, 60}, []float64{0.7, 1.3, 1.9, 2.8, 6, 20}, []float64{0, 0.5, 3, 5.5, 9, 30}, true},
		{"like others", []float64{0}, []float64{14, 16, 18}, []float64{1.6, 1.9, 2.3}, []float64{0, 5, 6}, true},
		{"unlike others", []float64{0}, []float64{5, 60}, []float64{0.7, 1.3, 2.8, 6, 20}, []float64{0, 0.5, 3, 9, 30}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var all []float64
			reduced := race.Reduced(t)
			for _, earlier := range c.earlier {
				for _, write := range c.write {
					for _, verify := range c.verify {
						for _, read := range c.read {
							if reduced && read != c.read[0] {
								continue
							}
							s := simulatedJob{read: read, sort: 0.2 * read, write: write * read, load: 0.5, verify: verify * read, text: read == 5, earlier: earlier}
							all = append(all, s.check(t, c.whole)...)
						}
					}
				}
			}
			slices.Sort(all)
			t.Logf("median %.2f, worst %.2f", all[len(all)/2], all[len(all)-1])
		})
	}
}

// check returns the errors of the time left from a third on, and reports errors above 30 %.
func (s simulatedJob) check(t *testing.T, whole bool) (off []float64) {
	t.Helper()
	trace := s.run()
	first, end := trace[0].Began, trace[len(trace)-1].At
	from := first.Add(end.Sub(first) / 3)
	switch began := s.read + s.sort; {
	case !whole && s.verify == 0:
		from = first.Add(Seconds(began + s.write/3))
	case !whole:
		from = first.Add(Seconds(began + s.write + s.load + s.verify/3))
	}
	for _, p := range trace {
		left := end.Sub(p.At)
		if p.At.Before(from) || left < time.Second {
			continue
		}
		if !p.Left.JobKnown {
			t.Errorf("%+v: nothing is known with %v to go", s, left)
			return off
		}
		e := p.Left.Job.Seconds()/left.Seconds() - 1
		off = append(off, math.Abs(e))
		if math.Abs(e) > 0.3 {
			t.Errorf("%+v: %v of %v left, estimated was %v: %+.2f (%s)", s, left, end.Sub(first), p.Left.Job.Round(time.Second), e, p.Phases[len(p.Phases)-1].Name)
			return off
		}
	}
	return off
}
