package build

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"bulkload/internal/base/durable"
	"bulkload/internal/base/workers"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/pipeline/encode"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/source"
)

const (
	// FileOverhead is the size of an HFile without its blocks: trailer, file info,
	// the root index, a bloom chunk that is not full.
	FileOverhead = 4 << 10
	// samplePlaces is the number of places in the input that are sampled.
	samplePlaces = 24
	// sampleRun is the number of bytes that a worker reads for a run, if the build would spill.
	sampleRun = 4 << 20
	// probeText is the number of bytes read first, to determine whether the build would spill.
	probeText = 1 << 20
)

// Sample is a build of a part of the input, with the readers, sort and encoders
// of a real build, into unnamed files.
type Sample struct {
	Plan    *cells.Plan
	Further []*cells.Plan // of other tables of the job: a record has a row in each, and one sort handles all
	Input   *source.Input
	Options Options
	Extent  source.Extent
	Readers int             // concurrent readers, at least one
	Limit   int64           // bytes to read
	Sort    extsort.Options // of the real build

	sampleCounts
	TotalRows    int64   // estimated rows of the whole input in one table
	SortedBytes  int64   // size of the sampled rows in the sort
	stored       int64   // sampled rows in the sort
	regions      []int64 // sampled rows of each region
	Forecast     extsort.Forecast
	SpilledBytes int64 // bytes on disk
	SortTime     time.Duration
	tables       []sampledTable // counts of each table, the table of Plan first
	all          *Sample        // the whole sample, if this is one table's part; else nil

	mu         sync.Mutex
	Duplicates int64 // sampled rows that are left out because another has the same key
	Cells      int64
	HFileBytes int64         // bytes of HFiles
	WriteTime  time.Duration // sum over all workers
	FileTime   time.Duration // the time per file apart from its bytes
}

// sampleCounts counts the sampled input.
type sampleCounts struct {
	Places     int
	Rows       int64
	left       sortTotals    // the records that filters leave out, and those of batches that have no row
	counted    int64         // rows of files that state their number of rows
	TextBytes  int64         // bytes of the other files
	ValueBytes int64         // bytes of all files
	TimedRows  int64         // rows after the first batch of their place
	ReadTime   time.Duration // for TimedRows, sum over all workers
	SpillTime  time.Duration // for sorting and writing runs, sum over all workers
}

// errEnough ends the reading of a split after enough bytes.
var errEnough = errors.New("enough of the split was read")

func (s *Sample) Run(ctx context.Context) error {
	// The first, short pass measures how much there is to sort. It also touches
	// the memory that the workers need.
	if err := s.pass(ctx, min(probeText, s.Limit), false); err != nil || s.Rows == 0 {
		return err
	}
	if err := s.pass(ctx, s.Limit, s.Forecast.Spills); err != nil {
		return err
	}
	return s.timeFile()
}

// timeFile measures the time to create a small file and make it durable.
func (s *Sample) timeFile() error {
	start := time.Now()
	f, err := newNameless(s.Options.SpillDir)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, FileOverhead))
	err = errors.Join(err, f.Finish())
	s.FileTime = time.Since(start)
	return err
}

// pass reads about text bytes of the input, sorts and encodes them.
func (s *Sample) pass(ctx context.Context, text int64, spill bool) (err error) {
	plans := s.plans()
	o := sortOptions(s.Options, plans)
	o.Memory = max(s.Sort.Memory, 4*text*int64(len(plans))+int64(s.Readers)*extsort.MinMemory)
	sorter, err := extsort.New(o)
	if err != nil {
		return fail.With(fail.Config, err)
	}
	defer func() { err = errors.Join(err, sorter.Close()) }()
	if err := s.readParts(ctx, sorter, text, spill); err != nil {
		return err
	}
	start := time.Now()
	if err := sorter.Finish(); err != nil {
		return err
	}
	s.SortTime = time.Since(start)
	s.SpilledBytes = sorter.Stats().SpillBytes
	s.countSorted(sorter)
	s.TotalRows = s.Extent.Rows
	if s.TextBytes > 0 {
		s.TotalRows += int64(float64(s.Extent.Text) * float64(s.Rows-s.counted) / float64(s.TextBytes))
	}
	if s.Kept() < s.Rows {
		s.TotalRows = int64(float64(s.TotalRows) * float64(s.Kept()) / float64(s.Rows))
	}
	s.Foresee()
	return s.encode(ctx, sorter)
}

// Kept returns the number of records that have rows: they are not bad, and pass the job's filter, and the table's own if this is a table's part.
func (c *sampleCounts) Kept() int64 { return c.Rows - c.left.Filtered - c.left.Rejected }

// readParts reads runs of splits that are spread evenly over the input.
func (s *Sample) readParts(ctx context.Context, sorter *extsort.Sorter, text int64, spill bool) error {
	s.sampleCounts = sampleCounts{}
	splits := len(s.Input.Splits())
	s.Places = min(splits, samplePlaces)
	if s.Places == 0 {
		return nil
	}
	s.Options.Budget.Reset()
	limit := text / int64(s.Places)
	r := &readers{plans: s.plans(), own: make([]atomic.Int64, 1+len(s.Further)), in: s.Input, sort: sorter, budget: s.Options.Budget, events: progress.Events{OnSpill: s.Options.Events.OnSpill}}
	var next atomic.Int64
	defer func() {
		r.countFiltered(&s.left)
		s.left.Rejected = r.noRow.Load()
	}()
	return workers.Run(ctx, s.Readers, func(ctx context.Context, _ int) error {
		w, err := r.newWorker()
		if err != nil {
			return err
		}
		c := sampleCounts{}
		since := int64(0)
		for i := int(next.Add(1) - 1); i < s.Places && ctx.Err() == nil; i = int(next.Add(1) - 1) {
			n, err := s.readPart(ctx, w, i*splits/s.Places, (i+1)*splits/s.Places, limit, &c)
			if err != nil {
				return err
			}
			if since += n; spill && since >= min(sampleRun, text/int64(s.Readers)) {
				since = 0
				if err := c.spillRun(w); err != nil {
					return err
				}
			}
		}
		if spill {
			if err := c.spillRun(w); err != nil {
				return err
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.add(c)
		return nil
	})
}

// add adds the counts of another worker.
func (c *sampleCounts) add(d sampleCounts) {
	c.Rows += d.Rows
	c.counted += d.counted
	c.TextBytes += d.TextBytes
	c.ValueBytes += d.ValueBytes
	c.TimedRows += d.TimedRows
	c.ReadTime += d.ReadTime
	c.SpillTime += d.SpillTime
}

func (c *sampleCounts) spillRun(w *readWorker) error {
	start := time.Now()
	err := w.out.Spill()
	c.SpillTime += time.Since(start)
	return err
}

// readPart reads splits up to limit bytes. The first batch is not timed: opening files
// and row groups is a small part of a build's split, but a large part of a sampled one.
func (s *Sample) readPart(ctx context.Context, w *readWorker, from, to int, limit int64, c *sampleCounts) (n int64, err error) {
	for split := from; split < to && n < limit && err == nil; split++ {
		rows := s.Input.Files()[s.Input.Splits()[split].File].Format.Traits().Rows
		last := time.Time{}
		err = w.reader.Read(ctx, split, func(b *source.Batch) error {
			n += b.Bytes
			c.Rows += int64(b.Rows)
			if rows {
				c.counted += int64(b.Rows)
			} else {
				c.TextBytes += b.Bytes
			}
			if err := w.batch(b); err != nil {
				return err
			}
			now := time.Now()
			if !last.IsZero() {
				c.TimedRows += int64(b.Rows)
				c.ReadTime += now.Sub(last)
			}
			last = now
			if n >= limit {
				return errEnough
			}
			return nil
		})
	}
	c.ValueBytes += n
	if errors.Is(err, errEnough) {
		err = nil
	}
	return n, err
}

// encode writes HFiles into the spill directory, one for each worker: a file for
// the few rows of every region would mostly consist of its header and trailer.
func (s *Sample) encode(ctx context.Context, sorter *extsort.Sorter) error {
	s.Duplicates, s.Cells, s.HFileBytes, s.WriteTime = 0, 0, 0, 0
	return workers.Run(ctx, s.Options.Workers, func(ctx context.Context, worker int) error {
		from, to := s.part(worker), s.part(worker+1)
		if from == to {
			return nil
		}
		for i := range s.tables {
			t := &s.tables[i]
			first, end := max(from, t.from), min(to, t.from+t.plan.Ranges.Len())
			if first >= end {
				continue
			}
			start := time.Now()
			stats, err := s.encodePart(ctx, sorter, t, first, end)
			if err != nil {
				return err
			}
			s.mu.Lock()
			took := time.Since(start)
			t.cells, t.fileBytes, t.took = t.cells+stats.Cells, t.fileBytes+stats.Bytes, t.took+took
			s.Cells, s.HFileBytes, s.WriteTime = s.Cells+stats.Cells, s.HFileBytes+stats.Bytes, s.WriteTime+took
			s.mu.Unlock()
		}
		return nil
	})
}

// encodePart writes the rows of some regions of a table, into one file for each family.
func (s *Sample) encodePart(ctx context.Context, sorter *extsort.Sorter, t *sampledTable, from, to int) (stats hfile.Stats, err error) {
	var outs []*hdfsio.Overlapped
	plan := t.plan
	for range plan.Families {
		sink, cause := newNameless(s.Options.SpillDir)
		if cause != nil {
			return stats, cause
		}
		defer func() { err = errors.Join(err, sink.Finish()) }()
		o := hdfsio.NewOverlapped(sink, nil)
		defer func() { err = errors.Join(err, o.Drain()) }()
		outs = append(outs, o)
	}
	sinks, err := encode.NewSinks(plan, 0, func(i int) io.Writer { return outs[i] })
	if err != nil {
		return stats, err
	}
	var part encode.Region
	for region := from; region < to; region++ {
		m, err := sorter.Region(region)
		if err != nil {
			return stats, err
		}
		_, err = part.Encode(ctx, m, plan, sinks, nil)
		s.leaveOut(t, m.Duplicates())
		m.Close()
		if err != nil {
			return stats, err
		}
	}
	if part.Digest.Rows == 0 {
		return stats, nil
	}
	for _, sink := range sinks {
		if sink.Rows == 0 {
			continue
		}
		one, err := sink.Finish()
		if err != nil {
			return stats, err
		}
		stats.Cells, stats.Bytes = stats.Cells+one.Cells, stats.Bytes+one.Bytes
	}
	return stats, nil
}

// unnamed is a file without a name. It disappears when it is closed.
type unnamed struct{ *os.File }

func newNameless(dir string) (unnamed, error) {
	f, err := durable.Nameless(dir, "bulkload-plan-*")
	return unnamed{f}, fail.With(fail.Config, err)
}

// Finish makes the file durable, as a real one would be, and closes it.
func (n unnamed) Finish() error { return errors.Join(n.Sync(), n.Close()) }

// Abort closes the file.
func (n unnamed) Abort() error { return n.Close() }

// part returns the first region of a worker. Each worker gets about the same number of rows.
func (s *Sample) part(worker int) int {
	want, sum := s.stored*int64(worker)/int64(s.Options.Workers), int64(0)
	for i, rows := range s.regions {
		if sum >= want {
			return i
		}
		sum += rows
	}
	return len(s.regions)
}
