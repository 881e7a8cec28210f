package snapshot

import "bulkload/pkg/hfile"

// Rules decide which cells of one family a Scan returns. They are for readers
// of a raw [Scan] that need to know which cells are, or would be, visible. They
// are applied to the cells of one row after another in the order of the scan,
// and are not safe for concurrent use.
type Rules struct{ v visible }

// Rules returns the rules of a scan without Raw. Versions, Now and the family's
// descriptor have the same meaning as in a scan; Now must be set. hidden are
// timestamps that count as deleted, as if every row had a DeleteFamilyVersion
// for them.
func (f Family) Rules(v View, hidden ...int64) *Rules {
	r := &Rules{newVisible(f, v.Versions, false, v.Now.UnixMilli())}
	r.v.hidden = hidden
	return r
}

// Row begins a row.
func (r *Rules) Row() { r.v.row() }

// Shows reports whether the next cell of the family in the row is visible.
func (r *Rules) Shows(c *hfile.Cell) (bool, error) { return r.v.shows(c) }

// Loaded reports whether the current cell is in a bulk-loaded file whose cells all have the same timestamp, like the files of a
// load. Then the cell was not written again by a compaction, nor by an undo, which loads older cells together with its markers.
func (sc *Scan) Loaded() bool {
	f, ok := sc.place.cells.(*fileCells)
	return ok && f.ids.loaded && f.ids.single
}
