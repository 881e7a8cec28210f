package hfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// A Scanner iterates over the cells of a file in order.
//
//	for s.Next() { use s.Cell() }
//	if err := s.Err(); err != nil { … }
//
// It shares the Reader's buffers, so only one Scanner of a Reader may be in use
// at a time.
type Scanner struct {
	reader  *Reader
	dec     cellDecoder
	next    int64 // offset of the next block
	open    bool  // a data block is being read
	at      int64 // its offset
	cells   int64
	partial bool // started by a seek: the number of cells is not checked
	cell    Cell
	pending bool // SeekRow has already called Next
	sought  bool // the current cell is the first one returned
	err     error
}

// Scan returns a scanner positioned before the first cell.
func (r *Reader) Scan() *Scanner {
	return &Scanner{reader: r, dec: r.decoder, next: max(r.trailer.firstData, 0)}
}

// Next moves to the next cell. It returns false at the end and on an error.
func (s *Scanner) Next() bool {
	s.sought = s.pending
	if s.pending {
		s.pending = false
		return s.err == nil
	}
	for s.err == nil {
		if s.open {
			if s.dec.next() {
				s.cells++
				s.setCell()
				return true
			}
			if err := s.dec.d.err; err != nil {
				s.err = fmt.Errorf("data block at offset %d: %w", s.at, err)
				return false
			}
			s.open = false
		}
		if !s.nextBlock() {
			return false
		}
	}
	return false
}

// nextBlock opens the next data block, skipping index leaves and Bloom chunks.
func (s *Scanner) nextBlock() bool {
	t := &s.reader.trailer
	for s.err == nil && t.cells > 0 && s.next <= t.lastData {
		if s.err = s.reader.blocks.header(s.next); s.err != nil {
			return false
		}
		blk := &s.reader.blocks.block
		s.next = blk.end()
		if blk.kind != kindData && blk.kind != kindEncodedData {
			continue
		}
		s.at = blk.offset
		if blk, s.err = s.reader.blocks.read(s.at); s.err != nil {
			return false
		}
		if s.err = s.dec.start(blk); s.err != nil {
			s.err = fmt.Errorf("data block at offset %d: %w", s.at, s.err)
			return false
		}
		s.open = true
		return true
	}
	if s.err == nil && !s.partial && s.cells != t.cells {
		s.err = fmt.Errorf("%w: %d cells, its trailer says %d", ErrCorrupt, s.cells, t.cells)
	}
	return false
}

func (s *Scanner) setCell() {
	f := &s.dec.cur
	s.cell = Cell{Row: f.row(), Family: f.family(), Qualifier: f.qualifier(), Timestamp: f.timestamp(), Type: f.typ(), Value: f.value, Tags: f.tags}
}

// Cell returns the current cell. Its slices are valid until the next call of Next.
func (s *Scanner) Cell() *Cell { return &s.cell }

// Sequence returns the current cell's stored sequence id (HBase's MVCC number),
// 0 in a file without sequence ids. For a bulk-loaded file HBase uses the
// sequence id of the load instead, which is in the file's name.
func (s *Scanner) Sequence() int64 { return s.dec.seqID }

// SameRow reports whether the current cell is known to have the same row as the
// previous cell: DIFF and FAST_DIFF show that without a comparison of rows. False
// means that the rows may or may not be equal.
func (s *Scanner) SameRow() bool { return s.dec.sameRow && !s.sought }

// Offset returns the file offset, in bytes, of the block after the current
// cell's block.
func (s *Scanner) Offset() int64 { return s.next }

// Err returns the error that ended the scan, nil at its regular end.
func (s *Scanner) Err() error { return s.err }

// SeekRow returns a scanner whose first cell is the first one with a row not
// before the given row. It reads one block of each index level.
func (r *Reader) SeekRow(row []byte) *Scanner {
	var want flat
	want.setKey(row, nil, nil, LatestTimestamp, typeMaximum)
	return r.seek(&want)
}

// seek returns a scanner whose first cell is the first one not before the key.
func (r *Reader) seek(want *flat) *Scanner {
	s := r.Scan()
	s.partial = true
	if r.root.len() == 0 {
		return s
	}
	place, err := r.root.find(want)
	for level := int64(1); err == nil && level < r.trailer.levels; level++ {
		var x indexEntries
		if err = r.indexBlock(place, &x); err == nil {
			place, err = x.find(want)
		}
	}
	if err != nil {
		s.err = err
		return s
	}
	s.next = place.offset
	for s.Next() {
		if compareFlat(&s.dec.cur, want) >= 0 {
			s.pending = true
			break
		}
	}
	return s
}

// Get returns the first cell of a column of a row, which is its newest; false
// if there is none. It queries the Bloom filter first. The cell may be a delete
// marker of the column. Markers of the family are at the row's start, under the
// empty qualifier. The cell's slices are valid until the Reader is used again.
func (r *Reader) Get(row, qualifier []byte) (*Cell, bool, error) {
	if maybe, err := r.MayContain(row, qualifier); err != nil || !maybe {
		return nil, false, err
	}
	family, err := r.Family()
	if err != nil || len(row) > MaxRowLen {
		return nil, false, err
	}
	var want flat
	want.setKey(row, family, qualifier, LatestTimestamp, typeMaximum)
	s := r.seek(&want)
	if !s.Next() || !bytes.Equal(s.cell.Row, row) || !bytes.Equal(s.cell.Qualifier, qualifier) {
		return nil, false, s.err
	}
	return &s.cell, true, nil
}

// IndexRows returns the distinct rows of the data index in order. It starts with the
// root level and descends a level, down to the leaves, while a level has fewer than
// least entries. A row of the index may be synthetic: between two blocks, and in no cell.
func (r *Reader) IndexRows(least int) ([][]byte, error) {
	level := &r.root
	for depth := int64(1); depth < r.trailer.levels && level.len() < least; depth++ {
		below := new(indexEntries)
		for _, at := range level.places {
			if err := r.indexBlock(at, below); err != nil {
				return nil, err
			}
		}
		level = below
	}
	var rows [][]byte
	for i := range level.len() {
		k, err := parseKey(level.key(i))
		if err != nil {
			return nil, fmt.Errorf("%w: index entry %d: %w", ErrCorrupt, i, err)
		}
		if n := len(rows); n == 0 || bytes.Compare(rows[n-1], k.row()) < 0 {
			rows = append(rows, bytes.Clone(k.row()))
		}
	}
	return rows, nil
}

// indexBlock adds the entries of the leaf or intermediate block at a place to x.
func (r *Reader) indexBlock(at placed, x *indexEntries) error {
	blk, err := r.blocks.read(at.offset)
	switch {
	case err != nil:
		return err
	case blk.kind != kindLeafIndex && blk.kind != kindIntermediateIndex:
		return fmt.Errorf("%w: a %s block at offset %d, where an index block should be", ErrCorrupt, blk.name, blk.offset)
	}
	if err := x.readNonRoot(blk.payload); err != nil {
		return fmt.Errorf("index block at offset %d: %w", blk.offset, err)
	}
	return nil
}

// find returns the last entry whose key is not greater than want, or the first entry.
func (x *indexEntries) find(want *flat) (placed, error) {
	lo, hi := 0, x.len()
	if hi == 0 {
		return placed{}, fmt.Errorf("%w: an index block without entries", ErrCorrupt)
	}
	for lo < hi {
		mid := (lo + hi) / 2
		k, err := parseKey(x.key(mid))
		if err != nil {
			return placed{}, fmt.Errorf("%w: index entry %d: %w", ErrCorrupt, mid, err)
		}
		if compareFlat(&k, want) <= 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return x.places[max(lo-1, 0)], nil
}

func (x *indexEntries) readNonRoot(b []byte) error {
	n, err := countNonRoot(b)
	if err != nil {
		return err
	}
	for i := range n {
		x.add(nonRootEntry(b, n, i))
	}
	return nil
}

// countNonRoot returns the number of entries of a leaf or intermediate block and checks
// the table of their positions: it must begin with 0, rise, and end with the block.
func countNonRoot(b []byte) (int, error) {
	if len(b) < 8 {
		return 0, fmt.Errorf("%w: an index block of %d bytes", ErrCorrupt, len(b))
	}
	n := int(int32(binary.BigEndian.Uint32(b)))
	if n < 1 || n > (len(b)-8)/16 {
		return 0, fmt.Errorf("%w: %d entries in %d bytes", ErrCorrupt, n, len(b))
	}
	table := b[4 : 4+4*(n+1)]
	rest := len(b) - 4 - len(table)
	last := -12
	for i := range n + 1 {
		at := int(int32(binary.BigEndian.Uint32(table[4*i:])))
		if i == 0 && at != 0 || at < last+12 || i == n && at != rest {
			return 0, fmt.Errorf("%w: position %d of entry %d, of %d bytes", ErrCorrupt, at, i, rest)
		}
		last = at
	}
	return n, nil
}

// nonRootEntry returns entry i of a block of n entries whose table has been checked.
func nonRootEntry(b []byte, n, i int) (placed, []byte) {
	base := 4 + 4*(n+1)
	from := base + int(binary.BigEndian.Uint32(b[4+4*i:]))
	to := base + int(binary.BigEndian.Uint32(b[8+4*i:]))
	e := b[from:to]
	return placed{offset: int64(binary.BigEndian.Uint64(e)), size: int32(binary.BigEndian.Uint32(e[8:]))}, e[12:]
}
