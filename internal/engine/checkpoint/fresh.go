package checkpoint

import (
	"errors"
	"time"

	"bulkload/internal/engine/journal"
	"bulkload/internal/model/result"
	"bulkload/pkg/keygen/rowkey"
)

// FreshRecord is a table that the job makes, and the one whose place it takes.
type FreshRecord struct {
	Table    string         `json:"table"` // the new one; empty: one of that name is another's
	From     string         `json:"from"`  // the old one
	Splits   []rowkey.Key   `json:"splits"`
	Old      *TableRecord   `json:"old_made"`           // by which the old one is known again
	Made     *TableRecord   `json:"table_made"`         // likewise the new one; null: it may not be there yet
	Compared *result.Before `json:"compared,omitempty"` // what the old one has that the export lacks; nil: that is not known yet
}

// DropRecord is the old table of a job whose own takes its place.
type DropRecord struct {
	Table string `json:"table"`

	At   time.Time `json:"-"` // of the record
	Done bool      `json:"-"` // it is gone
}

// FreshState is the state of a table that takes the place of another.
type FreshState struct {
	From     string         `json:"from"`               // the old table
	Made     bool           `json:"made"`               // the new one is there, or was
	Compared *result.Before `json:"compared,omitempty"` // what the old one has that the export lacks
	Old      string         `json:"old"`                // what became of the old one: kept, dropping, dropped
	At       time.Time      `json:"dropped_at,omitzero"`
}

// The states of the old table.
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
	switch {
	case h.Drop.Done:
		s.Old, s.At = OldDropped, h.Drop.At
	case h.Drop.Table != "":
		s.Old = OldDropping
	}
	return s
}
