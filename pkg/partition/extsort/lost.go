package extsort

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// losses records the duplicates that merges leave out, in any order and possibly more than once. Beyond a share of the memory they are in a
// file. Safe for concurrent use.
type losses[T comparable] struct {
	dir     string
	most    int // in memory
	disk    *quota
	compare func(a, b T) int

	mu     sync.Mutex
	held   []T
	file   *os.File // has no name; nil: all are held
	onDisk int64
	mapped []byte // the file, sorted
	set    []T    // all of them, each once, in order
}

// lostRecords are the sequence numbers of records whose row in the leading regions is not kept: the rows that they have in
// following regions are left out.
type lostRecords = losses[uint64]

// A Displaced is a record whose row was left out because another has its key, with the sequence numbers of both.
type Displaced struct{ Seq, By uint64 }

func (d Displaced) compare(o Displaced) int {
	return cmp.Or(cmp.Compare(d.Seq, o.Seq), cmp.Compare(d.By, o.By))
}

const (
	seqSize       = 8
	displacedSize = 2 * seqSize
)

// lostShare is which part of the memory lost records may take, and likewise the lists of displaced ones together.
const lostShare = 32

// lostMemory returns how many bytes of the memory lost records may take.
func (o Options) lostMemory() int64 {
	if o.Follows == nil {
		return 0
	}
	return o.Memory / lostShare
}

// displacedMemory returns how many bytes of the memory each list of displaced records may take, and how many lists there are.
func (o Options) displacedMemory() (each int64, lists int) {
	for _, list := range o.Displaced {
		lists = max(lists, list+1)
	}
	return o.Memory / lostShare / int64(max(lists, 1)), lists
}

// add notes some.
func (l *losses[T]) add(some ...T) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held = append(l.held, some...); len(l.held) < l.most {
		return nil
	}
	return l.spill()
}

// spill writes what is in memory to the file.
func (l *losses[T]) spill() (err error) {
	if len(l.held) == 0 {
		return nil
	}
	if l.file == nil {
		if l.file, err = os.CreateTemp(l.dir, "bulkload-lost-*"); err != nil {
			return fmt.Errorf("file for records that lost against others: %w", err)
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
		return fmt.Errorf("write records that lost against others: %w", err)
	}
	l.held = l.held[:0]
	return nil
}

// seal ends the adding: the set is there then.
func (l *losses[T]) seal() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.held
	if l.file != nil {
		if err := l.spill(); err != nil {
			return err
		}
		if l.mapped == nil {
			// The kernel writes pages back when it needs the memory, so they are not of the budget.
			b, err := unix.Mmap(int(l.file.Fd()), 0, int(l.onDisk), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			if err != nil {
				return fmt.Errorf("map %d bytes of records that lost against others: %w", l.onDisk, err)
			}
			l.mapped = b
		}
		all = unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(l.mapped))), len(l.mapped)/int(unsafe.Sizeof(*new(T))))
	}
	slices.SortFunc(all, l.compare)
	l.set = slices.Compact(all)
	return nil
}

// isLost reports whether a record is one of them. It is asked by several goroutines, after seal.
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

// SealLost is called between the merges of the leading regions and those of the regions that follow.
func (s *Sorter) SealLost() error {
	if s.lost == nil {
		return nil
	}
	return s.lost.seal()
}

// displace notes what the decision between the row that is shown and that of the least cursor leaves out.
func (m *Merge) displace(c *cursor) error {
	d := Displaced{c.seq(), m.current.seq()}
	if m.policy == KeepLast {
		d = Displaced{d.By, d.Seq}
	}
	m.pairs = append(m.pairs, d)
	return m.giveDisplaced(lostAtOnce)
}

// giveDisplaced gives what is left out, if it is more than that.
func (m *Merge) giveDisplaced(more int) error {
	if len(m.pairs) <= more {
		return nil
	}
	err := m.displaced.add(m.pairs...)
	m.pairs = m.pairs[:0]
	return err
}

// Displaced is called once, after all merges. It returns a list of [Options].Displaced in the order of what lost, each with the record of its key that
// was kept. The list is valid until the sort is closed.
func (s *Sorter) Displaced(list int) ([]Displaced, error) {
	l := s.displaced[list]
	if err := l.seal(); err != nil {
		return nil, err
	}
	// A merge notes what follows in its key, which may have lost, too. What keeps the last of a key is found from the last one on.
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
