package extsort

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"

	"bulkload/pkg/setting"
)

// Policy determines how rows with equal keys are handled.
type Policy uint8

// Policies. First and last refer to input order, among the rows with a payload if there are any.
const (
	Fail Policy = iota // a second row of a key is a [DuplicateError]
	KeepFirst
	KeepLast
	KeepAll // all are returned, one after the other
)

// ParsePolicy parses fail, first, last or versions, which keeps all rows of a key; an empty name means fail.
func ParsePolicy(s string) (Policy, error) {
	switch s {
	case "", "fail":
		return Fail, nil
	case "first":
		return KeepFirst, nil
	case "last":
		return KeepLast, nil
	case "versions":
		return KeepAll, nil
	}
	return 0, fmt.Errorf("duplicate policy %q is invalid: want fail, first, last or versions", s)
}

// A DuplicateError reports a key that two rows have. Its message omits the key, which is data.
type DuplicateError struct {
	Key           []byte // owned by the error
	First, Second uint64 // sequence numbers, the lower first; equal if a record collides with itself
}

// Data returns the key, for callers that may show it.
func (e *DuplicateError) Data() []byte { return e.Key }

func (e *DuplicateError) Error() string {
	if e.First == e.Second {
		return fmt.Sprintf("the row has a key of %s", setting.Count(len(e.Key), "byte"))
	}
	return fmt.Sprintf("two rows have the same key, of %s", setting.Count(len(e.Key), "byte"))
}

// ErrMemory is wrapped by errors about a row or a number of runs that needs
// more memory than the budget has.
var ErrMemory = errors.New("memory budget too small")

// ErrKey is wrapped by the error about a key of more than 65,535 bytes. HBase
// allows 32,767.
var ErrKey = errors.New("key too long to sort")

// MinMemory is the minimum budget of a worker's arena.
const MinMemory = 1 << 20

// Options are the options of a [Sorter].
type Options struct {
	Regions    int    // at least 1
	Shared     []int  // for each region, leading bytes that all its keys share; nil: none
	Workers    int    // writers, default 1
	Memory     int64  // bytes for the arenas of all writers, later for merging; default 256 MiB
	Dir        string // for runs, default the system's temporary directory
	Duplicates Policy
	// Policies holds the policy of each region, if regions have different ones. Default: Duplicates for all.
	Policies []Policy
	// Leading and Follows are for rows of one record, which share its sequence number. If a record's row in one of the first
	// Leading regions is left out as a duplicate, the merges of the regions marked in Follows leave its rows out too. Follows has
	// an entry for each region; nil: no region follows.
	Leading int
	Follows []bool
	// Displaced holds, for each region, the number of the list that records the duplicates that its merges leave out with [KeepFirst] or
	// [KeepLast]: see [Sorter.Displaced]. Numbers begin at 0. A record has at most one row in the regions of a list. nil: there are no lists.
	Displaced []int
	// Keep leaves the runs in Dir, under their names, when the sort is closed or the process ends: [Reopen] opens them again.
	Keep bool
	// Limit is the maximum number of bytes of runs in Dir at a time; more is a [LimitError]. Default: no limit.
	Limit int64
	// OnSpill is called by the spilling writer after each run, with its rows and bytes on disk.
	OnSpill func(rows, bytes int64)
}

func (o Options) withDefaults() Options {
	o.Workers = cmp.Or(o.Workers, 1)
	o.Memory = cmp.Or(o.Memory, 256<<20)
	o.Dir = cmp.Or(o.Dir, os.TempDir())
	return o
}

// Stats are the counters of a sort.
type Stats struct {
	Rows       int64 // added, including duplicates
	Runs       int64 // spilled, including runs from merges
	SpillBytes int64 // written to disk, compressed
}

// A Sorter sorts rows of all regions. Writers fill it concurrently. After
// Finish any number of regions can be read concurrently.
type Sorter struct {
	options Options
	sorting sorting
	share   int // arena bytes of a writer

	mu      sync.Mutex
	writers []*Writer
	runs    []*run
	spare   []buffers // of closed merges
	saved   []added   // to each region, in runs of an earlier sort
	held    int64     // bytes of sections in memory
	stats   Stats
	done    bool
	closed  bool

	disk quota
	lost *lostRecords // nil if no region follows

	displaced []*losses[Displaced] // by number of the list
}

// New returns a sort. It uses neither disk nor much memory yet. The error wraps
// [ErrMemory] if the budget is less than [MinMemory] for each worker, after the parts
// for the records of Follows and Displaced: at most a 32nd of the budget each.
func New(o Options) (*Sorter, error) {
	if o.Regions < 1 {
		return nil, fmt.Errorf("a sort needs at least one region, not %d", o.Regions)
	}
	if o.Shared != nil && len(o.Shared) != o.Regions {
		return nil, fmt.Errorf("shared prefixes of %s for %s", setting.Count(len(o.Shared), "region"), setting.Count(o.Regions, "region"))
	}
	if o.Follows != nil && len(o.Follows) != o.Regions {
		return nil, fmt.Errorf("option Follows has %d entries for %d regions", len(o.Follows), o.Regions)
	}
	if o.Displaced != nil && len(o.Displaced) != o.Regions {
		return nil, fmt.Errorf("option Displaced has lists of %s for %s", setting.Count(len(o.Displaced), "region"), setting.Count(o.Regions, "region"))
	}
	if o.Policies != nil && len(o.Policies) != o.Regions {
		return nil, fmt.Errorf("policies of %s for %s", setting.Count(len(o.Policies), "region"), setting.Count(o.Regions, "region"))
	}
	o = o.withDefaults()
	most := o.lostMemory()
	each, lists := o.displacedMemory()
	o.Memory -= most + int64(lists)*each
	share := o.Memory / int64(o.Workers)
	if share < MinMemory {
		return nil, fmt.Errorf("%w: %s for each of %s, %d are needed", ErrMemory, setting.Count(share, "byte"), setting.Count(o.Workers, "worker"), MinMemory)
	}
	s := &Sorter{options: o, sorting: newSorting(o.Regions, o.Shared), share: int(min(share, math.MaxUint32)), disk: quota{limit: o.Limit}}
	if o.Follows != nil {
		s.lost = &lostRecords{dir: o.Dir, most: int(most / seqSize), disk: &s.disk, compare: cmp.Compare[uint64]}
	}
	for range lists {
		s.displaced = append(s.displaced, &losses[Displaced]{dir: o.Dir, most: int(each / displacedSize), disk: &s.disk, compare: Displaced.compare})
	}
	return s, nil
}

// A Writer adds rows for one worker. It is not safe for concurrent use.
type Writer struct {
	sorter     *Sorter
	arena      *arena
	rows       int64
	lastSeq    uint64
	lastRegion int

	payload uint32 // position in the arena of the payload of the row added last by Add; 0 if it is no longer there
	size    int
	added   []added // to each region, including spilled rows
}

// added counts the rows added to a region, and their bytes as in [Sorter.Size].
type added struct{ rows, bytes int64 }

func (a *added) row(key []byte, payload int) {
	a.rows++
	a.bytes += int64(recordHeader + len(key) + payload)
}

// Writer returns a writer for another worker, at most Options.Workers in all.
func (s *Sorter) Writer() (*Writer, error) {
	a, err := newArena(s.share)
	if err != nil {
		return nil, err
	}
	w := &Writer{sorter: s, arena: a, added: make([]added, s.options.Regions)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done || s.closed {
		return nil, errors.Join(errFinished, a.release())
	}
	if len(s.writers) >= s.options.Workers {
		return nil, errors.Join(fmt.Errorf("more writers than the %s", setting.Count(s.options.Workers, "worker")), a.release())
	}
	s.writers = append(s.writers, w)
	return w, nil
}

// errFinished is the error of rows that come after Finish or Close.
var errFinished = errors.New("the sort is finished: it takes no more rows")

// Add adds a row and returns the room for its payload, which the caller must fill
// before the next call. Sequence numbers must rise from call to call of one
// writer. Rows with the same number, which a record has in several tables, must go
// to rising regions, so no two rows of a region share a number. The key is copied.
//
// The error wraps [ErrKey] if the key is too long, and [ErrMemory] if the row does
// not fit into a worker's share of the memory. If the disk is full it is a [*LimitError] or the system's error.
// The sort must then be closed.
func (w *Writer) Add(region int, seq uint64, key []byte, payload int) ([]byte, error) {
	if err := w.inOrder(region, seq); err != nil {
		return nil, err
	}
	if len(key) > math.MaxUint16 {
		return nil, errKey(key)
	}
	if payload < 0 {
		return nil, fmt.Errorf("a payload cannot have %d bytes", payload)
	}
	if !w.arena.room(len(key) + payload) {
		if w.sorter.done || w.sorter.closed { // their arenas have no room
			return nil, errFinished
		}
		if err := w.Spill(); err != nil {
			return nil, err
		}
		if !w.arena.room(len(key) + payload) {
			return nil, setting.Errorf("%w: a row of %s does not fit in the %s of a worker (give more with %s, or fewer %s)",
				ErrMemory, setting.Count(len(key)+payload, "byte"), setting.Count(w.arena.limit, "byte"), setting.Memory, setting.Workers)
		}
	}
	w.lastSeq, w.lastRegion = seq, region
	w.rows++
	dst := w.arena.add(w.sorter.sorting.value(region, key), seq, key, payload)
	w.payload, w.size = uint32(w.arena.n-payload), payload
	w.added[region].row(key, payload)
	return dst, nil
}

// AddShared adds a row that shares the payload of the row added last by [Writer.Add], which must have the same sequence number. The payload
// is stored once. AddShared returns false and adds nothing if that row is no longer in memory or there is no room: use Add instead.
func (w *Writer) AddShared(region int, seq uint64, key []byte) (bool, error) {
	if w.payload == 0 || seq != w.lastSeq || !w.arena.room(len(key)) {
		return false, nil
	}
	if err := w.inOrder(region, seq); err != nil {
		return false, err
	}
	if len(key) > math.MaxUint16 {
		return false, errKey(key)
	}
	w.lastRegion = region
	w.rows++
	w.arena.addShared(w.sorter.sorting.value(region, key), seq, key, w.payload, w.size)
	w.added[region].row(key, w.size)
	return true, nil
}

func errKey(key []byte) error {
	return fmt.Errorf("%w: it has %s, and at most %d are possible", ErrKey, setting.Count(len(key), "byte"), math.MaxUint16)
}

// inOrder returns an error for a row of a region that does not exist, or that does not follow the last one.
func (w *Writer) inOrder(region int, seq uint64) error {
	if region < 0 || region >= w.sorter.options.Regions {
		return fmt.Errorf("region %d does not exist: the sort has %s", region, setting.Count(w.sorter.options.Regions, "region"))
	}
	if w.rows > 0 && seq <= w.lastSeq && (seq < w.lastSeq || region <= w.lastRegion) {
		return fmt.Errorf("sequence number %d after %d", seq, w.lastSeq)
	}
	return nil
}

// Finish ends the filling, after all writers are done. If anything was spilled,
// it spills the remaining rows too, so that merging has the whole budget. It
// sorts and spills with one goroutine per writer.
func (s *Sorter) Finish() error {
	if s.done {
		return errors.New("sort finished twice")
	}
	s.done = true
	spilled := len(s.runs) > 0
	errs := make([]error, len(s.writers))
	var wg sync.WaitGroup
	for i, w := range s.writers {
		s.stats.Rows += w.rows
		wg.Go(func() {
			if !spilled {
				w.arena.sortEntries()
				w.arena.limit = 0 // no more rows
				return
			}
			errs[i] = errors.Join(w.Spill(), w.arena.release())
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return s.reduceRuns()
}

// Regions returns the number of regions, including those without rows.
func (s *Sorter) Regions() int { return s.options.Regions }

// Stats returns the counters. It may be called after Finish.
func (s *Sorter) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// Close releases memory and disk space, except for runs of a sort with Keep. No
// region may be in use. A second call does nothing.
func (s *Sorter) Close() error {
	var errs []error
	for _, w := range s.writers {
		errs = append(errs, w.arena.release())
	}
	for _, r := range s.runs {
		errs = append(errs, r.close())
	}
	s.writers, s.runs, s.closed = nil, nil, true
	if s.lost != nil {
		errs = append(errs, s.lost.close())
	}
	for _, l := range s.displaced {
		errs = append(errs, l.close())
	}
	return errors.Join(errs...)
}
