package extsort

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"

	"bulkload/pkg/setting"
)

// SavedRun names a kept run. Callers store it.
type SavedRun struct {
	Name string `json:"name"`  // without the directory
	Size int64  `json:"bytes"` // of the file
}

// Saved returns the runs of a finished sort with Keep; none if nothing was
// spilled, since memory does not outlive the process.
func (s *Sorter) Saved() ([]SavedRun, error) {
	if !s.done || !s.options.Keep {
		return nil, nil
	}
	saved := make([]SavedRun, len(s.runs))
	for i, r := range s.runs {
		info, err := r.f.Stat()
		if err != nil {
			return nil, fmt.Errorf("saved run: %w", err)
		}
		saved[i] = SavedRun{filepath.Base(r.f.Name()), info.Size()}
	}
	return saved, nil
}

// Reopen returns a finished sort with the saved runs of another sort. Regions, Shared,
// Duplicates and Policies must be the same as there; workers and memory may differ. An
// error that wraps [ErrCorrupt] means that a run has changed. Blocks are verified when
// they are merged.
func Reopen(o Options, saved []SavedRun) (_ *Sorter, err error) {
	o.Keep = true
	s, err := New(o)
	if err != nil {
		return nil, err
	}
	s.done = true
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if len(saved) == 0 {
		return nil, fmt.Errorf("%w: there is none", ErrCorrupt)
	}
	for _, r := range saved {
		if filepath.Base(r.Name) != r.Name {
			return nil, fmt.Errorf("%w: %q is not a name of one", ErrCorrupt, r.Name)
		}
		opened, err := openRun(filepath.Join(s.options.Dir, r.Name), r.Size, s.options.Regions)
		if err != nil {
			return nil, err
		}
		s.runs = append(s.runs, opened)
		for _, section := range opened.sections {
			s.stats.Rows += section.rows
		}
		s.stats.Runs++
		s.stats.SpillBytes += opened.size
		s.disk.give(-opened.size)
	}
	return s, s.reduceRuns()
}

func openRun(name string, size int64, regions int) (*run, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	r, err := readIndex(f, size)
	if err == nil && len(r.sections) != regions {
		err = fmt.Errorf("it has %s, not %d", setting.Count(len(r.sections), "region"), regions)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %s: %w", ErrCorrupt, name, err), f.Close())
	}
	return r, nil
}

// runMagic ends a run that has an index.
const runMagic = "BLRUN 1\n"

// runFooter is the size of the index's length and checksum, and the magic.
const runFooter = 4 + 4 + len(runMagic)

// maxRunBlock is the maximum block size that an index may claim: a row in
// addition to a block of the usual size.
const maxRunBlock = 1<<32 - 1 + runBlock

// index returns the index of the run's blocks with its footer.
func (r *run) index() []byte {
	b := binary.AppendUvarint(nil, uint64(len(r.sections)))
	b = binary.AppendUvarint(b, uint64(r.maxBlock))
	for _, s := range r.sections {
		b = binary.AppendUvarint(b, uint64(s.end-s.off))
		b = binary.AppendUvarint(b, uint64(s.rows))
		b = binary.AppendUvarint(b, uint64(s.raw))
	}
	n := len(b)
	b = binary.LittleEndian.AppendUint32(b, uint32(n))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[:n], crc32.MakeTable(crc32.Castagnoli)))
	return append(b, runMagic...)
}

// readIndex reads the index of a run of a known size.
func readIndex(f *os.File, size int64) (*run, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() != size || size < int64(runFooter) {
		return nil, fmt.Errorf("it has %s, not %d", setting.Count(info.Size(), "byte"), size)
	}
	var footer [runFooter]byte
	if _, err := f.ReadAt(footer[:], size-int64(runFooter)); err != nil {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint32(footer[:]))
	if string(footer[8:]) != runMagic || n > size-int64(runFooter) {
		return nil, errors.New("its end is missing")
	}
	index := make([]byte, n)
	at := size - int64(runFooter) - n
	if _, err := f.ReadAt(index, at); err != nil {
		return nil, err
	}
	if crc32.Checksum(index, crc32.MakeTable(crc32.Castagnoli)) != binary.LittleEndian.Uint32(footer[4:]) {
		return nil, errors.New("the checksum of its index is wrong")
	}
	r := &run{f: f, kept: true}
	return r, r.parseIndex(index, at)
}

// parseIndex parses the index of a run that has the given number of bytes of blocks.
func (r *run) parseIndex(b []byte, blocks int64) error {
	bad := false
	next := func(limit int64) int64 {
		v, n := binary.Uvarint(b)
		if n <= 0 || v > uint64(limit) {
			bad, b = true, nil
			return 0
		}
		b = b[n:]
		return int64(v)
	}
	regions := next(int64(len(b) / 3)) // each takes at least three bytes
	r.maxBlock = int(next(maxRunBlock))
	r.sections = slices.Grow(r.sections, int(regions))
	for range regions {
		s := section{off: r.size}
		s.end = s.off + next(blocks-r.size)
		s.rows, s.raw = next(1<<62), next(1<<62)
		r.size = s.end
		r.sections = append(r.sections, s)
	}
	if bad || len(b) > 0 || r.size != blocks {
		return errors.New("its index does not fit it")
	}
	return nil
}
