package snapshot

import "bulkload/pkg/hfile"

// Rules decide which cells of one family a Scan gives, for readers of all
// of a raw [Scan] and want to know what is seen of it, or what would be. They
// are shown the cells of one row after another in the order of the scan, and
// belong to one goroutine.
type Rules struct{ v visible }

// Rules returns the rules of a scan without Raw. Of Versions, Now and the family's
// descriptor they make what the scan makes of them; Now must be given. hidden
// are timestamps that are taken for deleted, as a DeleteFamilyVersion in every
// row would.
func (f Family) Rules(v View, hidden ...int64) *Rules {
	r := &Rules{newVisible(f, v.Versions, false, v.Now.UnixMilli())}
	r.v.hidden = hidden
	return r
}

// Row begins a row.
func (r *Rules) Row() { r.v.row() }

// Shows decides on the next cell of the family in the row.
func (r *Rules) Shows(c *hfile.Cell) (bool, error) { return r.v.shows(c) }

// Loaded reports whether the current cell is in a file that was bulk-loaded and has cells of one timestamp, as those of a
// load are: no compaction has written the cell again, nor has an undo, which loads older cells with its markers.
func (sc *Scan) Loaded() bool {
	f, ok := sc.place.cells.(*fileCells)
	return ok && f.ids.loaded && f.ids.single
}
