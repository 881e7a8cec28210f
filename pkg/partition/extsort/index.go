package extsort

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
)

// section holds the position of a region's blocks, the number of their rows,
// and the unpacked size of the rows in bytes.
type section struct {
	off, end  int64
	rows, raw int64
}

// sections are those of all regions of a run, encoded as in its index, in which each takes 3 to 10 bytes. As there is one for each region and run, they
// are in memory only while those of all runs take little of it, and else in the file.
type sections struct {
	regions int
	marks   []mark
	length  int    // bytes
	held    []byte // nil: in the file
	at      int64  // offset in the file
}

// mark is where the sections of sectionsAtOnce regions begin.
type mark struct {
	off  int64  // of the first region's blocks
	at   uint32 // of the sections
	sum  uint32 // CRC-32C of the sections
	rows uint32 // a bit for each region, 1 if it has rows
}

// sectionsAtOnce is the number of sections that are read at once, at most the bits of a mark.
const sectionsAtOnce = 32

// heldShare is a divisor: the sections in memory may take Memory/heldShare bytes.
const heldShare = 64

// next notes that the section of the next region begins at the end of encoded.
func (s *sections) next(encoded []byte, sec section) {
	if s.regions%sectionsAtOnce == 0 {
		s.seal(encoded)
		s.marks = append(s.marks, mark{off: sec.off, at: uint32(len(encoded))})
	}
	if sec.rows > 0 {
		s.marks[len(s.marks)-1].rows |= 1 << (s.regions % sectionsAtOnce)
	}
	s.regions++
}

func (s *sections) has(region int) bool {
	return (s.marks[region/sectionsAtOnce].rows>>(region%sectionsAtOnce))&1 != 0
}

// seal notes the end of the last section.
func (s *sections) seal(encoded []byte) {
	if n := len(s.marks); n > 0 {
		m := &s.marks[n-1]
		m.sum = crc32.Checksum(encoded[m.at:], crc32.MakeTable(crc32.Castagnoli))
	}
	s.length = len(encoded)
}

func appendSection(b []byte, s section) []byte {
	b = binary.AppendUvarint(b, uint64(s.end-s.off))
	b = binary.AppendUvarint(b, uint64(s.rows))
	return binary.AppendUvarint(b, uint64(s.raw))
}

// hold keeps the sections of a run in memory if there is room.
func (s *Sorter) hold(r *run, encoded []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := int64(len(encoded)); s.held+n <= s.options.Memory/heldShare {
		s.held += n
		r.sections.held = slices.Clone(encoded)
	}
}

// holdMore reads the sections of runs into memory, without the arenas now, as far as merges of all runs leave room. They do if regions have few rows
// in a run, and thus short blocks; where blocks are long, sections are few for the size of a run.
func (s *Sorter) holdMore() error {
	largest := 0
	for _, r := range s.runs {
		largest = max(largest, r.maxBlock)
	}
	room := s.options.Memory - s.held - int64(len(s.runs)*s.options.Workers)*cursorMemory(largest)
	for _, r := range s.runs {
		x := &r.sections
		if x.held != nil || int64(x.length) > room {
			continue
		}
		var find lookup
		held := make([]byte, 0, x.length)
		for group := range x.marks {
			if err := find.load(r, group); err != nil {
				return err
			}
			held = append(held, find.whole...)
		}
		x.held = held
		room -= int64(x.length)
		s.held += int64(x.length)
	}
	return nil
}

// A lookup finds sections. It is fast for one region after the other of a run, and may be used for one run after the other.
type lookup struct {
	run    *run
	group  int
	whole  []byte // sections of the group
	rest   []byte // of them, those from region at on
	at     int
	off    int64 // of the blocks of region at
	buffer []byte
}

func (l *lookup) section(r *run, region int) (section, error) {
	group := region / sectionsAtOnce
	if l.run != r || l.group != group {
		if err := l.load(r, group); err != nil {
			return section{}, err
		}
	}
	if region < l.at {
		l.rewind()
	}
	for rest := l.rest; ; {
		var n, rows, raw uint64
		n, rest = uvarint(rest)
		rows, rest = uvarint(rest)
		if raw, rest = uvarint(rest); rest == nil {
			l.run = nil
			return section{}, fmt.Errorf("%w: section of region %d", ErrCorrupt, region)
		}
		x := section{l.off, l.off + int64(n), int64(rows), int64(raw)}
		l.off = x.end
		if l.at++; l.at > region {
			l.rest = rest
			return x, nil
		}
	}
}

// uvarint returns a number and what follows it, which is nil if there is none.
func uvarint(b []byte) (uint64, []byte) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), b[1:]
	}
	return longUvarint(b)
}

func longUvarint(b []byte) (uint64, []byte) {
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil
	}
	return v, b[n:]
}

func (l *lookup) load(r *run, group int) error {
	s := &r.sections
	from, to := int(s.marks[group].at), s.length
	if group+1 < len(s.marks) {
		to = int(s.marks[group+1].at)
	}
	l.run = nil
	if s.held != nil {
		l.whole = s.held[from:to]
	} else {
		l.buffer = slices.Grow(l.buffer[:0], to-from)[:to-from]
		if _, err := r.f.ReadAt(l.buffer, s.at+int64(from)); err != nil {
			if errors.Is(err, io.EOF) {
				err = fmt.Errorf("%w: %w", ErrCorrupt, err)
			}
			return fmt.Errorf("read the index of a spilled run: %w", err)
		}
		if crc32.Checksum(l.buffer, crc32.MakeTable(crc32.Castagnoli)) != s.marks[group].sum {
			return fmt.Errorf("%w: checksum of its index", ErrCorrupt)
		}
		l.whole = l.buffer
	}
	l.run, l.group = r, group
	l.rewind()
	return nil
}

func (l *lookup) rewind() {
	l.at, l.rest, l.off = l.group*sectionsAtOnce, l.whole, l.run.sections.marks[l.group].off
}
