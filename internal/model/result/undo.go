package result

import (
	"time"

	"bulkload/internal/model/manifest"
)

// Undo is the result of undoing a load, or of a dry run of that.
type Undo struct {
	Schema    int           `json:"schema"` // version of this format: 1
	Table     string        `json:"table"`
	Job       string        `json:"job"` // state directory
	Timestamp int64         `json:"timestamp"`
	DryRun    bool          `json:"dry_run,omitempty"`              // nothing was changed
	Already   bool          `json:"already_undone,omitempty"`       // undone by an earlier undo
	DoneAt    time.Time     `json:"done_at,omitzero"`               // when that undo ended
	Snapshot  string        `json:"snapshot,omitempty"`             // taken by the undo, before any change; empty: deleted
	Before    string        `json:"snapshot_before_load,omitempty"` // from before the load: taken by the job, or given
	Survey    *Survey       `json:"survey"`
	Refused   []string      `json:"refused,omitempty"` // the reasons why delete markers would lose data; empty: they would not
	Markers   int64         `json:"markers"`           // delete markers written
	Copies    int64         `json:"copies,omitempty"`  // older cells written again with the markers, so that no compaction drops them
	Files     int           `json:"files"`             // with markers and copies
	Bytes     int64         `json:"bytes"`
	Verify    string        `json:"verify,omitempty"` // full or range; off: not verified, at the second try of a restore without a timestamp
	Elapsed   time.Duration `json:"elapsed_ns"`
	By        string        `json:"by,omitempty"`      // snapshot; empty: delete markers
	Into      string        `json:"into,omitempty"`    // the new table with the snapshot's contents; empty: the table itself has them
	Restore   *Restore      `json:"restore,omitempty"` // undo by snapshot: the changes to the table
	Index     string        `json:"index,omitempty"`   // name of the index that the table is; empty: it is not an index
	Tables    []*Undo       `json:"tables,omitempty"`  // further tables of a job of several, in loading order; Refused has the refusals of all
}

// At returns a copy that has the time when the undo ended; nil of nil.
func (u *Undo) At(ended time.Time) *Undo {
	if u == nil {
		return nil
	}
	done := *u
	done.DoneAt = ended
	return &done
}

// Restore counts the changes of a table that is restored from a snapshot from before the load. A reader requests the newest version of a column.
type Restore struct {
	Before   manifest.Digest `json:"before"`          // all cells that readers see in the snapshot, and afterwards in the table
	Versions manifest.Digest `json:"before_versions"` // likewise, for readers of all versions that are kept
	Removed  int64           `json:"cells_removed"`   // cells of the load that readers see now
	Restored int64           `json:"cells_restored"`  // cells that the load overwrote or replaced, and that are visible again

	Written  int64    `json:"cells_lost"`                 // newer than the snapshot and not from the load
	Deleted  int64    `json:"deletes_lost"`               // cells of the snapshot that others deleted, and that are visible again
	Rows     int64    `json:"rows_lost"`                  // with lost cells or lost deletes
	Unmarked bool     `json:"load_unmarked,omitempty"`    // the load's cells cannot be distinguished from those of others, so Written includes them
	Settings []string `json:"settings_changed,omitempty"` // settings of the table changed since the snapshot, which has the old ones
	Jobs     []string `json:"jobs_lost,omitempty"`        // other jobs of the state directory that have loaded into the table since
	InBefore int64    `json:"load_in_snapshot,omitempty"` // cells of the load in the snapshot; if there are any, it was not taken before the load
}

// Loses reports whether cells, deletes or settings of others are lost, or may be.
func (r *Restore) Loses() bool {
	return r.Written > 0 || r.Deleted > 0 || len(r.Settings) > 0 || len(r.Jobs) > 0
}

// Add adds the counts of another part of the table.
func (r *Restore) Add(o *Restore) {
	r.Before.Add(o.Before)
	r.Versions.Add(o.Versions)
	for _, n := range []struct{ to, from *int64 }{
		{&r.Removed, &o.Removed}, {&r.Restored, &o.Restored}, {&r.Written, &o.Written}, {&r.Deleted, &o.Deleted}, {&r.Rows, &o.Rows}, {&r.InBefore, &o.InBefore},
	} {
		*n.to += *n.from
	}
}

// Survey describes what a snapshot of a table contains of one load: the cells with its timestamp, and the cells and markers next to them. A reader
// requests the newest version of a column.
type Survey struct {
	Table     string          `json:"table"`
	Timestamp int64           `json:"timestamp"`
	Load      manifest.Digest `json:"load"`    // cells of the load that are present
	Foreign   int64           `json:"foreign"` // rows with cells that have the load's timestamp but cannot be from the load
	Marked    int64           `json:"marked"`  // rows in which a delete marker already hides the timestamp

	RowsAdded        int64 `json:"rows_added"`       // rows without older cells
	RowsOverwritten  int64 `json:"rows_overwritten"` // rows that existed before
	CellsAdded       int64 `json:"cells_added"`      // cells without an older cell in their column
	CellsOverwritten int64 `json:"cells_overwritten"`
	CellsUnchanged   int64 `json:"cells_unchanged"` // overwritten cells with the same value as before

	CellsSeen     int64 `json:"cells_seen"`     // cells of the load that readers see; newer ones hide the others
	RowsRestored  int64 `json:"rows_restored"`  // rows in which older cells become visible again without the load
	CellsRestored int64 `json:"cells_restored"` // number of these cells
	RowsGone      int64 `json:"rows_gone"`      // rows whose only visible cells are the load's

	Rest     manifest.Digest `json:"rest"`          // all cells that readers see without the load
	Versions manifest.Digest `json:"rest_versions"` // likewise, for readers of all versions that are kept
	Families []SurveyFamily  `json:"families"`
	Regions  []SurveyRegion  `json:"regions"`

	Tables []*Survey `json:"tables,omitempty"` // further tables of a job of several, in loading order
}

// SurveyFamily describes one family of the load.
type SurveyFamily struct {
	Family   string `json:"family"`
	Versions int    `json:"versions"` // VERSIONS of the family
	// MinVersions is MIN_VERSIONS of a family with a TTL: so many versions stay when they are older than that. 0: none stays, or there is no TTL.
	MinVersions int `json:"min_versions,omitempty"`
	// KeepDeleted is KEEP_DELETED_CELLS: a deleted cell still counts among the versions.
	KeepDeleted bool `json:"keep_deleted_cells,omitempty"`

	Rows      int64 `json:"rows"`      // with cells of the load
	Cells     int64 `json:"cells"`     // cells of the load
	Compacted int64 `json:"compacted"` // cells of the load that a compaction has rewritten: it may have dropped the cells that they overwrote
	Deletes   int64 `json:"deletes"`   // rows of the load in which markers delete single other timestamps
}

// SurveyRegion describes one region's cells of the load.
type SurveyRegion struct {
	Region      string  `json:"region"` // encoded name
	Rows        int64   `json:"rows"`
	Cells       int64   `json:"cells"`
	Added       int64   `json:"rows_added"`
	Overwritten int64   `json:"rows_overwritten"`
	Families    []int64 `json:"-"` // rows per family of the survey
	Keys        []Key   `json:"keys,omitempty"`
}

// Key is a row that a load changed.
type Key struct {
	Row         string `json:"row"` // in HBase's printed form
	Overwritten bool   `json:"overwritten"`
}

// Add adds the counts of another part of the table, which has the same families.
func (s *Survey) Add(o *Survey) {
	s.Load.Add(o.Load)
	s.Rest.Add(o.Rest)
	s.Versions.Add(o.Versions)
	for _, n := range []struct{ to, from *int64 }{
		{&s.Foreign, &o.Foreign}, {&s.Marked, &o.Marked}, {&s.RowsAdded, &o.RowsAdded}, {&s.RowsOverwritten, &o.RowsOverwritten},
		{&s.CellsAdded, &o.CellsAdded}, {&s.CellsOverwritten, &o.CellsOverwritten}, {&s.CellsUnchanged, &o.CellsUnchanged},
		{&s.CellsSeen, &o.CellsSeen}, {&s.RowsRestored, &o.RowsRestored}, {&s.CellsRestored, &o.CellsRestored}, {&s.RowsGone, &o.RowsGone},
	} {
		*n.to += *n.from
	}
	for i, f := range o.Families {
		t := &s.Families[i]
		t.Rows += f.Rows
		t.Cells += f.Cells
		t.Compacted += f.Compacted
		t.Deletes += f.Deletes
	}
	s.Regions = append(s.Regions, o.Regions...)
}
