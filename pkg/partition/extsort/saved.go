package extsort

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"

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
	s.done, s.saved = true, make([]added, s.options.Regions)
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
		opened, err := s.openRun(filepath.Join(s.options.Dir, r.Name), r.Size)
		if err != nil {
			return nil, err
		}
		s.runs = append(s.runs, opened)
		s.stats.Runs++
		s.stats.SpillBytes += opened.size
		s.disk.give(-opened.size)
	}
	return s, s.reduceRuns()
}

// openRun opens a run and counts its rows.
func (s *Sorter) openRun(name string, size int64) (*run, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	r := &run{f: f, kept: true}
	encoded, err := r.readIndex(size)
	if n := r.sections.regions; err == nil && n != s.options.Regions {
		err = fmt.Errorf("it has %s, not %d", setting.Count(n, "region"), s.options.Regions)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %s: %w", ErrCorrupt, name, err), f.Close())
	}
	s.hold(r, encoded)
	var find lookup
	for region := range s.saved {
		section, err := find.section(r, region)
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		s.saved[region].rows += section.rows
		s.saved[region].bytes += section.raw
		s.stats.Rows += section.rows
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

// index returns the index of the run's blocks with its footer, of the encoded sections. It follows the blocks.
func (r *run) index(encoded []byte) []byte {
	b := binary.AppendUvarint(nil, uint64(r.sections.regions))
	b = binary.AppendUvarint(b, uint64(r.maxBlock))
	r.sections.at = r.size + int64(len(b))
	b = append(b, encoded...)
	n := len(b)
	b = binary.LittleEndian.AppendUint32(b, uint32(n))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[:n], crc32.MakeTable(crc32.Castagnoli)))
	return append(b, runMagic...)
}

// readIndex reads the index of a run of a known size, and returns the encoded sections.
func (r *run) readIndex(size int64) ([]byte, error) {
	info, err := r.f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() != size || size < int64(runFooter) {
		return nil, fmt.Errorf("it has %s, not %d", setting.Count(info.Size(), "byte"), size)
	}
	var footer [runFooter]byte
	if _, err := r.f.ReadAt(footer[:], size-int64(runFooter)); err != nil {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint32(footer[:]))
	if string(footer[8:]) != runMagic || n > size-int64(runFooter) {
		return nil, errors.New("its end is missing")
	}
	index := make([]byte, n)
	at := size - int64(runFooter) - n
	if _, err := r.f.ReadAt(index, at); err != nil {
		return nil, err
	}
	if crc32.Checksum(index, crc32.MakeTable(crc32.Castagnoli)) != binary.LittleEndian.Uint32(footer[4:]) {
		return nil, errors.New("the checksum of its index is wrong")
	}
	return r.parseIndex(index, at)
}

// parseIndex parses the index of a run that has the given number of bytes of blocks, and returns the encoded sections.
func (r *run) parseIndex(index []byte, blocks int64) ([]byte, error) {
	b, bad := index, false
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
	encoded := index[len(index)-len(b):]
	r.sections.at = blocks + int64(len(index)-len(b))
	for range regions {
		at, x := len(encoded)-len(b), section{off: r.size}
		r.size += next(blocks - r.size)
		x.rows = next(1 << 62)
		next(1 << 62) // raw
		r.sections.next(encoded[:at], x)
	}
	if bad || len(b) > 0 || r.size != blocks {
		return nil, errors.New("its index does not fit it")
	}
	r.sections.seal(encoded)
	return encoded, nil
}
