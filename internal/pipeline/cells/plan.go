package cells

import (
	"fmt"
	"slices"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/pkg/hfile"
	"bulkload/pkg/keygen"
	"bulkload/pkg/partition"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/setting"
)

// A Plan is all that the content of the HFiles depends on besides the inputs.
type Plan struct {
	Table      string      // for names; may be empty in a build
	Family     spec.Family // the first of the families
	Families   []FamilySpan
	Ranges     *partition.Ranges
	Key        keygen.Expr
	Modulus    int      // of salts
	Columns    []string // of the records, in their order
	Timestamp  int64    // milliseconds
	Empty      string   // what an empty text becomes: skip, store, or "": store in files that have NULL as well
	Duplicates extsort.Policy
	Mapping    spec.Mapping
	Filter     keygen.Expr // of the records that have rows; nil: all. That of a job's first table is part of each other's
	Salt       spec.Salt   // the secret of salted(x)
	Near       Near        // where the files are to be
	Packed     *Packed     // how rows are unpacked; nil: they are values of slots
	Tables     []string    // inputs that are tables, as they were given; a run does not say

	Slots  []Slot // what a record becomes
	order  []int  // columns of the slots, for records that only need to be put in order
	mapped bool   // they need more
	wide   []int  // columns of the qualifiers that are in records: rows are made of all records of a key
	timing timing
}

// NewPlan makes a plan from a spec, the columns of its inputs, the family's
// settings and the split points. The spec's own settings of the family have
// been applied to it by [spec.Spec.ApplyTo]. A job of several families has the
// settings of each among f and more; f's are those of one that is not there.
func NewPlan(s spec.Job, columns []string, f spec.Family, splits [][]byte, now int64, more ...spec.Family) (*Plan, error) {
	p := &Plan{Table: s.Table, Family: f, Columns: columns, Mapping: s.Mapping, Timestamp: s.Timestamp, Empty: s.Empty}
	if p.Timestamp == 0 {
		p.Timestamp = now
	}
	p.Duplicates, p.Key = s.Policy(), s.RowKey()
	var err error
	if p.Ranges, err = partition.New(splits); err != nil {
		return nil, fail.With(fail.Config, err)
	}
	if p.Modulus, err = s.SaltModulus(splits); err != nil {
		return nil, err
	}
	if _, err := keygen.Check(p.Key, keygen.CheckOptions{Columns: columns}); err != nil {
		return nil, fail.With(fail.Config, fmt.Errorf("key %s: %w", s.Key(), err))
	}
	if p.Filter = s.RowFilter(); p.Filter != nil {
		if err := keygen.CheckValue(p.Filter, columns); err != nil {
			return nil, fail.With(fail.Config, fmt.Errorf("filter: %w", err))
		}
	}
	if p.Salt, err = s.Salt(); err != nil {
		return nil, err
	}
	for _, c := range s.Query {
		if !slices.Contains(columns, c) {
			return nil, fail.Errorf(fail.Config, "query: unknown column %q (the input has %s)", c, keygen.ColumnList(columns))
		}
	}
	return p, p.MapCells(s.Mapping, s.FamilyName(), append(more, f))
}

// OwnFilter reports whether the table has a filter besides the job's, which is the first table's.
func (p *Plan) OwnFilter(first *Plan) bool {
	return p.Filter != nil && (first.Filter == nil || p.Filter.String() != first.Filter.String())
}

// Joins reports whether rows are made of all records of a key: each record has other cells, or a version of the row's cells.
func (p *Plan) Joins() bool { return len(p.wide) > 0 || p.KeepsVersions() }

// KeepsVersions reports whether records of a key are versions of one row.
func (p *Plan) KeepsVersions() bool { return p.Duplicates == extsort.KeepAll }

// MostVersions returns how many versions of a cell the files can have, 0 where they have one of each.
func (p *Plan) MostVersions() (n int) {
	if !p.KeepsVersions() {
		return 0
	}
	for _, f := range p.Families {
		n = max(n, f.Versions)
	}
	return n
}

// checkVersions refuses families that keep one version of a cell, and those whose number of versions is not known.
func (p *Plan) checkVersions() error {
	for _, f := range p.Families {
		switch {
		case !p.KeepsVersions() || f.Versions > 1:
		case f.Versions == 1:
			return fail.With(fail.Config, setting.Errorf("family %s keeps 1 version of a cell, and %s asks for several: alter its VERSIONS, or say last", f.Name, setting.Duplicates))
		default:
			return fail.With(fail.Config, setting.Errorf("no table says how many versions family %s keeps: give %s", f.Name, setting.Versions))
		}
	}
	return nil
}

// Qualifiers returns the qualifiers of a family's cells in order.
func (p *Plan) Qualifiers(f FamilySpan) [][]byte {
	var q [][]byte
	for _, s := range p.Slots[f.From:f.To] {
		q = append(q, []byte(s.qualifier))
	}
	return q
}

// HFileOptions returns the writer's for every file of a family. The job's
// timestamp replaces each clock, so the same plan gives the same bytes.
func (p *Plan) HFileOptions(f spec.Family) hfile.Options {
	return hfile.Options{
		Family:      []byte(f.Name),
		Compression: f.Compression,
		Level:       f.Level,
		Zstd:        f.Zstd,
		Encoding:    f.Encoding,
		Bloom:       f.Bloom,
		BloomPrefix: f.BloomPrefix,
		BlockSize:   f.BlockSize,
		CreateTime:  p.Timestamp, BulkloadTime: p.Timestamp,
	}
}

// FileName returns the name of a region's HFile.
func (p *Plan) FileName(family string, region int) string {
	if p.Packed != nil {
		return p.Packed.FileName(family, region)
	}
	return hfile.Name("%q %q %d %q", p.Table, family, p.Timestamp, p.Ranges.Start(region))
}

// Timed reports whether cells have times of their own: a timestamp, a time to live or both. Stamped is of the timestamp, Expires of the time to
// live.
func (p *Plan) Timed() bool   { return p.timing.stamp >= 0 || p.timing.ttl >= 0 }
func (p *Plan) Stamped() bool { return p.timing.stamp >= 0 }
func (p *Plan) Expires() bool { return p.timing.ttl >= 0 }

// RowPolicy returns how rows with the same key are merged.
func (p *Plan) RowPolicy() extsort.Policy {
	if p.Joins() {
		return extsort.KeepAll // it is about cells
	}
	return p.Duplicates
}

// IsIndex reports whether the rows are entries of an index: one of a record has its key in the first table.
func (p *Plan) IsIndex() bool {
	return slices.ContainsFunc(p.Mapping.Cells, func(c spec.CellSpec) bool { return c.RowKey })
}

// CellByCell reports whether cells are written one by one: they have times of their own, or come from several records of a row.
func (p *Plan) CellByCell() bool { return p.Timed() || p.Joins() || p.Packed != nil }

// Near gives the server, host:port, of the region that has a row: its files are written on that host. nil: anywhere.
type Near func(row []byte) string

// Of returns the server of a row, empty if it is not known.
func (n Near) Of(row []byte) string {
	if n == nil {
		return ""
	}
	return n(row)
}
