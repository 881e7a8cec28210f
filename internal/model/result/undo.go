package result

import (
	"time"

	"bulkload/internal/model/manifest"
)

// Undo is a load that was taken out of its table again, or would be.
type Undo struct {
	Schema    int           `json:"schema"` // version of this form: 1
	Table     string        `json:"table"`
	Job       string        `json:"job"` // the directory of its state
	Timestamp int64         `json:"timestamp"`
	DryRun    bool          `json:"dry_run,omitempty"`              // nothing was changed
	Already   bool          `json:"already_undone,omitempty"`       // by an earlier undo
	DoneAt    time.Time     `json:"done_at,omitzero"`               // likewise: when
	Snapshot  string        `json:"snapshot,omitempty"`             // of the table as it was before; empty: it is deleted
	Before    string        `json:"snapshot_before_load,omitempty"` // taken by the job, or given
	Survey    *Survey       `json:"survey"`
	Refused   []string      `json:"refused,omitempty"` // why markers would lose something; empty: they do not
	Markers   int64         `json:"markers"`           // that were written
	Copies    int64         `json:"copies,omitempty"`  // older cells that were written with them, so that no compaction drops them
	Files     int           `json:"files"`             // in which
	Bytes     int64         `json:"bytes"`
	Verify    string        `json:"verify,omitempty"` // full or range
	Elapsed   time.Duration `json:"elapsed_ns"`
	By        string        `json:"by,omitempty"`      // snapshot; empty: markers
	Into      string        `json:"into,omitempty"`    // the new table that has what the snapshot has; empty: the table itself has
	Restore   *Restore      `json:"restore,omitempty"` // by snapshot: what becomes of the table
	Index     string        `json:"index,omitempty"`   // name of the index that the table is; empty: it is none
	Tables    []*Undo       `json:"tables,omitempty"`  // of a job of several: its further tables, in the order of loading; Refused has all refusals
}

// Restore is a table that becomes what a snapshot from before the load has. A reader is one that asks for the newest version of a column.
type Restore struct {
	Before   manifest.Digest `json:"before"`          // all that readers see of the snapshot, and then of the table
	Versions manifest.Digest `json:"before_versions"` // likewise, for readers of all versions that are kept
	Removed  int64           `json:"cells_removed"`   // of the load, that readers see now
	Restored int64           `json:"cells_restored"`  // that the load has overwritten or replaced, and that are seen again

	Written  int64    `json:"cells_lost"`                 // newer than the snapshot and not of the load
	Deleted  int64    `json:"deletes_lost"`               // cells of the snapshot that others have deleted, and that are seen again
	Rows     int64    `json:"rows_lost"`                  // with one of either
	Unmarked bool     `json:"load_unmarked,omitempty"`    // the load's cells cannot be distinguished from others': Written has them
	Settings []string `json:"settings_changed,omitempty"` // of the table since the snapshot, which has the old ones
	Jobs     []string `json:"jobs_lost,omitempty"`        // others of the state directory that have loaded into the table since
	InBefore int64    `json:"load_in_snapshot,omitempty"` // cells of the load that the snapshot has: it is not from before
}

// Loses reports whether cells, deletes or settings of others are lost, or may be.
func (r *Restore) Loses() bool {
	return r.Written > 0 || r.Deleted > 0 || len(r.Settings) > 0 || len(r.Jobs) > 0
}

// Add counts another part of the table.
func (r *Restore) Add(o *Restore) {
	r.Before.Add(o.Before)
	r.Versions.Add(o.Versions)
	for _, n := range []struct{ to, from *int64 }{
		{&r.Removed, &o.Removed}, {&r.Restored, &o.Restored}, {&r.Written, &o.Written}, {&r.Deleted, &o.Deleted}, {&r.Rows, &o.Rows}, {&r.InBefore, &o.InBefore},
	} {
		*n.to += *n.from
	}
}

// Survey counts the cells of one load in a snapshot of a table: the cells of its
// timestamp and what is next to them. A reader is one that asks for the newest
// version of a column.
type Survey struct {
	Table     string          `json:"table"`
	Timestamp int64           `json:"timestamp"`
	Load      manifest.Digest `json:"load"`    // of the cells that are there of it
	Foreign   int64           `json:"foreign"` // rows with cells of the timestamp that it cannot have written
	Marked    int64           `json:"marked"`  // rows in which a marker hides the timestamp already

	RowsAdded        int64 `json:"rows_added"`       // that have nothing older
	RowsOverwritten  int64 `json:"rows_overwritten"` // that were there before
	CellsAdded       int64 `json:"cells_added"`      // columns that have nothing older
	CellsOverwritten int64 `json:"cells_overwritten"`
	CellsUnchanged   int64 `json:"cells_unchanged"` // of those overwritten: with the value that was there

	CellsSeen     int64 `json:"cells_seen"`     // of the load that readers see; newer ones hide the others
	RowsRestored  int64 `json:"rows_restored"`  // in which older cells are seen again without the load
	CellsRestored int64 `json:"cells_restored"` // that many
	RowsGone      int64 `json:"rows_gone"`      // without a visible cell but for the load's

	Rest     manifest.Digest `json:"rest"`          // all that readers see without the load
	Versions manifest.Digest `json:"rest_versions"` // likewise, for readers of all versions that are kept
	Families []SurveyFamily  `json:"families"`
	Regions  []SurveyRegion  `json:"regions"`

	Tables []*Survey `json:"tables,omitempty"` // of a job of several: its further tables, in the order of loading
}

// SurveyFamily is a family of the load.
type SurveyFamily struct {
	Family   string `json:"family"`
	Versions int    `json:"versions"` // that it keeps of a column
	// KeepDeleted is KEEP_DELETED_CELLS: a marker does not end a cell's counting among the versions.
	KeepDeleted bool `json:"keep_deleted_cells,omitempty"`

	Rows      int64 `json:"rows"`      // with cells of the load
	Cells     int64 `json:"cells"`     // of it
	Compacted int64 `json:"compacted"` // of them, that a compaction has written again: it may have dropped what they overwrote
	Deletes   int64 `json:"deletes"`   // rows of the load in which markers delete single other timestamps
}

// SurveyRegion counts the cells of the load in a region.
type SurveyRegion struct {
	Region      string  `json:"region"` // encoded name
	Rows        int64   `json:"rows"`
	Cells       int64   `json:"cells"`
	Added       int64   `json:"rows_added"`
	Overwritten int64   `json:"rows_overwritten"`
	Families    []int64 `json:"-"` // rows of each family of the survey
	Keys        []Key   `json:"keys,omitempty"`
}

// Key is a row that a load has changed.
type Key struct {
	Row         string `json:"row"` // as HBase prints it
	Overwritten bool   `json:"overwritten"`
}

// Add counts another part of the table, of the same families.
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
