package newkeys

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"slices"
	"sync"
	"time"

	"bulkload/internal/model/progress"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/estimate"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/partition"
	"bulkload/pkg/partition/extsort"
)

const (
	// sampleBytes is the number of bytes of rows that a plan builds: half a second's work.
	sampleBytes = 48 << 20
	// sampleRuns is the number of runs of consecutive rows under their new keys. Neighboring rows have much in common and compress
	// well: with randomly drawn single rows, the estimated files of a million check rows would be a quarter too large.
	sampleRuns = 24
	// runRows is the minimum number of average rows in a run.
	runRows = 16
)

// sampleRoom returns the maximum number of bytes of a sample, at least one row.
func (r *reader) sampleRoom() int64 {
	return min(r.room.sort/int64(2*r.options.Workers), max(sampleBytes, int64(r.room.row)))
}

// runsOf returns the number of runs in a sample of rows of the given average size.
func (r *reader) runsOf(mean float64) int {
	return max(1, int(min(sampleRuns, float64(r.sampleRoom())/(runRows*max(mean, 1)))))
}

// rowSample keeps the first rows in each range of new keys. It does not depend on the order in which rows are added. It is safe for concurrent use.
type rowSample struct {
	ranges *partition.Ranges
	runs   []sampleRun
}

func newSample(ranges *partition.Ranges, most int64) *rowSample {
	s := &rowSample{ranges: ranges, runs: make([]sampleRun, ranges.Len())}
	for i := range s.runs {
		s.runs[i].most = most / int64(len(s.runs))
	}
	return s
}

// sampleRun holds the rows with the least keys, up to a number of bytes.
type sampleRun struct {
	mu    sync.Mutex
	most  int64
	bytes int64       // of keys and cells
	rows  sampleHeap  // the row with the greatest key first
	end   *sampledRow // the least row that did not fit; nil: none
}

type sampledRow struct {
	seq        uint64
	key, cells []byte
}

func (r sampledRow) size() int64 { return int64(len(r.key) + len(r.cells)) }

func (r sampledRow) compare(o sampledRow) int {
	return cmp.Or(bytes.Compare(r.key, o.key), cmp.Compare(r.seq, o.seq))
}

// add offers a row. Its key and cells are copied if it is kept.
func (s *rowSample) add(seq uint64, key, cells []byte) {
	run, row := &s.runs[s.ranges.Find(key)], sampledRow{seq, key, cells}
	run.mu.Lock()
	defer run.mu.Unlock()
	if row.size() > run.most || run.end != nil && row.compare(*run.end) > 0 {
		return
	}
	row.key, row.cells = bytes.Clone(key), bytes.Clone(cells)
	heap.Push(&run.rows, row)
	for run.bytes += row.size(); run.bytes > run.most; {
		last := heap.Pop(&run.rows).(sampledRow)
		run.bytes -= last.size()
		run.end = &sampledRow{seq: last.seq, key: last.key}
	}
}

// all returns the rows of all runs, by their numbers.
func (s *rowSample) all() (rows []sampledRow) {
	for i := range s.runs {
		rows = append(rows, s.runs[i].rows...)
	}
	slices.SortFunc(rows, func(a, b sampledRow) int { return cmp.Compare(a.seq, b.seq) })
	return rows
}

// sampleHeap implements [heap.Interface].
type sampleHeap []sampledRow

func (h sampleHeap) Len() int           { return len(h) }
func (h sampleHeap) Less(i, j int) bool { return h[i].compare(h[j]) > 0 }
func (h sampleHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *sampleHeap) Push(row any)      { *h = append(*h, row.(sampledRow)) }
func (h *sampleHeap) Pop() any {
	last := len(*h) - 1
	row := (*h)[last]
	(*h)[last] = sampledRow{}
	*h = (*h)[:last]
	return row
}

// build builds the rows into one region, in memory, and extrapolates the measurements to all rows. Rows without a cell that is late
// enough are included only for their keys.
func (s *rowSample) build(ctx context.Context, r *reader, all *estimate.Rows, b *estimate.RowBuild) (err error) {
	rows, seen := s.all(), int64(0)
	for _, row := range rows {
		if len(row.cells) > 0 {
			b.SampledRows, seen = b.SampledRows+1, seen+row.size()
		}
	}
	if seen == 0 {
		return nil
	}
	b.Part = float64(seen) / all.Bytes()
	one := *r.plan
	one.Duplicates = extsort.KeepFirst // duplicates are counted
	if one.Ranges, err = partition.New(nil); err != nil {
		return err
	}
	start, sorted := time.Now(), time.Duration(0)
	o := r.options.Options
	o.Gate, o.SpillLimit = nil, 0
	o.Events = progress.Events{OnPhase: func(name string) {
		if name == "write" {
			sorted = time.Since(start)
		}
	}}
	out := build.Output{FS: hdfsio.NewMemory(), Dir: "/sample"}
	m, err := build.RunPacked(ctx, one.Build(r.snap), &sampleSource{rows, r, b}, r.room.sort, out, o, nil)
	if err != nil {
		return err
	}
	b.Duplicates, b.HFileBytes = m.Duplicates, max(m.Bytes-int64(m.HFiles)*build.FileOverhead, 0)
	b.Packed = float64(m.SpillBytes) / (float64(b.SortedBytes) * b.Part)
	scaled := func(d time.Duration) time.Duration { return time.Duration(float64(d) / b.Part) }
	b.ReadTime, b.WriteTime = b.ReadTime+scaled(sorted), scaled(time.Since(start)-sorted)
	return nil
}

// sampleSource passes a sample's rows to its build.
type sampleSource struct {
	rows   []sampledRow
	reader *reader
	b      *estimate.RowBuild
}

// Read implements [build.PackedSource]. It spills if the sort of all rows would.
func (s *sampleSource) Read(ctx context.Context, sorter *extsort.Sorter, _ func(region int) bool) (t build.ReadTotals, err error) {
	w, err := sorter.Writer()
	if err != nil {
		return t, err
	}
	t.Records, t.Notes = int64(len(s.rows)), s.reader.names.text()
	sum := newDecoder(s.reader.snap.Families, t.Notes)
	for _, row := range s.rows {
		room, err := w.Add(0, row.seq, row.key, len(row.cells))
		if err != nil {
			return t, err
		}
		copy(room, row.cells)
		if err := sum.Row(row.cells, func(family int, c *hfile.Cell) error {
			c.Family = []byte(s.reader.snap.Families[family].Name)
			return nil
		}); err != nil {
			return t, err
		}
	}
	t.Sum, _ = sum.Total()
	_, size := sorter.Size(0)
	s.b.SortedBytes = int64(float64(size) / s.b.Part)
	s.b.Forecast = s.b.Sort.Forecast(int64(float64(len(s.rows))/s.b.Part), s.b.SortedBytes)
	if s.b.Forecast.Spills {
		err = w.Spill()
	}
	return t, err
}

// Locate implements [build.PackedSource].
func (s *sampleSource) Locate(_ context.Context, err error) error { return err }

// Explain implements [build.PackedSource].
func (s *sampleSource) Explain(err error) error { return sortError(err) }
