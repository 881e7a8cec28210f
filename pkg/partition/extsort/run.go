package extsort

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/klauspost/compress/s2"
)

// runBlock is the raw size at which a block of a run is closed. A merge holds
// about twice as much for each run of a region.
const runBlock = 128 << 10

// blockHeader is the size of stored length, raw length and checksum.
const blockHeader = 12

// run is a sorted file. It is unlinked unless it is kept.
type run struct {
	f        *os.File
	kept     bool
	sections sections
	size     int64 // of the blocks
	maxBlock int   // raw size of the largest block
}

func (r *run) close() error { return r.f.Close() }

// remove closes a run that is no longer needed and deletes its file.
func (r *run) remove() error {
	err := r.close()
	if r.kept {
		err = errors.Join(err, os.Remove(r.f.Name()))
	}
	return err
}

// runWriter writes one run, region by region, rows in order.
type runWriter struct {
	sorter  *Sorter
	run     *run
	table   *crc32.Table
	block   []byte
	out     []byte
	at      int // region
	section section
	encoded []byte // sections of the regions before
	rows    int64  // in block
}

// Prefixes of the names of a sort's files.
const (
	runName  = "bulkload-run-"
	lostName = "bulkload-lost-"
)

// OwnFile reports whether a file has the name of a sort's file.
func OwnFile(name string) bool {
	base := filepath.Base(name)
	return strings.HasPrefix(base, runName) || strings.HasPrefix(base, lostName)
}

func (s *Sorter) newRunWriter() (*runWriter, error) {
	o := s.options
	f, err := os.CreateTemp(o.Dir, runName+"*")
	if err != nil {
		return nil, fmt.Errorf("create a run for the sort: %w", err)
	}
	if !o.Keep {
		if err := os.Remove(f.Name()); err != nil {
			return nil, errors.Join(fmt.Errorf("unlink a run of the sort: %w", err), f.Close())
		}
	}
	return &runWriter{
		sorter: s,
		run:    &run{f: f, kept: o.Keep},
		table:  crc32.MakeTable(crc32.Castagnoli),
		block:  make([]byte, 0, runBlock+runBlock/8),
	}, nil
}

// add appends a record, and its payload from shared if the payload is stored with another row. Regions must not decrease from call to call.
func (w *runWriter) add(region int, record, shared []byte) error {
	if region != w.at {
		if err := w.seek(region); err != nil {
			return err
		}
	}
	w.block = append(append(w.block, record...), shared...)
	w.section.rows++
	w.rows++
	w.section.raw += int64(len(record) + len(shared))
	if len(w.block) >= runBlock {
		return w.flush()
	}
	return nil
}

func (w *runWriter) seek(region int) error {
	if err := w.flush(); err != nil {
		return err
	}
	for ; w.at < region; w.at++ {
		w.section.end = w.run.size
		w.run.sections.next(w.encoded, w.section)
		w.encoded = appendSection(w.encoded, w.section)
		w.section = section{off: w.run.size}
	}
	return nil
}

func (w *runWriter) flush() error {
	if len(w.block) == 0 {
		return nil
	}
	need := blockHeader + s2.MaxEncodedLen(len(w.block))
	w.out = slices.Grow(w.out[:0], need)[:need]
	stored := s2.EncodeSnappy(w.out[blockHeader:], w.block)
	binary.LittleEndian.PutUint32(w.out, uint32(len(stored)))
	binary.LittleEndian.PutUint32(w.out[4:], uint32(len(w.block)))
	binary.LittleEndian.PutUint32(w.out[8:], crc32.Checksum(stored, w.table))
	if err := w.sorter.disk.take(int64(blockHeader+len(stored)), w.rows, int64(len(w.block))); err != nil {
		return err
	}
	w.rows = 0
	n, err := w.run.f.Write(w.out[:blockHeader+len(stored)])
	w.run.size += int64(n)
	if err != nil {
		return spillError(err, w.run.f.Name())
	}
	w.run.maxBlock = max(w.run.maxBlock, len(w.block))
	w.block = w.block[:0]
	return nil
}

func (w *runWriter) finish() (*run, error) {
	if err := w.seek(w.sorter.options.Regions); err != nil {
		return nil, err
	}
	w.run.sections.seal(w.encoded)
	w.sorter.hold(w.run, w.encoded)
	if w.run.kept || w.run.sections.held == nil {
		if _, err := w.run.f.Write(w.run.index(w.encoded)); err != nil {
			return nil, spillError(err, w.run.f.Name())
		}
	}
	return w.run, nil
}

// spillError adds advice to the error of a failed write.
func spillError(err error, name string) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("spill to %s: %w (the sort needs up to 0.6 times the input there)", name, err)
	}
	return fmt.Errorf("spill to %s: %w", name, err)
}

// Spill sorts the rows since the last run and writes them as a run. Add calls
// it when memory is full.
func (w *Writer) Spill() error {
	if len(w.arena.entries) == 0 {
		return nil
	}
	w.arena.sortEntries()
	out, err := w.sorter.newRunWriter()
	if err != nil {
		return err
	}
	region, next := 0, w.sorter.sorting.first(1)
	for _, e := range w.arena.entries {
		for region+1 < w.sorter.options.Regions && e.sort >= next {
			region++
			next = w.sorter.sorting.first(region + 1)
		}
		record, shared := w.arena.record(e)
		if err := out.add(region, record, shared); err != nil {
			return errors.Join(err, out.run.remove())
		}
	}
	rows := int64(len(w.arena.entries))
	w.arena.reset()
	w.payload = 0
	return w.sorter.addRun(out, rows)
}

// addRun completes a run and adds it to the sort.
func (s *Sorter) addRun(out *runWriter, rows int64) error {
	r, err := out.finish()
	if err != nil {
		return errors.Join(err, out.run.remove())
	}
	s.mu.Lock()
	s.runs = append(s.runs, r)
	s.stats.Runs++
	s.stats.SpillBytes += r.size
	s.mu.Unlock()
	if s.options.OnSpill != nil {
		s.options.OnSpill(rows, r.size)
	}
	return nil
}
