package progress

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// recordedTrace reads a trace that TestRecordTraces has written.
func recordedTrace(t *testing.T, name string) []Progress {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var trace []Progress
	var past marks
	phases := 0
	for d := json.NewDecoder(unpacked); ; {
		var p Progress
		switch err := d.Decode(&p); {
		case err == io.EOF:
			return trace
		case err != nil:
			t.Fatalf("%s: %v", name, err)
		}
		if n := len(p.Phases); n > 0 {
			now := &p.Phases[n-1]
			if now.Name == "write" {
				now.Done.Bytes = p.Written
			}
			if n != phases {
				past, phases = marks{}, n
			}
			past.add(p.At, now.Done)
			now.Recent = past.recent(*now, p.At)
		}
		trace = append(trace, p)
	}
}

// paceOf returns the pace of a whole trace.
func paceOf(trace []Progress) *Pace {
	end := trace[len(trace)-1]
	e := &Pace{Regions: end.Start.Regions, Mode: end.Start.Verify}
	for _, p := range end.Phases {
		took := p.Ended.Sub(p.Began)
		switch p.Name {
		case "read":
			e.Records = p.Done.Rows
			e.Read += took
		case "sort":
			e.Read += took
		case "write":
			e.Write = took
		case "load":
			e.Load = took
		case "verify":
			e.Verify = took
		}
	}
	return e
}

// leftErrors returns the relative errors of the time left, from a third of the job on and while at least a second is left.
func leftErrors(trace []Progress, earlier *Pace) (off []float64) {
	first, last := trace[0], trace[len(trace)-1]
	took := last.At.Sub(first.Began)
	for _, p := range trace[:len(trace)-1] {
		left := last.At.Sub(p.At)
		if p.At.Sub(first.Began) < took/3 || left.Seconds() < 1 {
			continue
		}
		p.Start.Earlier = earlier
		l := p.left()
		if !l.JobKnown {
			off = append(off, math.Inf(1))
			continue
		}
		off = append(off, l.Job.Seconds()/left.Seconds()-1)
	}
	return off
}

// steady changes the times of a trace so that each phase has a constant speed and the same duration. What remains to judge is how one phase predicts
// another.
func steady(trace []Progress) {
	last := trace[len(trace)-1]
	var past marks
	for i := range trace[:len(trace)-1] {
		p := &trace[i]
		n := len(p.Phases)
		if n == 0 {
			continue
		}
		now, whole := &p.Phases[n-1], last.Phases[n-1]
		if i == 0 || len(trace[i-1].Phases) != n {
			past = marks{}
		}
		if done, ok := p.fraction(now, now.Done); ok {
			p.At = whole.Began.Add(time.Duration(done * float64(whole.Ended.Sub(whole.Began))))
		}
		past.add(p.At, now.Done)
		now.Recent = past.recent(*now, p.At)
	}
}

// TestLeftOfTraces checks the time left of recorded real jobs. They were recorded on a busy machine of two cores, whose speed changed by a factor of
// three meanwhile, so the required precision is lower than the desired one. The log has the figures.
func TestLeftOfTraces(t *testing.T) {
	names, err := filepath.Glob("testdata/traces/*.a.jsonl.gz")
	if err != nil || len(names) == 0 {
		t.Fatal(len(names), err)
	}
	for _, c := range []struct {
		name    string
		earlier bool
		steady  bool
		median  float64
	}{{"alone", false, false, 0.35}, {"with an earlier job", true, false, 0.4}, {"with steady phases", false, true, 0.2}} {
		t.Run(c.name, func(t *testing.T) {
			var all []float64
			good := 0.0
			for _, a := range names {
				b := strings.Replace(a, ".a.", ".b.", 1)
				pair := map[string][]Progress{a: recordedTrace(t, a), b: recordedTrace(t, b)}
				if c.steady {
					for _, trace := range pair {
						steady(trace)
					}
				}
				for name, other := range map[string]string{a: b, b: a} {
					var earlier *Pace
					if c.earlier {
						earlier = paceOf(pair[other])
					}
					off := leftErrors(pair[name], earlier)
					lo, hi, in := slices.Min(off), slices.Max(off), 0
					for i, e := range off {
						if off[i] = math.Abs(e); off[i] <= 0.3 {
							in++
						}
					}
					slices.Sort(off)
					part := float64(in) / float64(len(off))
					t.Logf("%-38s %3d points, %+.2f to %+.2f, median %.2f, %3.0f %% within 30 %%", strings.TrimSuffix(filepath.Base(name), ".jsonl.gz"),
						len(off), lo, hi, off[len(off)/2], 100*part)
					all, good = append(all, off...), good+part
				}
			}
			slices.Sort(all)
			median := all[len(all)/2]
			t.Logf("of all: median %.2f, nine tenths below %.2f, worst %.2f; of a trace %.0f %% within 30 %%", median, all[len(all)*9/10], all[len(all)-1],
				100*good/float64(2*len(names)))
			if median > c.median {
				t.Errorf("the median is %.2f", median)
			}
		})
	}
}

// TestPhaseThatComesTwice checks a resumed job, which checks the files of an earlier attempt before it builds, and all of them before it loads. The
// phases between the two checks are not pending when the second one runs.
func TestPhaseThatComesTwice(t *testing.T) {
	at := func(seconds float64) time.Time {
		return time.Unix(1, 0).Add(time.Duration(seconds * float64(time.Second)))
	}
	p := Progress{Start: Start{Phases: []string{"check", "write", "check", "load"}, Regions: 1}, Began: at(0), At: at(5)}
	for _, begun := range []struct {
		phases []string
		ahead  []string
	}{
		{nil, p.Start.Phases},
		{[]string{"check"}, []string{"write", "check", "load"}},
		{[]string{"check", "write"}, []string{"check", "load"}},
		{[]string{"check", "write", "check"}, []string{"load"}},
		{[]string{"check", "read", "write", "check", "check"}, []string{"load"}},
		{[]string{"check", "write", "check", "load"}, nil},
	} {
		p.Phases = nil
		for i, name := range begun.phases {
			p.Phases = append(p.Phases, PhaseProgress{Name: name, Began: at(float64(i)), Ended: at(float64(i + 1))})
		}
		if got := p.Ahead(); !slices.Equal(got, begun.ahead) {
			t.Errorf("after %q: %q, want %q", begun.phases, got, begun.ahead)
		}
	}
	p.Start.Phases = []string{"check", "read", "check", "load"}
	p.Phases = []PhaseProgress{
		{Name: "check", Began: at(0), Ended: at(1)},
		{Name: "read", Began: at(1), Ended: at(4), Done: Amount{Rows: 10}, Total: Amount{Rows: 10}},
		{Name: "check", Began: at(4), Done: Amount{Bytes: 50}, Total: Amount{Bytes: 100}},
	}
	load, _ := p.predicted("load", 0)
	if l := p.left(); l.Job != l.Phase+Seconds(load) {
		t.Errorf("%v is left of the phase, and %v of the job, whose last phase takes %v", l.Phase, l.Job, Seconds(load))
	}
}

// TestCheckIsOfHFiles checks that the duration of a check follows from the bytes of HFiles, as far as any are written, not from those of the input.
func TestCheckIsOfHFiles(t *testing.T) {
	p := Progress{Start: Start{Bytes: 100 * checkRate}, Phases: []PhaseProgress{{Name: "read", Done: Amount{Rows: 1000}, Total: Amount{Rows: 1000}}}}
	for _, c := range []struct {
		written Amount
		want    float64
	}{{Amount{}, 100}, {Amount{Rows: 500, Bytes: 2 * checkRate}, 4}, {Amount{Rows: 1000, Bytes: 4 * checkRate}, 4}, {Amount{Rows: 2000, Bytes: 8 * checkRate}, 4}} {
		p.HFiles = c.written
		if got, known := p.predicted("check", 0); got != c.want || !known {
			t.Errorf("with %+v written: %v s, want %v", c.written, got, c.want)
		}
	}
}
