package rekey

import (
	"bytes"
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"bulkload/pkg/build"
	"bulkload/pkg/estimate"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/partition"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/progress"

	"github.com/cespare/xxhash/v2"
)

// sampleBytes is how much of the rows a plan builds: half a second's work.
const sampleBytes = 48 << 20

// rowSample keeps the rows whose new keys have a low hash, as many as there is room for. Rows of one key are in it together or not at
// all, and it is the same in whatever order rows come. Safe for concurrent use.
type rowSample struct {
	most  int64         // bytes
	below atomic.Uint64 // hashes that it takes

	mu    sync.Mutex
	bytes int64 // of keys and cells
	rows  []sampledRow
}

type sampledRow struct {
	hash, seq  uint64
	key, cells []byte
}

func (r *sampledRow) size() int64 { return int64(len(r.key) + len(r.cells)) }

func newSample(most int64) *rowSample {
	s := &rowSample{most: min(most, sampleBytes)}
	s.below.Store(math.MaxUint64)
	return s
}

// add sees a row, whose key and cells are copied if it is taken.
func (s *rowSample) add(seq uint64, key, cells []byte) {
	hash := xxhash.Sum64(key)
	if hash > s.below.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if hash > s.below.Load() {
		return
	}
	row := sampledRow{hash, seq, bytes.Clone(key), bytes.Clone(cells)}
	s.rows, s.bytes = append(s.rows, row), s.bytes+row.size()
	for s.bytes > s.most && len(s.rows) > 1 {
		s.halve()
	}
}

// halve leaves the rows of the lower half of hashes, or one.
func (s *rowSample) halve() {
	least := slices.MinFunc(s.rows, func(a, b sampledRow) int { return cmp.Compare(a.hash, b.hash) })
	below := max(s.below.Load()/2, least.hash)
	s.below.Store(below)
	kept := s.rows[:0]
	for _, r := range s.rows {
		if r.hash <= below {
			kept = append(kept, r)
		} else {
			s.bytes -= r.size()
		}
	}
	clear(s.rows[len(kept):])
	s.rows = kept
}

// build builds the rows into one region, in memory, and says what all rows take by what these have taken. Rows without a cell that is
// late enough are in it for their keys alone.
func (s *rowSample) build(ctx context.Context, r *reader, all *estimate.Rows, b *estimate.RowBuild) error {
	slices.SortFunc(s.rows, func(a, b sampledRow) int { return cmp.Compare(a.seq, b.seq) })
	seen := int64(0)
	for _, row := range s.rows {
		if len(row.cells) > 0 {
			b.SampledRows, seen = b.SampledRows+1, seen+row.size()
		}
	}
	if seen == 0 {
		return nil
	}
	b.Part = float64(seen) / all.Bytes()
	one := *r.plan
	one.Duplicates = extsort.KeepFirst // they are counted
	var err error
	if one.Ranges, err = partition.New(nil); err != nil {
		return err
	}
	start, sorted := time.Now(), time.Duration(0)
	o := r.o.Options
	o.Gate, o.SpillLimit = nil, 0
	o.Events = progress.Events{OnPhase: func(name string) {
		if name == "write" {
			sorted = time.Since(start)
		}
	}}
	out := build.Output{FS: hdfsio.NewMemory(), Dir: "/sample"}
	m, err := build.RunPacked(ctx, one.buildPlan(r.snap.Families), &sampleSource{s, r, b}, r.room.sort, out, o, nil)
	if err != nil {
		return err
	}
	b.Duplicates, b.HFileBytes = m.Duplicates, max(m.Bytes-int64(m.HFiles)*build.FileOverhead, 0)
	b.Packed = float64(m.SpillBytes) / (float64(b.SortedBytes) * b.Part)
	scaled := func(d time.Duration) time.Duration { return time.Duration(float64(d) / b.Part) }
	b.ReadTime, b.WriteTime = b.ReadTime+scaled(sorted), scaled(time.Since(start)-sorted)
	return nil
}

// sampleSource gives a sample's rows to its build.
type sampleSource struct {
	*rowSample
	r *reader
	b *estimate.RowBuild
}

// Read implements [build.PackedSource]. It spills if the sort of all rows would.
func (s *sampleSource) Read(ctx context.Context, sorter *extsort.Sorter, _ func(region int) bool) (t build.ReadTotals, err error) {
	w, err := sorter.Writer()
	if err != nil {
		return t, err
	}
	t.Records, t.Notes = int64(len(s.rows)), s.r.names.text()
	sum := newDecoder(s.r.snap.Families, t.Notes)
	for _, row := range s.rows {
		room, err := w.Add(0, row.seq, row.key, len(row.cells))
		if err != nil {
			return t, err
		}
		copy(room, row.cells)
		if err := sum.Row(row.cells, func(family int, c *hfile.Cell) error {
			c.Family = []byte(s.r.snap.Families[family].Name)
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
