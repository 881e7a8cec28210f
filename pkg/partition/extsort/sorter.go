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

// Policies. In input order "first" is the one that was read first.
const (
	Fail Policy = iota // a second row of a key is a [DuplicateError]
	KeepFirst
	KeepLast
	KeepAll // all are given, one after the other
)

// ParsePolicy reads fail, first, last or versions, which keeps all rows for what is made of them; an empty name is fail.
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

// A DuplicateError is about a key that two rows have. Its message does not have the key, which is data.
type DuplicateError struct {
	Key           []byte // the error's own
	First, Second uint64 // sequence numbers, the lower first
}

// Data returns the key, for callers that may show it.
func (e *DuplicateError) Data() []byte { return e.Key }

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("two rows have the same key, of %s", setting.Count(len(e.Key), "byte"))
}

// ErrMemory is wrapped when a row or the number of runs asks for more than
// the budget has.
var ErrMemory = errors.New("memory budget too small")

// MinMemory is the least budget of a worker's arena.
const MinMemory = 1 << 20

// Options of a [Sorter].
type Options struct {
	Regions    int    // at least 1
	Shared     []int  // for each region, leading bytes that all its keys share; nil: none
	Workers    int    // writers, default 1
	Memory     int64  // bytes for the arenas of all writers, later for merging; default 256 MiB
	Dir        string // for runs, default the system's temporary directory
	Duplicates Policy
	// Policies has the policy of each region, if they differ. Default: Duplicates for all regions.
	Policies []Policy
	// Leading and Follows are for rows of one record, which share its sequence number: where its row in one of the first Leading
	// regions is left out as a duplicate, a merge of a region that follows leaves its row out, too.
	// Follows has an entry for each region; nil: none follows.
	Leading int
	Follows []bool
	// Displaced has for each region the number of the list, from 0 on, that gets what its merges leave out as duplicates, by [KeepFirst] or
	// [KeepLast]: see [Sorter.Displaced]. A record has one row at most in the regions of a list. nil: there is none.
	Displaced []int
	// Keep leaves the runs in Dir, under names, when the sort is closed or the process ends: [Reopen] takes them up again.
	Keep bool
	// Limit is how many bytes of runs may be in Dir at a time; more is a [LimitError]. Default: no limit.
	Limit int64
	// OnSpill is called after each run, by the writer that spilled: rows and bytes on disk.
	OnSpill func(rows, bytes int64)
}

func (o Options) withDefaults() Options {
	if o.Workers == 0 {
		o.Workers = 1
	}
	if o.Memory == 0 {
		o.Memory = 256 << 20
	}
	if o.Dir == "" {
		o.Dir = os.TempDir()
	}
	return o
}

// Stats of a sort.
type Stats struct {
	Rows       int64 // added, duplicates included
	Runs       int64 // spilled, those that merging made included
	SpillBytes int64 // written to disk, packed
}

// A Sorter sorts rows of all regions. Writers fill it concurrently; after
// Finish any number of regions can be read concurrently.
type Sorter struct {
	o       Options
	sorting sorting
	share   int // arena bytes of a writer

	mu      sync.Mutex
	writers []*Writer
	runs    []*run
	spare   []buffers // of merges that are closed
	stats   Stats
	done    bool

	disk quota
	lost *lostRecords // nil: no region follows

	displaced []*losses[Displaced] // lists
}

// New prepares a sort. It touches neither disk nor memory to speak of. A budget
// of less than [MinMemory] for each worker is [ErrMemory].
func New(o Options) (*Sorter, error) {
	if o.Regions < 1 {
		return nil, fmt.Errorf("a sort needs at least one region, not %d", o.Regions)
	}
	if o.Shared != nil && len(o.Shared) != o.Regions {
		return nil, fmt.Errorf("shared prefixes of %s for %s", setting.Count(len(o.Shared), "region"), setting.Count(o.Regions, "region"))
	}
	if o.Follows != nil && len(o.Follows) != o.Regions {
		return nil, fmt.Errorf("it is said of %d regions whether they follow, of %d", len(o.Follows), o.Regions)
	}
	if o.Displaced != nil && len(o.Displaced) != o.Regions {
		return nil, fmt.Errorf("lists of what is displaced in %s for %s", setting.Count(len(o.Displaced), "region"), setting.Count(o.Regions, "region"))
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
	s := &Sorter{o: o, sorting: newSorting(o.Regions, o.Shared), share: int(min(share, math.MaxUint32)), disk: quota{limit: o.Limit}}
	if o.Follows != nil {
		s.lost = &lostRecords{dir: o.Dir, most: int(most / seqSize), disk: &s.disk, compare: cmp.Compare[uint64]}
	}
	for range lists {
		s.displaced = append(s.displaced, &losses[Displaced]{dir: o.Dir, most: int(each / displacedSize), disk: &s.disk, compare: Displaced.compare})
	}
	return s, nil
}

// A Writer takes rows from one worker; it is not safe for concurrent use.
type Writer struct {
	s          *Sorter
	a          *arena
	rows       int64
	lastSeq    uint64
	lastRegion int

	payload uint32 // of the row that Add has added last, its place in the arena; 0: it is not there any more
	size    int
	added   []added // to each region, spilled rows included
}

// added counts the rows that were added to a region, and their bytes as [Sorter.Size] counts them.
type added struct{ rows, bytes int64 }

func (a *added) row(key []byte, payload int) {
	a.rows++
	a.bytes += int64(recordHeader + len(key) + payload)
}

// Writer gives a further worker its writer, at most Options.Workers in all.
func (s *Sorter) Writer() (*Writer, error) {
	a, err := newArena(s.share)
	if err != nil {
		return nil, err
	}
	w := &Writer{s: s, a: a, added: make([]added, s.o.Regions)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.writers) >= s.o.Workers {
		return nil, errors.Join(fmt.Errorf("more writers than the %s", setting.Count(s.o.Workers, "worker")), a.release())
	}
	s.writers = append(s.writers, w)
	return w, nil
}

// Add adds a row and gives the room for its payload, which the caller fills
// before the next call. Sequence numbers rise from call to call of one
// writer; rows of one number, which a record has in several tables, go to
// regions that rise. No two rows of a region share one. The key is copied.
//
// A row that does not fit into a worker's share of the memory is [ErrMemory], a
// disk that is used up [*LimitError] or the system's error. The sort is then to
// be closed.
func (w *Writer) Add(region int, seq uint64, key []byte, payload int) ([]byte, error) {
	if err := w.inOrder(region, seq); err != nil {
		return nil, err
	}
	if !w.a.room(len(key) + payload) {
		if err := w.Spill(); err != nil {
			return nil, err
		}
		if !w.a.room(len(key) + payload) {
			return nil, setting.Errorf("%w: a row of %s does not fit in the %s of a worker (give more with %s, or fewer %s)",
				ErrMemory, setting.Count(len(key)+payload, "byte"), setting.Count(w.a.limit, "byte"), setting.Memory, setting.Workers)
		}
	}
	w.lastSeq, w.lastRegion = seq, region
	w.rows++
	dst := w.a.add(w.s.sorting.value(region, key), seq, key, payload)
	w.payload, w.size = uint32(w.a.n-payload), payload
	w.added[region].row(key, payload)
	return dst, nil
}

// AddShared adds a row with the payload that the row added last by [Writer.Add] has, of the same sequence number: the payload
// is held once. With false it has added nothing, since that row is not in memory any more or there is no room: the row is for Add.
func (w *Writer) AddShared(region int, seq uint64, key []byte) (bool, error) {
	if w.payload == 0 || seq != w.lastSeq || !w.a.room(len(key)) {
		return false, nil
	}
	if err := w.inOrder(region, seq); err != nil {
		return false, err
	}
	w.lastRegion = region
	w.rows++
	w.a.addShared(w.s.sorting.value(region, key), seq, key, w.payload, w.size)
	w.added[region].row(key, w.size)
	return true, nil
}

// inOrder refuses a row that does not follow the last one.
func (w *Writer) inOrder(region int, seq uint64) error {
	if w.rows > 0 && seq <= w.lastSeq && (seq < w.lastSeq || region <= w.lastRegion) {
		return fmt.Errorf("sequence number %d after %d", seq, w.lastSeq)
	}
	return nil
}

// Finish ends the filling: all writers are done. If anything was spilled,
// the rest is too, so that merging has the budget for itself. It sorts and
// spills with one goroutine for each writer.
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
				w.a.sortEntries()
				return
			}
			errs[i] = errors.Join(w.Spill(), w.a.release())
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return s.reduceRuns()
}

// Regions returns how many there are, those without rows included.
func (s *Sorter) Regions() int { return s.o.Regions }

// Stats may be asked for after Finish.
func (s *Sorter) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// Close gives memory and disk back, but for runs of a sort with Keep. No region
// may be in use. A second call does nothing.
func (s *Sorter) Close() error {
	var errs []error
	for _, w := range s.writers {
		errs = append(errs, w.a.release())
	}
	for _, r := range s.runs {
		errs = append(errs, r.close())
	}
	s.writers, s.runs = nil, nil
	if s.lost != nil {
		errs = append(errs, s.lost.close())
	}
	for _, l := range s.displaced {
		errs = append(errs, l.close())
	}
	return errors.Join(errs...)
}
