package extsort

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"unsafe"

	"bulkload/pkg/setting"

	"golang.org/x/sys/unix"
)

// losses collects the rows that merges leave out as duplicates, in any order and possibly more than once. When they exceed their share of
// the memory, they move to a file. It is safe for concurrent use.
type losses[T comparable] struct {
	dir     string
	most    int // maximum number in memory
	disk    *quota
	compare func(a, b T) int

	mu     sync.Mutex
	held   []T
	file   *os.File // unlinked; nil if all are in held
	onDisk int64
	mapped []byte // the file, sorted
	set    []T    // all of them, deduplicated and sorted; set by seal
}

// lostRecords holds the sequence numbers of records whose row in the leading regions is left out: their rows in following
// regions are left out too.
type lostRecords = losses[uint64]

// A Displaced holds the sequence numbers of a record whose row was left out and of the record that has its key instead.
type Displaced struct{ Seq, By uint64 }

func (d Displaced) compare(o Displaced) int {
	return cmp.Or(cmp.Compare(d.Seq, o.Seq), cmp.Compare(d.By, o.By))
}

const (
	seqSize       = 8
	displacedSize = 2 * seqSize
)

// lostShare is a divisor: lost records may use Memory/lostShare, and so may all lists of displaced records together.
const lostShare = 32

// lostMemory returns the number of bytes that lost records may use.
func (o Options) lostMemory() int64 {
	if o.Follows == nil {
		return 0
	}
	return o.Memory / lostShare
}

// displacedMemory returns the number of bytes that each list of displaced records may use, and the number of lists.
func (o Options) displacedMemory() (each int64, lists int) {
	for _, list := range o.Displaced {
		lists = max(lists, list+1)
	}
	return o.Memory / lostShare / int64(max(lists, 1)), lists
}

func (l *losses[T]) add(some ...T) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held = append(l.held, some...); len(l.held) < l.most {
		return nil
	}
	return l.spill()
}

// spill writes the losses in memory to the file.
func (l *losses[T]) spill() (err error) {
	if len(l.held) == 0 {
		return nil
	}
	if l.file == nil {
		if l.file, err = os.CreateTemp(l.dir, lostName+"*"); err != nil {
			return fmt.Errorf("create a file for duplicates that are left out: %w", err)
		}
		if err := os.Remove(l.file.Name()); err != nil {
			return err
		}
	}
	b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(l.held))), len(l.held)*int(unsafe.Sizeof(l.held[0])))
	if err := l.disk.take(int64(len(b)), 0, 0); err != nil {
		return err
	}
	l.onDisk += int64(len(b))
	if _, err := l.file.Write(b); err != nil {
		return fmt.Errorf("write duplicates that are left out: %w", err)
	}
	l.held = l.held[:0]
	return nil
}

// seal sorts the losses and sets l.set. Nothing may be added afterwards.
func (l *losses[T]) seal() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.held
	if l.file != nil {
		if err := l.spill(); err != nil {
			return err
		}
		if l.mapped == nil {
			// The kernel can write these pages back when it needs memory, so they do not count against the budget.
			b, err := unix.Mmap(int(l.file.Fd()), 0, int(l.onDisk), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			if err != nil {
				return fmt.Errorf("map %d bytes of duplicates that are left out: %w", l.onDisk, err)
			}
			l.mapped = b
		}
		all = unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(l.mapped))), len(l.mapped)/int(unsafe.Sizeof(*new(T))))
	}
	slices.SortFunc(all, l.compare)
	l.set = slices.Compact(all)
	return nil
}

// isLost reports whether a record is in l. Several goroutines may call it after seal.
func isLost(l *lostRecords, seq uint64) bool {
	_, found := slices.BinarySearch(l.set, seq)
	return found
}

func (l *losses[T]) close() error {
	var errs []error
	if l.mapped != nil {
		errs = append(errs, unix.Munmap(l.mapped))
	}
	if l.file != nil {
		errs = append(errs, l.file.Close())
		l.disk.give(l.onDisk)
	}
	l.file, l.mapped, l.set, l.held, l.onDisk = nil, nil, nil, nil, 0
	return errors.Join(errs...)
}

// SealLost makes the lost records known to the merges of the regions that follow. It must be called after the merges of the leading regions
// and before those.
func (s *Sorter) SealLost() error {
	if s.lost == nil {
		return nil
	}
	return s.lost.seal()
}

// displace records which of the current row and the least cursor's row is left out.
func (m *Merge) displace(c *cursor) error {
	d := Displaced{c.seq(), m.current.seq()}
	if m.replaces(c) {
		d = Displaced{d.By, d.Seq}
	}
	m.pairs = append(m.pairs, d)
	return flush(m.displaced, &m.pairs, lostAtOnce)
}

// Displaced returns a list of [Options].Displaced sorted by the records that were left out, each with the record that was kept for its key. It must
// be called once, after all merges. The list is valid until the sort is closed.
func (s *Sorter) Displaced(list int) ([]Displaced, error) {
	if list < 0 || list >= len(s.displaced) {
		return nil, fmt.Errorf("list %d does not exist: the sort has %s of displaced records", list, setting.Count(len(s.displaced), "list"))
	}
	l := s.displaced[list]
	if err := l.seal(); err != nil {
		return nil, err
	}
	// With KeepLast, a merge records the next row of the key in By, although that row may be left out later too. The loop goes from the last entry to
	// the first, so the By of a later entry is already the record that is kept.
	for i := len(l.set) - 1; i >= 0; i-- {
		d := &l.set[i]
		if d.By < d.Seq {
			continue
		}
		later := l.set[i+1:]
		if at, found := slices.BinarySearchFunc(later, d.By, func(d Displaced, seq uint64) int { return cmp.Compare(d.Seq, seq) }); found {
			d.By = later[at].By
		}
	}
	return l.set, nil
}
