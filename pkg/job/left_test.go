package job

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
)

// recordedTrace reads what TestRecordTraces wrote.
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

// leftErrors are how far off the time left was, as a part of the true one, from one third of the way on and while there
// was a second left.
func leftErrors(trace []Progress) (errs []float64) {
	first, last := trace[0], trace[len(trace)-1]
	took := last.At.Sub(first.Began)
	for _, p := range trace {
		left := last.At.Sub(p.At)
		if p.At.Sub(first.Began) < took/3 || left.Seconds() < 1 {
			continue
		}
		l := p.left()
		if !l.JobKnown {
			errs = append(errs, math.Inf(1))
			continue
		}
		errs = append(errs, l.Job.Seconds()/left.Seconds()-1)
	}
	return errs
}

func TestLeftOfTraces(t *testing.T) {
	dir := os.Getenv("W8B_TRACES")
	if dir == "" {
		dir = "testdata/traces"
	}
	names, err := filepath.Glob(dir + "/*.jsonl.gz")
	if err != nil || len(names) == 0 {
		t.Fatal(len(names), err)
	}
	var all []float64
	for _, name := range names {
		trace := recordedTrace(t, name)
		errs := leftErrors(trace)
		if len(errs) == 0 {
			continue
		}
		lo, hi := slices.Min(errs), slices.Max(errs)
		in := 0
		for i, e := range errs {
			if errs[i] = math.Abs(e); errs[i] <= 0.3 {
				in++
			}
		}
		slices.Sort(errs)
		t.Logf("%-36s %3d points  %+.2f … %+.2f  median %.2f  within 30%%: %3.0f%%", strings.TrimSuffix(filepath.Base(name), ".jsonl.gz"), len(errs), lo, hi, errs[len(errs)/2], 100*float64(in)/float64(len(errs)))
		all = append(all, errs...)
	}
	slices.Sort(all)
	t.Logf("all: median %.2f, worst %.2f, 90th %.2f", all[len(all)/2], all[len(all)-1], all[len(all)*9/10])
}
