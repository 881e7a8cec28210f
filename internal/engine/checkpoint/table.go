package checkpoint

import "time"

// TableRecord has the facts by which a job recognizes its table: a table that was dropped
// and made again, or emptied, has the name and often the split points of the old
// one, and none of its rows.
type TableRecord struct {
	Cluster string         `json:"cluster,omitempty"` // its id
	State   int64          `json:"state_time"`        // when the master wrote the table's state last, milliseconds
	Dir     uint64         `json:"dir_id,omitempty"`  // inode of its directory on HDFS; 0: it cannot be read
	Regions []RegionRecord `json:"regions"`           // in the order of their rows: the split points are their starts
}

// RegionRecord is a region as it was.
type RegionRecord struct {
	Name string `json:"region"` // encoded
	Made uint64 `json:"made"`   // its id: when it was made, milliseconds
}

// Sameness is the result of comparing a table with the one of the plan.
type Sameness int

const (
	sameTable Sameness = iota
	OtherTable
	DoubtfulTable // it was out of service meanwhile, and no trace is left that says more
)

// Compare reports whether a table is the one that it was.
//
// To make, to empty and to restore a table writes its state, a split and a merge do
// not: one that has the state of then, to the millisecond, is the same. If it has
// another, it may have been disabled and enabled. Its directory says then, which
// is made again with the table, or a region of then that hbase:meta still reports,
// since the name of a region has the time in it at which it was made. A region
// that was split or merged is reported for some minutes only.
func (t TableRecord) Compare(now TableRecord, traces func() (map[string]bool, error)) (Sameness, error) {
	switch {
	case t.State == now.State:
		return sameTable, nil
	case t.Dir != 0 && now.Dir != 0 && t.Dir == now.Dir:
		return sameTable, nil
	case t.Dir != 0 && now.Dir != 0:
		return OtherTable, nil
	}
	left, err := traces()
	if err != nil {
		return DoubtfulTable, err
	}
	for _, r := range t.Regions {
		if left[r.Name] {
			return sameTable, nil
		}
	}
	return DoubtfulTable, nil
}

// Oldest is when the oldest region was made.
func (t TableRecord) Oldest() time.Time {
	var first uint64
	for i, r := range t.Regions {
		if i == 0 || r.Made < first {
			first = r.Made
		}
	}
	return time.UnixMilli(int64(first)).UTC()
}
