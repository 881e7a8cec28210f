package estimate

import (
	"testing"
	"time"

	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/pipeline/encode"
	"bulkload/internal/test/jobtest"
	"bulkload/pkg/partition/extsort"
)

// TestTimesAndMemoryAreScaled uses a sample of 1000 rows with known times, for
// an estimate of 4000 rows, in memory and spilling, with one worker.
func TestTimesAndMemoryAreScaled(t *testing.T) {
	s := jobtest.CSVSpec(jobtest.WideInput(t, 1000))
	k, err := build.OpenInput(t.Context(), jobtest.Env(t).Source, jobtest.Resolve(t, s), build.WorkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := cells.NewPlan(jobtest.Resolve(t, s), k.Source.Columns(), jobtest.Family, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	count := newTally(1, len(plan.Columns))
	count.rows, count.bytes, count.regions[0] = 4000, 1, regionTally{rows: 4000, bytes: 1, seen: 1}
	const sorted = 100_000 // bytes of the sample
	for _, c := range []struct {
		name        string
		memory      int64
		spills      bool
		read, write time.Duration
	}{
		// 20 ms for 1000 rows, extrapolated from 500, 4 times as many rows, the sort's 10 ms scaled with log 4000 / log 1000.
		{"in memory", extsort.MinMemory, false, 153_633 * time.Microsecond, 254_400 * time.Microsecond},
		// The sort's time per row does not grow: runs are as long as the sample's.
		{"spilling", 0, true, 126 * time.Millisecond, 222_600 * time.Microsecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			sample := &build.Sample{Plan: plan, Input: k.Source, Options: build.Options{Workers: 1}, SortedBytes: sorted, SortTime: 10 * time.Millisecond,
				WriteTime: 50 * time.Millisecond, FileTime: 6 * time.Millisecond, Sort: extsort.Options{Workers: 1, Memory: c.memory}}
			sample.Rows, sample.ValueBytes = 1000, 50_000
			sample.TimedRows, sample.ReadTime = 500, 10*time.Millisecond
			sample.Forecast = extsort.Forecast{Spills: c.spills, Memory: 1 << 20}
			e := (&scaled{Sample: sample}).estimate(count, BuildOptions{})
			if e.ReadTime.Round(time.Microsecond) != c.read || e.WriteTime.Round(time.Microsecond) != c.write {
				t.Errorf("read %s, write %s; want %s, %s", e.ReadTime, e.WriteTime, c.read, c.write)
			}
			if want := processMemory + sample.Options.HeapFloor()/2 + 1<<20 + max(encode.WriterRoom(plan), k.Source.ReaderMemory()); e.Memory != want {
				t.Errorf("memory %d, want %d", e.Memory, want)
			}
			if want := int64(4*sorted+4000*extsort.IndexSize) - c.memory; c.spills && e.MoreMemory != want || !c.spills && e.MoreMemory != 0 {
				t.Errorf("%d bytes more memory, want %d", e.MoreMemory, want)
			}
		})
	}
}
