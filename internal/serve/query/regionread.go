package query

import (
	"bytes"
	"cmp"
	"slices"
	"sync"
	"time"

	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
)

// RegionRead has the statistics of a query's reads in one region.
type RegionRead struct {
	Region string     `json:"region"` // its encoded name
	Start  rowkey.Key `json:"start"`
	End    rowkey.Key `json:"end"`
	Server string     `json:"server"`
	Scans  int        `json:"scans"`
	Rows   int64      `json:"rows"`  // sent by the server; more than requested if several salts are merged
	Bytes  int64      `json:"bytes"` // of cells, as sent
	// Micros is the duration of the region's scans, in microseconds; scans of several regions overlap.
	Micros int64 `json:"micros"`
	// Blocks is an estimate of the blocks that were read. No version of HBase counts them. It is the number of bytes sent, or
	// the server's count of block bytes if that is greater, divided by the family's block size, and at least DiskReads. It is
	// too low for rows that a filter removed if their blocks are encoded and cached.
	Blocks int64 `json:"blocks_estimated"`
	// BlockBytes is the size of the blocks in the server's memory as the server counts it: encoded, not compressed.
	// −1 if the server does not report it.
	BlockBytes int64 `json:"block_bytes"`
	// DiskReads is the number of blocks that the server read from the file system, as it counts them; −1 if the
	// server does not report it.
	DiskReads int64 `json:"disk_reads"`
}

// Took returns Micros as a duration.
func (r RegionRead) Took() time.Duration { return time.Duration(r.Micros) * time.Microsecond }

// regionReads sums up the statistics of scans by region.
type regionReads struct {
	mu sync.Mutex
	by map[string]*RegionRead
}

func (r *regionReads) add(s loader.RegionScan) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == nil {
		r.by = map[string]*RegionRead{}
	}
	t := r.by[s.Region.Encoded]
	if t == nil {
		t = &RegionRead{Region: s.Region.Encoded, Start: s.Region.Start, End: s.Region.End, BlockBytes: -1, DiskReads: -1}
		r.by[s.Region.Encoded] = t
	}
	t.Server = s.Region.Server
	t.Scans++
	t.Rows += s.Rows
	t.Bytes += s.Bytes
	t.Micros += s.Took.Microseconds()
	count := func(total *int64, name string) {
		if n, ok := s.Metrics[name]; ok {
			*total = max(*total, 0) + n
		}
	}
	count(&t.BlockBytes, loader.MetricBlockBytes)
	count(&t.DiskReads, loader.MetricBlockReads)
}

// list returns the regions in the table's order.
func (r *regionReads) list(blockSize int) []RegionRead {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]RegionRead, 0, len(r.by))
	size := int64(cmp.Or(blockSize, 64<<10))
	for _, t := range r.by {
		t.Blocks = max((max(t.Bytes, t.BlockBytes)+size-1)/size, t.DiskReads)
		list = append(list, *t)
	}
	slices.SortFunc(list, func(a, b RegionRead) int { return bytes.Compare(a.Start, b.Start) })
	return list
}
