package extsort

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// lostRecords are the sequence numbers of records whose row in the leading regions is not kept: the rows that they have in
// following regions are left out. Beyond a share of the memory they are in a file. Safe for concurrent use.
type lostRecords struct {
	dir  string
	most int // sequence numbers in memory
	disk *quota

	mu     sync.Mutex
	seqs   []uint64
	file   *os.File // has no name; nil: all are in seqs
	onDisk int64
	mapped []byte // the file, sorted
	set    []uint64
}

const seqSize = 8

// lostShare is which part of the memory lost records may take.
const lostShare = 32

// lostMemory returns how many bytes of the memory lost records may take.
func (o Options) lostMemory() int64 {
	if o.Follows == nil {
		return 0
	}
	return o.Memory / lostShare
}

// add notes records.
func (l *lostRecords) add(seqs ...uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seqs = append(l.seqs, seqs...); len(l.seqs) < l.most {
		return nil
	}
	return l.spill()
}

// spill writes what is in memory to the file.
func (l *lostRecords) spill() (err error) {
	if len(l.seqs) == 0 {
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
	b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(l.seqs))), len(l.seqs)*seqSize)
	if err := l.disk.take(int64(len(b)), 0, 0); err != nil {
		return err
	}
	l.onDisk += int64(len(b))
	if _, err := l.file.Write(b); err != nil {
		return fmt.Errorf("write records that lost against others: %w", err)
	}
	l.seqs = l.seqs[:0]
	return nil
}

// seal ends the adding: has may be asked then.
func (l *lostRecords) seal() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.seqs
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
		all = unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(l.mapped))), len(l.mapped)/seqSize)
	}
	slices.Sort(all)
	l.set = slices.Compact(all)
	return nil
}

// has reports whether a record is one of them. It is asked by several goroutines, after seal.
func (l *lostRecords) has(seq uint64) bool {
	_, found := slices.BinarySearch(l.set, seq)
	return found
}

func (l *lostRecords) close() error {
	var errs []error
	if l.mapped != nil {
		errs = append(errs, unix.Munmap(l.mapped))
	}
	if l.file != nil {
		errs = append(errs, l.file.Close())
		l.disk.give(l.onDisk)
	}
	l.file, l.mapped, l.set, l.seqs, l.onDisk = nil, nil, nil, nil, 0
	return errors.Join(errs...)
}

// SealLost is called between the merges of the leading regions and those of the regions that follow.
func (s *Sorter) SealLost() error {
	if s.lost == nil {
		return nil
	}
	return s.lost.seal()
}
