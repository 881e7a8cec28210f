package result

import (
	"fmt"
	"time"
)

// Replace counts the rows and columns that a run deletes from its table, so that
// the table holds exactly the export. The counts are based on a snapshot from
// before the load.
type Replace struct {
	Rows    int64  `json:"rows"`        // of the table before the load
	Deleted int64  `json:"deleted"`     // rows that are not in the export
	Changed int64  `json:"changed"`     // rows in the export that lose some of their columns
	Limit   string `json:"max_deletes"` // maximum of deleted rows: a number, or a percentage of the rows before
	Markers int64  `json:"markers"`     // delete markers, at most one for each row and family
	Files   int    `json:"files"`       // files with delete markers
	Bytes   int64  `json:"bytes"`       // of these files
}

// String returns a readable form: the effect on the rows from before.
func (r *Replace) String() string {
	return fmt.Sprintf("%d of the %d rows before are deleted, %d have lost columns", r.Deleted, r.Rows, r.Changed)
}

// Fresh describes the old table of a run that builds a new table to replace it.
type Fresh struct {
	From         string   `json:"from"`                   // the old table, unchanged
	Coprocessors []string `json:"coprocessors,omitempty"` // copied from the old table's descriptor to the new one, as written there
	Before       *Before  `json:"before,omitempty"`       // what the old table has that the export lacks; nil: not compared
}

// String returns a readable form: the old table, and what it has that the export
// lacks.
func (f *Fresh) String() string {
	if f.Before == nil {
		return fmt.Sprintf("table %s, not compared with it", f.From)
	}
	return fmt.Sprintf("table %s: %s", f.From, f.Before)
}

// Before counts what a table has that an export lacks. It is based on a snapshot
// from before the load.
type Before struct {
	Rows    int64  `json:"rows"`        // of the table
	Missing int64  `json:"missing"`     // rows that are not in the export
	Changed int64  `json:"changed"`     // rows in the export without some of their columns
	Limit   string `json:"max_deletes"` // maximum of missing rows: a number, or a percentage of the rows
}

// String returns a readable form.
func (b *Before) String() string {
	return fmt.Sprintf("%d of the %d rows before are not in the export, %d have lost columns", b.Missing, b.Rows, b.Changed)
}

// Dropped describes an old table that was dropped, and the table that replaced it.
type Dropped struct {
	Schema  int       `json:"schema"` // version of this format: 1
	Table   string    `json:"table"`  // the old table
	Fresh   string    `json:"fresh"`  // the table in its place
	Job     string    `json:"job"`    // state directory
	At      time.Time `json:"dropped_at"`
	Already bool      `json:"already_done,omitempty"` // done by an earlier run; this run did nothing
}
