package chunk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/partition/extsort"

	"github.com/cespare/xxhash/v2"
	"github.com/golang/snappy"
)

// Bounds are the bounds of a region's keys: Start (inclusive) and End (exclusive); nil for none.
type Bounds struct{ Start, End []byte }

// has reports whether a key is within the bounds.
func (b Bounds) has(key []byte) bool {
	return bytes.Compare(key, b.Start) >= 0 && (b.End == nil || bytes.Compare(key, b.End) < 0)
}

// RegionOptions are the options of merging the chunks of a region.
type RegionOptions struct {
	Bounds     Bounds
	Shared     int // leading bytes that all keys of the region share
	Duplicates extsort.Policy
	// LeftOut is called with each row that is left out as a duplicate, in the form of [extsort.Merge.Row]. Default: not called.
	LeftOut func(row []byte)
	// Expect holds each run's counts in the region. Default: unknown; then a run that is missing as a whole is not detected.
	Expect map[uint32]Counts
}

// Reader merges the chunks of a source, region by region. It belongs to one goroutine.
type Reader struct {
	source     Source
	key, value []byte // of the next chunk
	region     int
	first      []byte
	head       header
	pending    bool
	ended      bool

	spare [][]byte // buffers of values whose rows are merged
	name  func(run uint32) string
}

// NewReader returns a reader of a source. name returns the name of a run for messages; nil: its number.
func NewReader(s Source, name func(run uint32) string) *Reader {
	if name == nil {
		name = func(run uint32) string { return fmt.Sprintf("run %d", run) }
	}
	return &Reader{source: s, name: name}
}

// Next returns the region of the next chunk. The error is io.EOF at the end. It is an error if a merge has left chunks of the previous region.
func (r *Reader) Next() (region int, err error) {
	if err := r.peek(); err != nil {
		return 0, err
	}
	return r.region, nil
}

// peek reads the next chunk unless it is already read.
func (r *Reader) peek() error {
	if r.pending {
		return nil
	}
	if r.ended {
		return io.EOF
	}
	if n := len(r.spare); r.value == nil && n > 0 {
		r.value, r.spare = r.spare[n-1], r.spare[:n-1]
	}
	before := r.region
	var err error
	if r.key, r.value, err = r.source.Next(r.key, r.value); err != nil {
		r.ended = err == io.EOF
		return err
	}
	if r.region, r.first, r.head, err = parse(r.key, r.value); err != nil {
		return err
	}
	if r.region < before {
		return damaged("a chunk of region %d of %s comes after those of region %d", r.region, r.name(r.head.run), before)
	}
	r.pending = true
	return nil
}

// Merge merges the next chunks if they are of the given region; there may be none. Its rows are valid until the next call.
// [Merged.Whole] checks, after the merge has ended without an error, that the region is complete.
func (r *Reader) Merge(region int, o RegionOptions) (*Merged, error) {
	a := &arrivals{reader: r, region: region, options: o, runs: map[uint32]*runState{}}
	m := &Merged{arrivals: a}
	var err error
	m.Merge, err = extsort.MergeArrivals(a, extsort.ArrivalOptions{Duplicates: o.Duplicates, Shared: o.Shared, LeftOut: o.LeftOut})
	return m, err
}

// Merged is the merge of a region's chunks.
type Merged struct {
	*extsort.Merge
	arrivals *arrivals
}

// Counts returns the counts of the rows merged so far, duplicates included.
func (m *Merged) Counts() Counts { return m.arrivals.total }

// runState is the state of a run in one region.
type runState struct {
	counts Counts
	newest *openChunk // nil before the first chunk
	ended  bool
}

// arrivals iterates over the chunks of one region.
type arrivals struct {
	reader  *Reader
	region  int
	options RegionOptions
	runs    map[uint32]*runState
	total   Counts
	done    bool
}

// Next implements [extsort.Arrivals].
func (a *arrivals) Next() ([]byte, extsort.Feed, error) {
	r := a.reader
	if a.done {
		return nil, nil, io.EOF
	}
	if err := r.peek(); err != nil && err != io.EOF {
		return nil, nil, err
	}
	if r.ended || r.region != a.region {
		a.done = true
		return nil, nil, io.EOF
	}
	s := a.runs[r.head.run]
	if s == nil {
		s = &runState{}
		a.runs[r.head.run] = s
	}
	at := fmt.Sprintf("%s, region %d, chunk %d", r.name(r.head.run), a.region, r.head.ordinal)
	switch {
	case s.ended:
		return nil, nil, damaged("%s comes after the last one", at)
	case int64(r.head.ordinal) != s.counts.Chunks:
		return nil, nil, damaged("%s comes where chunk %d is expected: one is missing, or comes twice", at, s.counts.Chunks)
	case s.newest != nil && !s.newest.endsBefore(r.first):
		return nil, nil, damaged("%s begins before the end of the one before", at)
	case !a.options.Bounds.has(r.first):
		return nil, nil, damaged("%s: the first key, of %d bytes, is outside of the region", at, len(r.first))
	}
	if _, known := a.options.Expect[r.head.run]; a.options.Expect != nil && !known {
		return nil, nil, damaged("%s belongs to no run of this job", at)
	}
	c := &openChunk{at: at, arrivals: a, run: s, value: r.value, rest: r.value[headerSize:], head: r.head, unique: a.options.Duplicates != extsort.KeepAll}
	s.counts.Chunks++
	s.ended, s.newest = r.head.last(), c
	r.value, r.pending = nil, false
	return r.first, c, nil
}

// Whole reports, after the merge has ended, whether all chunks of the region arrived. If not, it returns an error.
func (m *Merged) Whole() error {
	a := m.arrivals
	if err := m.Err(); err != nil {
		return err
	}
	if !a.done {
		return errors.New("a region was not merged to its end")
	}
	for run, s := range a.runs {
		if !s.ended {
			return damaged("%s, region %d: chunk %d and all after it are missing", a.reader.name(run), a.region, s.counts.Chunks)
		}
	}
	for run, want := range a.options.Expect {
		var has Counts
		if s := a.runs[run]; s != nil {
			has = s.counts
		}
		switch {
		case has == want:
		case has.Chunks == 0:
			return damaged("%s, region %d: all of its %d rows are missing", a.reader.name(run), a.region, want.Rows)
		default:
			return damaged("%s, region %d: %d chunks of %d rows with sum %016x, the run has %d of %d with %016x",
				a.reader.name(run), a.region, has.Chunks, has.Rows, has.Sum, want.Chunks, want.Rows, want.Sum)
		}
	}
	return nil
}

// keyText formats a bound for a message: bounds belong to the table, they are not data.
func keyText(key []byte) string { return rowkey.String(key) }

// openChunk returns the rows of one chunk; it is an [extsort.Feed].
type openChunk struct {
	at       string // its name in messages
	arrivals *arrivals
	run      *runState
	value    []byte
	rest     []byte // of its blocks
	head     header
	rows     uint32 // returned so far
	raw      uint64
	seq      uint64 // of the previous row
	last     []byte // key of the last row that was unpacked
	limit    []byte // first key of the run's next chunk, before which this one must end; nil: that chunk has not arrived
	unique   bool   // each key occurs once
}

// Next implements [extsort.Feed].
func (c *openChunk) Next(dst []byte) ([]byte, error) {
	if len(c.rest) == 0 {
		return nil, c.end()
	}
	if len(c.rest) < blockHeader {
		return nil, damaged("%s ends within a block's lengths", c.at)
	}
	stored, raw := uint64(binary.LittleEndian.Uint32(c.rest)), uint64(binary.LittleEndian.Uint32(c.rest[4:]))
	if stored > uint64(len(c.rest)-blockHeader) {
		return nil, damaged("%s: a block of %d bytes, where %d are left", c.at, stored, len(c.rest)-blockHeader)
	}
	block := c.rest[blockHeader : blockHeader+stored]
	n, err := snappy.DecodedLen(block)
	if err != nil || uint64(n) != raw || raw > maxRatio*stored || raw == 0 {
		return nil, damaged("%s: a block of %d bytes does not unpack to %d", c.at, stored, raw)
	}
	dst, err = snappy.Decode(slices.Grow(dst[:0], n)[:n], block)
	if err != nil {
		return nil, damaged("%s: a block of %d bytes does not unpack to %d: %v", c.at, stored, raw, err)
	}
	c.rest = c.rest[blockHeader+stored:]
	c.raw += raw
	return dst, c.check(dst)
}

// check checks that the rows of a block are complete, in order and in the region.
func (c *openChunk) check(block []byte) error {
	last := c.last // after the first row, a part of the block
	counts := &c.run.counts
	for at := 0; at < len(block); c.rows++ {
		b := block[at:]
		if len(b) < rowHeader {
			return damaged("%s: a block ends within the header of row %d", c.at, c.rows)
		}
		n, k := uint64(binary.LittleEndian.Uint32(b[8:])), uint64(binary.LittleEndian.Uint16(b[12:]))
		if k > n || n > uint64(len(b)-rowHeader) || k == 0 {
			return damaged("%s: row %d has %d bytes with a key of %d, where %d are left of its block", c.at, c.rows, n, k, len(b)-rowHeader)
		}
		row := b[:rowHeader+n]
		key, seq := rowKey(row), binary.LittleEndian.Uint64(row)
		if c.rows > 0 {
			if order := bytes.Compare(last, key); order > 0 || order == 0 && (c.unique || seq <= c.seq) {
				return damaged("%s: row %d is not after the one before", c.at, c.rows)
			}
		}
		last, c.seq = key, seq
		counts.Rows++
		counts.Bytes += int64(len(row))
		sum := xxhash.Sum64(row[rowHeader-2:])
		counts.Sum += sum
		c.arrivals.total.Sum += sum
		at += len(row)
	}
	// Keys are ascending, and the first one was compared: only the last can be outside of the region.
	if o := c.arrivals.options.Bounds; !o.has(last) {
		return damaged("%s: a key of %d bytes is outside of the region, which ends before %s", c.at, len(last), keyText(o.End))
	}
	c.last = append(c.last[:0], last...)
	if c.limit != nil && bytes.Compare(last, c.limit) >= 0 {
		return damaged("%s: its rows reach into the next chunk of the run", c.at)
	}
	return nil
}

// endsBefore records the first key of the run's next chunk, and reports whether the rows unpacked so far are before it.
func (c *openChunk) endsBefore(first []byte) bool {
	c.limit = append(c.limit[:0], first...)
	return bytes.Compare(c.last, first) < 0
}

// end checks the chunk's contents against its header, and releases its buffer.
func (c *openChunk) end() error {
	if c.rows != c.head.rows || c.raw != uint64(c.head.raw) {
		return damaged("%s has %d rows of %d bytes, its header says %d of %d", c.at, c.rows, c.raw, c.head.rows, c.head.raw)
	}
	if c.value != nil {
		t, r := &c.arrivals.total, c.arrivals.reader
		t.Chunks++
		t.Rows += int64(c.rows)
		t.Bytes += int64(c.raw)
		r.spare, c.value = append(r.spare, c.value), nil
	}
	return io.EOF
}
