package job

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"bulkload/internal/workers"
	"bulkload/pkg/fail"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/progress"
	"bulkload/pkg/source"
)

const (
	// fileOverhead is what an HFile has beside its blocks: trailer, file info,
	// the root index, a bloom chunk that is not full.
	fileOverhead = 4 << 10
	// samplePlaces is from how many places it is taken.
	samplePlaces = 24
	// sampleRun is how much a worker reads for a run, if the build would spill.
	sampleRun = 4 << 20
	// probeText is read first, to see whether the build would spill.
	probeText = 1 << 20
)

// sampleBuild is a build of a part of the input, by the real one's readers,
// sort and encoders, into files without names.
type sampleBuild struct {
	plan   *Plan
	in     *source.Input
	o      BuildOptions
	extent source.Extent
	sample int64           // bytes to read
	full   extsort.Options // of the real build

	sampleCounts
	total    int64   // rows of the whole input
	bytes    int64   // of rows in the sort
	stored   int64   // rows in the sort
	regions  []int64 // and of each region
	forecast extsort.Forecast
	spilled  int64 // bytes on disk
	sorting  time.Duration

	mu    sync.Mutex
	cells int64
	out   int64         // bytes of HFiles
	write time.Duration // of all workers together
	file  time.Duration // what a file takes beside its bytes
}

// sampleCounts is what was read.
type sampleCounts struct {
	places  int
	rows    int64
	parquet int64         // rows of Parquet among them
	text    int64         // bytes of the others
	value   int64         // bytes of all
	timed   int64         // rows behind the first batch of their place
	read    time.Duration // those took, of all workers together
	spill   time.Duration // sorting and writing runs, of all workers together
}

// errEnough ends the reading of a split of which no more is wanted.
var errEnough = errors.New("enough of the split was read")

func (s *sampleBuild) run(ctx context.Context) error {
	// A first look, which also touches what the workers need, tells how much
	// there is to sort.
	if err := s.pass(ctx, min(probeText, s.sample), false); err != nil || s.rows == 0 {
		return err
	}
	if err := s.pass(ctx, s.sample, s.forecast.Spills); err != nil {
		return err
	}
	return s.timeFile()
}

// timeFile sees what a small file takes: to be made, and made durable.
func (s *sampleBuild) timeFile() error {
	start := time.Now()
	f, err := newNameless(s.o.SpillDir)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, fileOverhead))
	err = errors.Join(err, f.Finish())
	s.file = time.Since(start)
	return err
}

// pass reads about so much of the input, sorts and encodes it.
func (s *sampleBuild) pass(ctx context.Context, text int64, spill bool) (err error) {
	o := s.plan.sortOptions(s.o)
	o.Memory = max(s.full.Memory, 4*text+int64(s.o.Workers)*extsort.MinMemory)
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
	s.sorting = time.Since(start)
	s.spilled = sorter.Stats().SpillBytes
	s.countSorted(sorter)
	s.total = s.extent.Rows
	if s.text > 0 {
		s.total += int64(float64(s.extent.Text) * float64(s.rows-s.parquet) / float64(s.text))
	}
	s.foresee()
	return s.encode(ctx, sorter)
}

// foresee forecasts the sort of all rows.
func (s *sampleBuild) foresee() {
	if s.stored > 0 {
		s.forecast = s.full.Forecast(s.total, int64(float64(s.bytes)/float64(s.stored)*float64(s.total)))
	}
}

// readParts reads runs of splits that lie evenly over the input.
func (s *sampleBuild) readParts(ctx context.Context, sorter *extsort.Sorter, text int64, spill bool) error {
	s.sampleCounts = sampleCounts{}
	splits := len(s.in.Splits())
	s.places = min(splits, samplePlaces)
	if s.places == 0 {
		return nil
	}
	s.o.Budget.Reset()
	limit := text / int64(s.places)
	r := &readers{plan: s.plan, in: s.in, sort: sorter, budget: s.o.Budget, events: progress.Events{OnSpill: s.o.Events.OnSpill}}
	var next atomic.Int64
	return workers.Run(ctx, s.o.Workers, func(ctx context.Context, _ int) error {
		w, err := r.newWorker()
		if err != nil {
			return err
		}
		c := sampleCounts{}
		since := int64(0)
		for i := int(next.Add(1) - 1); i < s.places && ctx.Err() == nil; i = int(next.Add(1) - 1) {
			n, err := s.readPart(ctx, w, i*splits/s.places, (i+1)*splits/s.places, limit, &c)
			if err != nil {
				return err
			}
			if since += n; spill && since >= min(sampleRun, text/int64(s.o.Workers)) {
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

// add joins what another worker read.
func (c *sampleCounts) add(d sampleCounts) {
	c.rows += d.rows
	c.parquet += d.parquet
	c.text += d.text
	c.value += d.value
	c.timed += d.timed
	c.read += d.read
	c.spill += d.spill
}

func (c *sampleCounts) spillRun(w *readWorker) error {
	start := time.Now()
	err := w.out.Spill()
	c.spill += time.Since(start)
	return err
}

// readPart reads splits up to so many bytes. The first batch is not timed:
// opening files and row groups is little of a build's split, and much of this.
func (s *sampleBuild) readPart(ctx context.Context, w *readWorker, from, to int, limit int64, c *sampleCounts) (n int64, err error) {
	for split := from; split < to && n < limit && err == nil; split++ {
		parquet := s.in.Files()[s.in.Splits()[split].File].Format == source.FormatParquet
		last := time.Time{}
		err = w.reader.Read(ctx, split, func(b *source.Batch) error {
			n += b.Bytes
			c.rows += int64(b.Rows)
			if parquet {
				c.parquet += int64(b.Rows)
			} else {
				c.text += b.Bytes
			}
			if err := w.batch(b); err != nil {
				return err
			}
			now := time.Now()
			if !last.IsZero() {
				c.timed += int64(b.Rows)
				c.read += now.Sub(last)
			}
			last = now
			if n >= limit {
				return errEnough
			}
			return nil
		})
	}
	c.value += n
	if errors.Is(err, errEnough) {
		err = nil
	}
	return n, err
}

// countSorted sees what is in the sort.
func (s *sampleBuild) countSorted(sorter *extsort.Sorter) {
	s.bytes, s.stored, s.regions = 0, 0, make([]int64, s.plan.Ranges.Len())
	for i := range s.regions {
		rows, bytes := sorter.Size(i)
		s.regions[i] = rows
		s.stored += rows
		s.bytes += bytes
	}
}

// encode writes HFiles into the spill directory, one for each worker, since a
// file for the few rows of every region would mostly be its beginning and end.
func (s *sampleBuild) encode(ctx context.Context, sorter *extsort.Sorter) error {
	s.cells, s.out, s.write = 0, 0, 0
	return workers.Run(ctx, s.o.Workers, func(ctx context.Context, worker int) error {
		from, to := s.part(worker), s.part(worker+1)
		if from == to {
			return nil
		}
		start := time.Now()
		stats, err := s.encodePart(ctx, sorter, from, to)
		if err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.cells, s.out, s.write = s.cells+stats.Cells, s.out+stats.Bytes, s.write+time.Since(start)
		return nil
	})
}

// encodePart writes one file for each family of the rows of some regions.
func (s *sampleBuild) encodePart(ctx context.Context, sorter *extsort.Sorter, from, to int) (stats hfile.Stats, err error) {
	var outs []*hdfsio.Overlapped
	for range s.plan.Families {
		sink, err := newNameless(s.o.SpillDir)
		if err != nil {
			return stats, err
		}
		defer func() { err = errors.Join(err, sink.Finish()) }()
		o := hdfsio.NewOverlapped(sink, nil)
		defer func() { err = errors.Join(err, o.Drain()) }()
		outs = append(outs, o)
	}
	sinks, err := s.plan.newSinks(func(i int) io.Writer { return outs[i] })
	if err != nil {
		return stats, err
	}
	var part regionPart
	for region := from; region < to; region++ {
		m, err := sorter.Region(region)
		if err != nil {
			return stats, err
		}
		err = part.encode(ctx, m, s.plan, sinks)
		m.Close()
		if err != nil {
			return stats, err
		}
	}
	if part.digest.Rows == 0 {
		return stats, nil
	}
	for _, sink := range sinks {
		if sink.rows == 0 {
			continue
		}
		one, err := sink.hfile.Finish()
		if err != nil {
			return stats, err
		}
		stats.Cells, stats.Bytes = stats.Cells+one.Cells, stats.Bytes+one.Bytes
	}
	return stats, nil
}

// nameless is a file that is gone when it is closed.
type nameless struct{ *os.File }

func newNameless(dir string) (nameless, error) {
	f, err := os.CreateTemp(dir, "bulkload-plan-*")
	if err != nil {
		return nameless{}, fail.With(fail.Config, err)
	}
	if err := os.Remove(f.Name()); err != nil {
		return nameless{}, errors.Join(err, f.Close())
	}
	return nameless{f}, nil
}

// Finish makes the file durable, since a real one would be, and lets it go.
func (n nameless) Finish() error { return errors.Join(n.Sync(), n.Close()) }

// Abort lets the file go.
func (n nameless) Abort() error { return n.Close() }

// part is the first region of a worker: about as many rows for each.
func (s *sampleBuild) part(worker int) int {
	want, sum := s.stored*int64(worker)/int64(s.o.Workers), int64(0)
	for i, rows := range s.regions {
		if sum >= want {
			return i
		}
		sum += rows
	}
	return len(s.regions)
}
