package result

import (
	"fmt"
	"time"
)

// Replace counts the rows that a run deletes from its table, so that the table holds
// exactly the export, as a snapshot from before the load says.
type Replace struct {
	Rows    int64  `json:"rows"`        // of the table before
	Deleted int64  `json:"deleted"`     // of them that are not in the export
	Changed int64  `json:"changed"`     // that are in it without some of their columns
	Limit   string `json:"max_deletes"` // how many may be deleted: a number, or a percentage of the rows before
	Markers int64  `json:"markers"`     // delete markers, at most one for each row and family
	Files   int    `json:"files"`       // with them
	Bytes   int64  `json:"bytes"`       // of those
}

// String returns the counts of the rows from before the load, as text.
func (r *Replace) String() string {
	return fmt.Sprintf("%d of the %d rows before are deleted, %d have lost columns", r.Deleted, r.Rows, r.Changed)
}

// Fresh is the old table of a run that makes a new one to take its place.
type Fresh struct {
	From         string   `json:"from"`                   // the old one, which is as it was
	Coprocessors []string `json:"coprocessors,omitempty"` // that the new one has of the old one's descriptor, as written there
	Before       *Before  `json:"before,omitempty"`       // what the old one has that the export lacks; nil: it was not compared
}

// String returns the table's name and its rows that the export lacks, as text.
func (f *Fresh) String() string {
	if f.Before == nil {
		return fmt.Sprintf("table %s, not compared with it", f.From)
	}
	return fmt.Sprintf("table %s: %s", f.From, f.Before)
}

// Before counts the rows of a table that an export lacks, by a snapshot from before the
// load says.
type Before struct {
	Rows    int64  `json:"rows"`        // of the table
	Missing int64  `json:"missing"`     // of them that are not in the export
	Changed int64  `json:"changed"`     // that are in it without some of their columns
	Limit   string `json:"max_deletes"` // how many may be missing: a number, or a percentage of the rows
}

// String returns the counts as text.
func (b *Before) String() string {
	return fmt.Sprintf("%d of the %d rows before are not in the export, %d have lost columns", b.Missing, b.Rows, b.Changed)
}

// Dropped is an old table that was dropped, and the one in its place.
type Dropped struct {
	Schema  int       `json:"schema"` // version of this form: 1
	Table   string    `json:"table"`  // the old one
	Fresh   string    `json:"fresh"`  // the one in its place
	Job     string    `json:"job"`    // the directory of its state
	At      time.Time `json:"dropped_at"`
	Already bool      `json:"already_done,omitempty"` // by an earlier run: nothing was done now
}
