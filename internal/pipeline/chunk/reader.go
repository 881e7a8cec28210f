package chunk

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/partition/extsort"
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
