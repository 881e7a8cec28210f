package checkpoint

import (
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
	sameTable Sameness = iota
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
