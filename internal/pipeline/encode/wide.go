package encode

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"slices"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/pipeline/cells"
	"bulkload/pkg/hfile"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/setting"
)

// maxWideRow limits the memory for the records of one key while they are sorted
// by their qualifiers, including wideCellSize for each value.
const (
	maxWideRow   = 32 << 20
	wideCellSize = 112
)

// wideRow collects the records of one key, whose cells make one row.
type wideRow struct {
	key     []byte
	data    []byte // payloads, one after the other
	records []wideRecord
	values  [][]byte
	cells   []wideCell
	tags    []byte
}

type wideRecord struct {
	end int // of its payload in data
	seq uint64
}

// wideCell is one cell of the row; its slices are parts of the row's buffers.
type wideCell struct {
	family                 int // ordinal in the plan
	qualifier, value, tags []byte
	stamp, expires         int64
	seq                    uint64
}

// sharesPlace reports whether both cells have the same family and qualifier.
func (c *wideCell) sharesPlace(o *wideCell) bool {
	return c.family == o.family && bytes.Equal(c.qualifier, o.qualifier)
}

// encodeWide is Encode for plans whose rows are made of all records of a key.
func (p *Region) encodeWide(ctx context.Context, m *extsort.Merge, plan *cells.Plan, sinks []*Sink) error {
	w := &wideRow{values: make([][]byte, plan.NumValues())}
	var form []byte
	n := 0
	for more := true; more; n++ {
		if err := p.advance(ctx, n); err != nil {
			return err
		}
		more = m.Next()
		if more && len(w.records) > 0 && bytes.Equal(w.key, m.Key()) {
			if err := w.add(m); err != nil {
				return err
			}
			p.Joined++
			continue
		}
		if len(w.records) > 0 {
			var err error
			if form, err = p.writeWide(w, plan, sinks, form[:0]); err != nil {
				return err
			}
		}
		if more {
			w.key, w.data, w.records = append(w.key[:0], m.Key()...), w.data[:0], w.records[:0]
			if err := w.add(m); err != nil {
				return err
			}
		}
	}
	p.end(int64(n - 1))
	return m.Err()
}

func (w *wideRow) add(m *extsort.Merge) error {
	if len(w.data)+len(m.Payload())+(len(w.records)+1)*len(w.values)*wideCellSize > maxWideRow {
		return fail.With(fail.BadRows, fail.AboutData(w.key, "the %s with one key, of %s, take more than %s, the limit of a row: add columns to the key",
			setting.Count(len(w.records)+1, "record"), setting.Count(len(w.key), "byte"), setting.Count(maxWideRow, "byte")))
	}
	w.data = append(w.data, m.Payload()...)
	w.records = append(w.records, wideRecord{len(w.data), m.Seq()})
	return nil
}

// writeWide writes the collected row; form is a buffer for its digest.
func (p *Region) writeWide(w *wideRow, plan *cells.Plan, sinks []*Sink, form []byte) ([]byte, error) {
	if err := w.sort(plan); err != nil {
		return form, err
	}
	dups, err := w.decide(plan)
	p.Dups += dups
	if err != nil {
		return form, err
	}
	if len(w.cells) == 0 {
		p.NoCells++
		return form, nil
	}
	var first cells.RowTime
	form = AppendWideKey(form, w.key)
	for i, f := range plan.Families {
		has := false
		for _, c := range w.cells {
			if c.family != i {
				continue
			}
			has = true
			form = AppendWideCell(form, f.Name, c.qualifier, c.value, c.stamp, plan.Stamped())
			if plan.Timed() {
				p.Times = p.Times.Join(&manifest.CellTimes{Min: c.stamp, Max: c.stamp, Expires: c.expires})
			}
			if c.expires != 0 && (first.Expires == 0 || c.expires < first.Expires) {
				first.Expires = c.expires
			}
			cell := hfile.Cell{Row: w.key, Family: sinks[i].name, Qualifier: c.qualifier, Timestamp: c.stamp, Type: hfile.Put, Value: c.value, Tags: c.tags}
			if err := sinks[i].cell.Append(&cell); err != nil {
				return form, WriteError(err)
			}
		}
		if has {
			sinks[i].Rows++
		}
	}
	p.Digest.AddRow(form, len(w.cells))
	p.sampler.add(w.key, form, &first)
	return form, nil
}

// sort splits the records into cells in the order of family and qualifier. Cells
// with the same family and qualifier are in input order, versions from new to old.
func (w *wideRow) sort(plan *cells.Plan) error {
	w.cells = w.cells[:0]
	const tagSize = 2 + 1 + 8
	w.tags = slices.Grow(w.tags[:0], tagSize*len(w.records))
	var at cells.RowTime
	from := 0
	for _, r := range w.records {
		if err := extsort.Values(w.data[from:r.end], w.values); err != nil {
			return err
		}
		from = r.end
		at.Read(plan, w.values)
		n := len(w.tags)
		w.tags = append(w.tags, at.Tags...)
		tags := w.tags[n:]
		family, wide := 0, len(plan.Slots)
		for i := range plan.Slots {
			s := &plan.Slots[i]
			if i >= plan.Families[family].To {
				family++
			}
			qualifier := s.Name
			if s.QualifierOf >= 0 {
				qualifier = w.values[wide]
				wide++
			}
			if w.values[i] != nil {
				w.cells = append(w.cells, wideCell{family, qualifier, w.values[i], tags, at.Stamp, at.Expires, r.seq})
			}
		}
	}
	slices.SortStableFunc(w.cells, func(a, b wideCell) int {
		c := cmp.Or(a.family-b.family, bytes.Compare(a.qualifier, b.qualifier))
		if c == 0 && plan.KeepsVersions() {
			c = cmp.Compare(b.stamp, a.stamp)
		}
		return c
	})
	return nil
}

// decide keeps one cell for each family and qualifier, or as many versions as the family keeps. Equal cells are not
// duplicates: values that do not depend on the qualifier occur in every record of a key. A record with two values for one cell is an error: no policy
// says which of them to keep.
func (w *wideRow) decide(plan *cells.Plan) (dups int64, err error) {
	kept := w.cells[:0]
	versions := 0 // of the place
	var before wideCell
	for i, c := range w.cells {
		if i > 0 && c.sharesPlace(&before) && c.seq == before.seq && !bytes.Equal(c.value, before.value) {
			return dups, fail.AboutData(c.qualifier, "a record makes two cells of family %s with one qualifier, of %s: %w", plan.Families[c.family].Name, setting.Count(len(c.qualifier), "byte"),
				&extsort.DuplicateError{Key: bytes.Clone(w.key), First: c.seq, Second: c.seq})
		}
		before = c
		last := len(kept) - 1
		if last < 0 || !c.sharesPlace(&kept[last]) {
			kept, versions = append(kept, c), 1
			continue
		}
		k := &kept[last]
		if plan.KeepsVersions() && k.stamp != c.stamp {
			if versions++; versions <= plan.Families[c.family].Versions {
				kept = append(kept, c)
			} else {
				dups++
			}
			continue
		}
		if k.stamp == c.stamp && bytes.Equal(k.value, c.value) && bytes.Equal(k.tags, c.tags) {
			continue
		}
		dups++
		switch plan.Duplicates {
		case extsort.Fail:
			return dups, fail.AboutData(c.qualifier, "two records have other values of one cell of family %s, with a qualifier of %s: %w", plan.Families[c.family].Name, setting.Count(len(c.qualifier), "byte"),
				&extsort.DuplicateError{Key: bytes.Clone(w.key), First: k.seq, Second: c.seq})
		case extsort.KeepLast:
			*k = c
		case extsort.KeepAll:
			return dups, fail.AboutData(c.qualifier, "two records have other values of one cell of family %s at one timestamp, with a qualifier of %s: %w", plan.Families[c.family].Name,
				setting.Count(len(c.qualifier), "byte"), &extsort.DuplicateError{Key: bytes.Clone(w.key), First: k.seq, Second: c.seq})
		}
	}
	w.cells = kept
	return dups, nil
}

// AppendWideKey begins the form of a wide row for digests: its key, then for each cell family,
// qualifier and value, each preceded by its length, and the timestamp if it is the cell's own.
func AppendWideKey(dst, key []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(key))), key...)
}

// AppendWideCell appends a cell to that form.
func AppendWideCell(dst []byte, family string, qualifier, value []byte, stamp int64, stamped bool) []byte {
	dst = append(binary.AppendUvarint(dst, uint64(len(family))), family...)
	dst = append(binary.AppendUvarint(dst, uint64(len(qualifier))), qualifier...)
	dst = append(binary.AppendUvarint(dst, uint64(len(value))), value...)
	if stamped {
		dst = binary.BigEndian.AppendUint64(dst, uint64(stamp))
	}
	return dst
}
