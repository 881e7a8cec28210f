package result

import "fmt"

// Replace is what a run takes away from its table, so that the table holds
// exactly the export, as a snapshot of before the load says.
type Replace struct {
	Rows    int64  `json:"rows"`        // of the table before
	Deleted int64  `json:"deleted"`     // of them that are not in the export
	Changed int64  `json:"changed"`     // that are in it without some of their columns
	Limit   string `json:"max_deletes"` // how many may be deleted: a number, or a percentage of the rows before
	Markers int64  `json:"markers"`     // delete markers, at most one for each row and family
	Files   int    `json:"files"`       // with them
	Bytes   int64  `json:"bytes"`       // of those
}

// String is for people: what becomes of the rows before.
func (r *Replace) String() string {
	return fmt.Sprintf("%d of the %d rows before are deleted, %d have lost columns", r.Deleted, r.Rows, r.Changed)
}
