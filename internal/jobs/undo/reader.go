package undo

import (
	"bytes"
	"encoding/binary"
	"time"

	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/verify"
	"bulkload/pkg/hfile"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"

	"github.com/cespare/xxhash/v2"
)

// reader makes the survey of one region from the cells of a raw scan. For one
// goroutine.
type reader struct {
	load     *load
	families []familyReader
	rows     *verify.Rows
	part     *result.Survey
	keys     int // number of keys that may still be named

	key   []byte
	cells []loader.Cell // cells of the load in the row
	held  []byte        // qualifiers and values of cells
	ends  []int         // ends of these in held
	row   rowReading
	hash  []byte
}

// rowReading is the state of the current row.
type rowReading struct {
	any                       bool
	seen, left, older, marked bool // a cell is visible, with and without the load; a cell was visible before it; T is already deleted
	cellsSeen, restored       int64
	overwritten, unchanged    int64
}

// familyReader decides which cells of a family are visible in the row: with the
// load, without it, without it in all versions, and only among cells older than the
// load.
type familyReader struct {
	name                    string
	bytes                   []byte // the name as bytes
	seen, left, rest, older *snapshot.Rules
	begun                   bool // for the current row
	written, compacted      int64
	deletes                 bool

	open          bool // the last cell of this column is of the load:
	again         bool // no file read so far has it as it was loaded
	rewritten     bool // a compaction has rewritten an older copy, from an earlier load
	column, value []byte
}

func newReader(l *load, snap *snapshot.Snapshot, now time.Time) *reader {
	r := &reader{load: l, rows: verify.NewRows(l.manifest), part: l.empty(snap)}
	r.part.Regions = []result.SurveyRegion{{Families: make([]int64, len(r.part.Families))}}
	one, all := snapshot.View{Versions: 1, Now: now}, snapshot.View{Now: now}
	for _, own := range r.part.Families {
		for _, f := range snap.Families {
			if f.Name == own.Family {
				r.families = append(r.families, familyReader{name: f.Name, bytes: []byte(f.Name), seen: f.Rules(one), left: f.Rules(one, l.stamp), rest: f.Rules(all, l.stamp), older: f.Rules(one)})
			}
		}
	}
	return r
}

func (r *reader) startRow(key []byte) {
	r.key = append(r.key[:0], key...)
	r.cells, r.held, r.ends = r.cells[:0], r.held[:0], r.ends[:0]
	r.row = rowReading{any: true}
	for i := range r.families {
		f := &r.families[i]
		f.begun, f.open, f.deletes, f.written, f.compacted = false, false, false, 0, 0
	}
}

// family returns the familyReader of a cell.
func (r *reader) family(c *hfile.Cell) *familyReader {
	for i := range r.families {
		f := &r.families[i]
		if f.name != string(c.Family) {
			continue
		}
		if !f.begun {
			f.begun = true
			for _, rules := range [...]*snapshot.Rules{f.seen, f.left, f.rest, f.older} {
				rules.Row()
			}
		}
		return f
	}
	return nil // the scan does not return such cells
}

// cell processes the next cell of the row. loaded reports that no compaction has
// rewritten it.
func (r *reader) cell(c *hfile.Cell, loaded bool) error {
	f := r.family(c)
	if f == nil {
		return nil
	}
	seen, err := f.seen.Shows(c)
	if err != nil {
		return err
	}
	left, err := f.left.Shows(c)
	if err != nil {
		return err
	}
	rest, err := f.rest.Shows(c)
	if err != nil {
		return err
	}
	if left || rest {
		r.addRest(c, left, rest)
	}
	r.row.seen, r.row.left = r.row.seen || seen, r.row.left || left
	if left && !seen {
		r.row.restored++
	}
	own := c.Timestamp == r.load.stamp
	switch {
	case r.load.ofLoad(c) && f.open && bytes.Equal(f.column, c.Qualifier): // a copy in an older file
		switch {
		case f.again && loaded:
			f.again = false
			f.compacted--
		case !f.again && !loaded && !f.rewritten:
			f.rewritten = true
			f.compacted++
		}
	case r.load.ofLoad(c):
		r.hold(f, c)
		if seen {
			r.row.cellsSeen++
		}
		f.again, f.rewritten = !loaded, false
		if f.again {
			f.compacted++
		}
	case own && c.Type == hfile.DeleteFamilyVersion:
		r.row.marked = true
	case !own && (c.Type == hfile.DeleteFamilyVersion || c.Type == hfile.Delete):
		f.deletes = true
	}
	if c.Timestamp >= r.load.stamp {
		return nil
	}
	older, err := f.older.Shows(c)
	if older {
		r.row.older = true
		if f.open && bytes.Equal(f.column, c.Qualifier) {
			r.row.overwritten++
			if bytes.Equal(f.value, c.Value) {
				r.row.unchanged++
			}
		}
		f.open = false
	}
	return err
}

// hold keeps a cell of the load until the end of the row.
func (r *reader) hold(f *familyReader, c *hfile.Cell) {
	r.held = append(append(r.held, c.Qualifier...), c.Value...)
	r.ends = append(r.ends, len(c.Qualifier), len(r.held))
	r.cells = append(r.cells, loader.Cell{Family: f.bytes, Timestamp: c.Timestamp, Type: hfile.Put})
	f.written++
	f.open = true
	f.column, f.value = append(f.column[:0], c.Qualifier...), append(f.value[:0], c.Value...)
}

// addRest counts a cell that is visible without the load: as the newest version of
// its column, as one of all versions that are kept, or both.
func (r *reader) addRest(c *hfile.Cell, newest, kept bool) {
	var sum uint64
	sum, r.hash = cellSum(c, r.hash)
	if newest {
		r.part.Rest.Cells++
		r.part.Rest.Sum += sum
	}
	if kept {
		r.part.Versions.Cells++
		r.part.Versions.Sum += sum
	}
}

// cellSum returns the checksum of a cell. It reuses buf.
func cellSum(c *hfile.Cell, buf []byte) (uint64, []byte) {
	b := binary.BigEndian.AppendUint16(buf[:0], uint16(len(c.Row)))
	b = append(append(b, c.Row...), byte(len(c.Family)))
	b = binary.BigEndian.AppendUint32(append(b, c.Family...), uint32(len(c.Qualifier)))
	b = binary.BigEndian.AppendUint64(append(b, c.Qualifier...), uint64(c.Timestamp))
	b = append(b, c.Value...)
	return xxhash.Sum64(b), b
}

// endRow adds the row to the survey.
func (r *reader) endRow() {
	s, row := r.part, &r.row
	if row.any && row.left {
		s.Rest.Rows++
		s.Versions.Rows++
	}
	if row.any && row.marked {
		s.Marked++
	}
	row.any = false
	if len(r.cells) == 0 {
		return
	}
	region := &s.Regions[0]
	region.Rows++
	region.Cells += int64(len(r.cells))
	if row.older {
		s.RowsOverwritten++
		region.Overwritten++
	} else {
		s.RowsAdded++
		region.Added++
	}
	if row.restored > 0 {
		s.RowsRestored++
	}
	if row.seen && !row.left {
		s.RowsGone++
	}
	s.CellsSeen += row.cellsSeen
	s.CellsRestored += row.restored
	s.CellsOverwritten += row.overwritten
	s.CellsUnchanged += row.unchanged
	s.CellsAdded += int64(len(r.cells)) - row.overwritten
	for i := range r.families {
		f, sum := &r.families[i], &s.Families[i]
		if f.written == 0 {
			continue
		}
		region.Families[i]++
		sum.Rows++
		sum.Cells += f.written
		sum.Compacted += f.compacted
		if f.deletes {
			sum.Deletes++
		}
	}
	from := 0
	for i := range r.cells {
		qualifier, end := from+r.ends[2*i], r.ends[2*i+1]
		r.cells[i].Qualifier, r.cells[i].Value = r.held[from:qualifier:qualifier], r.held[qualifier:end:end]
		from = end
	}
	if r.rows.Add(loader.Row{Key: r.key, Cells: r.cells}) != nil {
		s.Foreign++ // a column that the job does not write
	}
	if len(region.Keys) < r.keys {
		region.Keys = append(region.Keys, result.Key{Row: rowkey.String(r.key), Overwritten: row.older})
	}
	r.cells = r.cells[:0]
}

// finish returns the survey of the region.
func (r *reader) finish() *result.Survey {
	r.part.Load = r.rows.Digest()
	return r.part
}

// exactlyWritten reports whether the cells with the timestamp are exactly those that were
// written.
func exactlyWritten(s *result.Survey, written manifest.Digest) bool {
	return s.Foreign == 0 && s.Load == written
}
