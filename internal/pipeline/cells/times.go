package cells

import (
	"encoding/binary"
	"fmt"
	"math"

	"bulkload/internal/formats/celltype"
	"bulkload/internal/model/spec"
	"bulkload/pkg/hfile"
	"bulkload/pkg/keygen"
	"bulkload/pkg/source"
)

// timing names the columns of the timestamp and the TTL of a record's cells.
// Their values follow the slots' values in a row's payload, 8 bytes each; a TTL
// may be missing.
type timing struct {
	stamp, ttl int           // columns of the record, -1 for none
	dates      *keygen.Dates // of the timestamp
	unit       int64         // of the TTL, in milliseconds
}

func newTiming(m spec.Mapping, at func(column string) (int, error)) (t timing, errs []error) {
	t = timing{stamp: -1, ttl: -1, unit: 1000}
	var err error
	if c := m.CellTimestamp; c != nil {
		if t.stamp, err = at(c.Column); err != nil {
			errs = append(errs, &spec.FieldError{Field: "cell_timestamp", Err: err})
		}
		if t.dates, err = c.Dates(); err != nil {
			errs = append(errs, &spec.FieldError{Field: "cell_timestamp", Err: err})
		}
	}
	if c := m.CellTTL; c != nil {
		if t.ttl, err = at(c.Column); err != nil {
			errs = append(errs, &spec.FieldError{Field: "cell_ttl", Err: err})
		}
		if c.Unit == "ms" {
			t.unit = 1
		}
	}
	return t, errs
}

// values returns the number of time values in a row.
func (t timing) values() (n int) {
	if t.stamp >= 0 {
		n++
	}
	if t.ttl >= 0 {
		n++
	}
	return n
}

// times appends a record's timestamp and TTL to the maker's values.
func (m *RowMaker) times(data []byte, b *source.Batch, row int) ([]byte, error) {
	t := &m.plan.timing
	next := len(m.plan.Slots) + len(m.plan.wide)
	put := func(v int64) {
		m.offsets[next], m.lengths[next] = uint32(len(data)), 8
		data = binary.BigEndian.AppendUint64(data, uint64(v))
		next++
	}
	stamp := m.plan.Timestamp
	if t.stamp >= 0 {
		text := b.Field(row, t.stamp)
		ms, err := t.dates.Millis(text)
		switch {
		case len(text) == 0:
			err = fmt.Errorf("%w: it is empty, but gives the timestamp of the cells", celltype.ErrValue)
		case err != nil:
			err = celltype.ValueError(text, "is "+err.Error())
		case ms == hfile.LatestTimestamp:
			err = celltype.ValueError(text, "is HBase's mark for the time of the write")
		case ms < 0:
			err = celltype.ValueError(text, "is not a timestamp of HBase, whose time begins in 1970")
		}
		if err != nil {
			return data, &keygen.FieldError{Column: m.plan.Columns[t.stamp], Err: err}
		}
		put(ms)
		stamp = ms
	}
	if t.ttl >= 0 {
		text := b.Field(row, t.ttl)
		if len(text) == 0 {
			m.lengths[next] = -1
			return data, nil
		}
		v, why := celltype.ParseLong(text)
		switch {
		case why == "" && v <= 0:
			why = "is not a time to live: it must be above 0"
		case why == "" && v > math.MaxInt64/t.unit:
			why = "is out of range"
		case why == "" && v*t.unit > math.MaxInt64-stamp: // HBase adds them, and takes an overflowing sum for a time in the past
			why = "is out of range: the cell's timestamp and it are above 2^63-1 ms"
		}
		if why != "" {
			return data, &keygen.FieldError{Column: m.plan.Columns[t.ttl], Err: celltype.ValueError(text, why)}
		}
		put(v * t.unit)
	}
	return data, nil
}

// ttlTag is HBase's TagType.TTL_TAG_TYPE (2.6.4): its value is 8 bytes of
// milliseconds, counted from the cell's timestamp.
const ttlTag = 8

// RowTime holds the timestamp and the expiry of a row's cells.
type RowTime struct {
	Stamp   int64
	Expires int64 // milliseconds since 1970, 0 for never
	Tags    []byte
}

// Read reads a row's time from its values.
func (r *RowTime) Read(p *Plan, values [][]byte) {
	rest := values[len(p.Slots)+len(p.wide):]
	r.Stamp, r.Expires, r.Tags = p.Timestamp, 0, r.Tags[:0]
	if p.timing.stamp >= 0 {
		r.Stamp, rest = int64(binary.BigEndian.Uint64(rest[0])), rest[1:]
	}
	if p.timing.ttl >= 0 && rest[0] != nil {
		ttl := int64(binary.BigEndian.Uint64(rest[0]))
		r.Expires = math.MaxInt64
		if ttl < math.MaxInt64-r.Stamp {
			r.Expires = r.Stamp + ttl
		}
		r.Tags = append(r.Tags, 0, 1+8, ttlTag)
		r.Tags = append(r.Tags, rest[0]...)
	}
}
