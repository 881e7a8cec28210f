package history

import (
	"bulkload/internal/engine/journal"
	"bulkload/internal/model/result"
	"bulkload/pkg/keygen/rowkey"
	"errors"
	"time"
)

// TableRecord identifies a table: one that was dropped and created again, or
// truncated, has the same name and often the same split points, but none of the old
// rows.
type TableRecord struct {
	Cluster string         `json:"cluster,omitempty"` // cluster id
	State   int64          `json:"state_time"`        // when the master last wrote the table's state, milliseconds
	Dir     uint64         `json:"dir_id,omitempty"`  // inode of its directory on HDFS; 0: not readable
	Regions []RegionRecord `json:"regions"`           // in row order: the split points are their start keys
}

// RegionRecord identifies a region.
type RegionRecord struct {
	Name string `json:"region"` // encoded name
	Made uint64 `json:"made"`   // region id: its creation time, milliseconds
}

// Sameness is the result of comparing a table with its record.
type Sameness int

const (
	SameTable Sameness = iota
	OtherTable
	DoubtfulTable // it was out of service meanwhile, and no remaining trace decides
)

// Compare reports whether a table is still the recorded one.
//
// Creating, truncating and restoring a table writes its state, a split and a merge
// do not: a table with the recorded state time, to the millisecond, is the same.
// Otherwise it may have been disabled and enabled. Then its directory decides,
// which is created again together with the table, or a recorded region that
// hbase:meta still has, since the name of a region contains its creation time. A
// region that was split or merged stays there for some minutes only.
func (t TableRecord) Compare(now TableRecord, traces func() (map[string]bool, error)) (Sameness, error) {
	switch {
	case t.State == now.State:
		return SameTable, nil
	case t.Dir != 0 && now.Dir != 0 && t.Dir == now.Dir:
		return SameTable, nil
	case t.Dir != 0 && now.Dir != 0:
		return OtherTable, nil
	}
	left, err := traces()
	if err != nil {
		return DoubtfulTable, err
	}
	for _, r := range t.Regions {
		if left[r.Name] {
			return SameTable, nil
		}
	}
	return DoubtfulTable, nil
}

// Oldest returns the creation time of the oldest region.
func (t TableRecord) Oldest() time.Time {
	var first uint64
	for i, r := range t.Regions {
		if i == 0 || r.Made < first {
			first = r.Made
		}
	}
	return time.UnixMilli(int64(first)).UTC()
}

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

// FreshState returns the state of the table that the job makes to replace another; nil if it makes none.
func (h *History) FreshState() *FreshState {
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
