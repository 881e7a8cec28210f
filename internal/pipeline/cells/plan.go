package cells

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/spec"
	"bulkload/pkg/hfile"
	"bulkload/pkg/keygen"
	"bulkload/pkg/partition"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/setting"
)

// A Plan holds everything that determines the content of the HFiles, apart from the inputs.
type Plan struct {
	Table      string      // for file names; may be empty in a build
	Family     spec.Family // the first of the families
	Families   []FamilySpan
	Ranges     *partition.Ranges
	Key        keygen.Expr
	Modulus    int      // of salts
	Stated     int      // the modulus, if the job states it; 0: it is concluded from the split points
	Columns    []string // of the records, in their order
	Timestamp  int64    // milliseconds
	Empty      string   // how empty text is stored: skip, store, or "": store in files that have NULL as well
	Duplicates extsort.Policy
	Mapping    spec.Mapping
	Filter     keygen.Expr // selects the records that have rows; nil: all. Includes the filter of the job's first table
	Salt       spec.Salt   // the secret of salted(x)
	Near       Near        // the hosts on which files are to be written
	Packed     *Packed     // how rows are unpacked; nil: rows are values of slots
	Tables     []string    // inputs that are tables, as the user gave them; not set in a run

	Slots  []Slot // the cells that a record becomes
	order  []int  // columns of the slots, for records whose columns are only reordered
	mapped bool   // records need more than reordering
	wide   []int  // columns with qualifiers in the records: rows are made of all records of a key
	timing timing
}

// NewPlan returns the plan of a spec, the columns of its inputs, the family's
// settings and the split points. [spec.Spec.ApplyTo] has applied the spec's own
// settings to the family. A job of several families finds the settings of each
// among f and more; a family without any gets f's.
func NewPlan(s spec.Job, columns []string, f spec.Family, splits [][]byte, now int64, more ...spec.Family) (*Plan, error) {
	p := &Plan{Table: s.Table, Family: f, Columns: columns, Mapping: s.Mapping, Timestamp: s.Timestamp, Empty: s.Empty}
	p.Timestamp = cmp.Or(p.Timestamp, now)
	p.Duplicates, p.Key, p.Stated = s.Policy(), s.RowKey(), s.Regions
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

// OwnFilter reports whether the table has a filter other than the job's, which is the first table's.
func (p *Plan) OwnFilter(first *Plan) bool {
	return p.Filter != nil && (first.Filter == nil || p.Filter.String() != first.Filter.String())
}

// Joins reports whether rows are made of all records of a key: each record contributes cells of its own, or a version of the row's.
func (p *Plan) Joins() bool { return len(p.wide) > 0 || p.KeepsVersions() }

// KeepsVersions reports whether records of a key are versions of one row.
func (p *Plan) KeepsVersions() bool { return p.Duplicates == extsort.KeepAll }

// MostVersions returns the maximum number of versions of a cell in the files, 0 if each cell has one.
func (p *Plan) MostVersions() (n int) {
	if !p.KeepsVersions() {
		return 0
	}
	for _, f := range p.Families {
		n = max(n, f.Versions)
	}
	return n
}

// checkVersions refuses families that keep only one version of a cell, or whose number of versions is unknown, if the plan keeps versions.
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

// FileName returns the name of a region's HFile.
func (p *Plan) FileName(family string, region int) string {
	if p.Packed != nil {
		return p.Packed.FileName(family, region)
	}
	return hfile.Name("%q %q %d %q", p.Table, family, p.Timestamp, p.Ranges.Start(region))
}

// Timed reports whether cells have times of their own: a timestamp, a time to live or both. Stamped reports on the timestamp, Expires on the
// time to live.
func (p *Plan) Timed() bool   { return p.timing.stamp >= 0 || p.timing.ttl >= 0 }
func (p *Plan) Stamped() bool { return p.timing.stamp >= 0 }
func (p *Plan) Expires() bool { return p.timing.ttl >= 0 }

// Converts reports whether rows have values that are converted or computed, so that a record with a key may have no row.
func (p *Plan) Converts() bool { return p.mapped }

// RowPolicy returns the policy for rows with the same key in a merge.
func (p *Plan) RowPolicy() extsort.Policy {
	if p.Joins() {
		return extsort.KeepAll // the plan's policy applies to cells
	}
	return p.Duplicates
}

// IsIndex reports whether the rows are index entries, which hold the key of the record's row in the first table.
func (p *Plan) IsIndex() bool {
	return slices.ContainsFunc(p.Mapping.Cells, func(c spec.CellSpec) bool { return c.RowKey })
}

// CellByCell reports whether cells are written one by one, because they have times of their own, come from several records of a row, or are packed.
func (p *Plan) CellByCell() bool { return p.Timed() || p.Joins() || p.Packed != nil }

// Near returns the server, host:port, of a row's region: the region's files are written on that host. nil: anywhere.
type Near func(row []byte) string

// Of returns the server of a row, empty if it is unknown.
func (n Near) Of(row []byte) string {
	if n == nil {
		return ""
	}
	return n(row)
}

// Packed determines how a plan's rows are written if their reader has packed whole cells, with their own
// timestamps, into the sort.
type Packed struct {
	FileName func(family string, region int) string // of the HFile of a region
	Decoder  func(notes string) RowDecoder          // for the rows of one region
	// Locate adds the positions of the records to an error about two rows with the same key, for merges of parts.
	Locate func(ctx context.Context, err error) error
}

// A RowDecoder unpacks the rows of one region. It belongs to one goroutine.
type RowDecoder interface {
	// Row calls add for each cell of a row, in the order of cells, with the number of the cell's family in the plan. The cell need
	// not have a row or family. It is valid, and may be changed, until add returns.
	Row(payload []byte, add func(family int, c *hfile.Cell) error) error
	// Total returns the totals of all rows; times is nil if there were no rows.
	Total() (sum manifest.RowSum, times *manifest.CellTimes)
}

// NewPackedPlan returns the plan of packed rows. Its timestamp replaces every clock.
func NewPackedPlan(table string, key keygen.Expr, families []spec.Family, ranges *partition.Ranges, timestamp int64, duplicates extsort.Policy, how Packed) *Plan {
	p := &Plan{Table: table, Family: families[0], Ranges: ranges, Key: key, Columns: []string{}, Timestamp: timestamp, Duplicates: duplicates,
		Packed: &how, timing: timing{stamp: -1, ttl: -1}}
	for _, f := range families {
		p.Families = append(p.Families, FamilySpan{Family: f})
	}
	return p
}

// Decoder returns a constructor of decoders for the rows of a region, nil if rows are not packed.
func (p *Plan) Decoder(notes string) func() RowDecoder {
	if p.Packed == nil {
		return nil
	}
	return func() RowDecoder { return p.Packed.Decoder(notes) }
}
