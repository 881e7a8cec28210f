package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"bulkload/internal/base/workers"
	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/engine/status"
)

// Options select the jobs of a [Place], and the allowed actions.
type Options struct {
	// Name is the displayed name of the place: a directory, or hbase:TABLE. Required.
	Name string
	// Current brings the directory of all jobs' state up to date, as status does, and returns it. Required.
	Current func(ctx context.Context) (dir string, err error)
	// Control allows actions of authorized clients. Default: no actions.
	Control bool
	// Clean lists the files that clean would remove for a job, or removes them. Default: nothing is removed.
	Clean func(ctx context.Context, job string, remove bool) (*checkpoint.Cleaning, error)
	// Words changes the errors of a state to the words of the command line. Default: they stay unchanged.
	Words func(*status.State)
	// Every is the time for which read data count as current. Default 2 s.
	Every time.Duration
	// Patience is the time that a page waits for the place before it shows the last known data. Default 1 s.
	Patience time.Duration
}

// Limits of reading.
const (
	slow    = 10 * time.Second // a place that does not answer for this time is out of reach
	giveUp  = time.Minute      // limit of a read of a cluster
	maxJobs = 5000             // number of jobs that are kept and shown: the newest ones
	maxFile = 32 << 20         // bytes of a report
)

// Place is the directory or table with the state of jobs. It is safe for concurrent use.
type Place struct {
	options Options
	cache   status.Cache // used by the current read

	mu      sync.Mutex
	view    View
	reading chan struct{} // closed at the end of the current read; nil: there is none
	began   time.Time     // start of the last read
}

// View is the last known state of a place.
type View struct {
	Name string
	Jobs []*status.State // running jobs first, then the newest; read-only
	More int             // number of older jobs that are left out
	Seen time.Time       // time of the read; zero: never
	Away time.Time       // time since which the place is out of reach; zero: it is in reach
	Why  string          // reason why it is out of reach
}

// New returns a place. It reads nothing yet.
func New(o Options) *Place {
	o.Every = cmp.Or(o.Every, 2*time.Second)
	o.Patience = cmp.Or(o.Patience, time.Second)
	return &Place{options: o, view: View{Name: o.Name}, cache: status.Cache{Words: o.Words}}
}

// Control reports whether authorized clients can act on jobs here.
func (p *Place) Control() bool { return p.options.Control }

// Look returns the current jobs, or the last known ones if the place does not answer soon. Concurrent callers wait for the same read.
func (p *Place) Look(ctx context.Context) View {
	p.mu.Lock()
	if p.reading == nil && time.Since(p.began) >= p.options.Every {
		p.reading, p.began = make(chan struct{}), time.Now()
		go p.read(p.reading) // a read that hangs in the kernel cannot be interrupted
	}
	reading := p.reading
	patience := p.options.Patience
	if p.view.Seen.IsZero() {
		patience *= 3
	}
	p.mu.Unlock()
	if reading != nil {
		wait, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		select {
		case <-reading:
		case <-wait.Done():
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	v := p.view
	if p.reading != nil && v.Away.IsZero() && (v.Seen.IsZero() || time.Since(p.began) > slow) {
		v.Away, v.Why = p.began, "it has not answered"
	}
	return v
}

func (p *Place) read(done chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), giveUp)
	defer cancel()
	began := time.Now()
	dir, err := p.options.Current(ctx)
	var jobs []*status.State
	if err == nil {
		_, err = os.Stat(dir) // a missing directory would appear to have no jobs
	}
	if err == nil {
		jobs, err = p.cache.ReadAll(dir)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	defer close(done)
	p.reading = nil
	if err != nil {
		if p.view.Why = err.Error(); p.view.Away.IsZero() {
			p.view.Away = began
		}
		return
	}
	more := max(0, len(jobs)-maxJobs)
	p.view = View{Name: p.options.Name, Jobs: sorted(jobs[:len(jobs)-more]), More: more, Seen: time.Now()}
}

// sorted puts running jobs first, in an order that does not change while they run.
func sorted(jobs []*status.State) []*status.State {
	jobs = slices.Clone(jobs)
	slices.SortStableFunc(jobs, func(a, b *status.State) int {
		runs, others := a.State == history.JobRunning, b.State == history.JobRunning
		switch {
		case runs && others:
			return b.Began.Compare(a.Began)
		case runs:
			return -1
		case others:
			return 1
		}
		return 0
	})
	return jobs
}

// Job returns the job of a name with its details, or nil if there is none. While the place is out of reach, it
// returns the last known state.
func (p *Place) Job(ctx context.Context, name string) (*status.State, View) {
	v := p.Look(ctx)
	i := slices.IndexFunc(v.Jobs, func(s *status.State) bool { return s.Job == name })
	if i < 0 {
		return nil, v
	}
	s := v.Jobs[i]
	if !v.Away.IsZero() {
		return s, v
	}
	now, err := patiently(ctx, p.options.Patience, func() (*status.State, error) { return status.Read(s.Dir) })
	if err != nil {
		return s, v
	}
	if p.options.Words != nil {
		p.options.Words(now)
	}
	return now, v
}

// ErrNoReport says that a job has no report: it is of a kind that never has one, or its report is elsewhere.
var ErrNoReport = errors.New("the job has no report on this host")

// Report returns the report of a job.
func (p *Place) Report(ctx context.Context, s *status.State) ([]byte, error) {
	if s.Report == "" {
		return nil, ErrNoReport
	}
	return patiently(ctx, p.options.Patience, func() ([]byte, error) {
		f, err := os.Open(filepath.Join(s.Dir, filepath.Base(s.Report)))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
		if err == nil && len(b) > maxFile {
			err = fmt.Errorf("it is larger than %d bytes", maxFile)
		}
		return b, err
	})
}

// patiently calls a function that may hang, and abandons it after the given time.
func patiently[T any](ctx context.Context, patience time.Duration, do func() (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("the place of the jobs' state does not answer"))
	defer cancel()
	return workers.Await(ctx, do)
}
