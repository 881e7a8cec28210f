package checkpoint

import (
	"errors"
	"time"

	"bulkload/internal/engine/journal"
	"bulkload/internal/model/result"
	"bulkload/pkg/keygen/rowkey"
)

// FreshRecord describes a table that the job makes to replace another table.
type FreshRecord struct {
	Table    string         `json:"table"` // the new table; empty: a table of that name belongs to another job
	From     string         `json:"from"`  // the old table
	Splits   []rowkey.Key   `json:"splits"`
	Old      *TableRecord   `json:"old_made"`           // by which the old table is identified later
	Made     *TableRecord   `json:"table_made"`         // likewise for the new one; null: it may not exist yet
	Compared *result.Before `json:"compared,omitempty"` // what the old table has that the export lacks; nil: not compared yet
}

// DropRecord describes the old table that the job's table replaces.
type DropRecord struct {
	Table string `json:"table"`

	At   time.Time `json:"-"` // time of the record
	Done bool      `json:"-"` // it was dropped
}

// FreshState is the state of a table that replaces another.
type FreshState struct {
	From     string         `json:"from"`               // the old table
	Made     bool           `json:"made"`               // the new table exists, or existed
	Compared *result.Before `json:"compared,omitempty"` // what the old table has that the export lacks
	Old      string         `json:"old"`                // state of the old table: kept, dropping, dropped
	At       time.Time      `json:"dropped_at,omitzero"`
	Cluster  string         `json:"-"` // id of the cluster; empty: not known
}

// States of the old table.
const (
	OldKept     = "kept"
	OldDropping = "dropping" // begun; the same command finishes it
	OldDropped  = "dropped"
)

func (h *History) fresh(f FreshRecord) {
	if h.Fresh = nil; f.Table != "" {
		h.Fresh = &f
	}
}

func (h *History) drop(r journal.Record, d DropRecord) error {
	if h.Fresh == nil || !h.Finished {
		return errors.New("the job did not finish a table that replaces another")
	}
	h.Drop = DropRecord{Table: d.Table, At: r.Time, Done: Event(r.Event) == EventDropped}
	return nil
}

func (h *History) freshState() *FreshState {
	if h.Fresh == nil {
		return nil
	}
	s := &FreshState{From: h.Fresh.From, Made: h.Fresh.Made != nil, Compared: h.Fresh.Compared, Old: OldKept}
	if h.Fresh.Old != nil {
		s.Cluster = h.Fresh.Old.Cluster
	}
	switch {
	case h.Drop.Done:
		s.Old, s.At = OldDropped, h.Drop.At
	case h.Drop.Table != "":
		s.Old = OldDropping
	}
	return s
}
