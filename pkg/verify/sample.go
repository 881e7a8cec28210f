package verify

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"bulkload/internal/workers"
	"bulkload/pkg/cluster"
	"bulkload/pkg/fail"
	"bulkload/pkg/loader"
	"bulkload/pkg/manifest"
	"bulkload/pkg/result"

	"golang.org/x/sync/semaphore"
)

// Sample reads the rows that were remembered and compares each. A row is
// held no longer than that.
func Sample(ctx context.Context, c *loader.Cluster, facts *cluster.Facts, m *manifest.Manifest) (*result.Verification, error) {
	v := &result.Verification{Mode: "sample", Want: m.Digest}
	samples := slices.DeleteFunc(slices.Clone(m.Samples), func(s manifest.Sample) bool { return manifest.Expired(s.Expires) })
	v.Sampled, v.Expired = len(samples), len(samples) < len(m.Samples)
	slices.SortFunc(samples, func(a, b manifest.Sample) int { return bytes.Compare(a.Key, b.Key) })
	var next atomic.Int64
	var mu sync.Mutex
	room := newRowRoom()
	err := workers.Run(ctx, min(sampleReads, max(len(samples), 1)), func(ctx context.Context, _ int) error {
		r := &sampleReader{c: c, facts: facts, m: m, rows: newRowReader(m), room: room}
		for {
			i := int(next.Add(1)) - 1
			if i >= len(samples) {
				break
			}
			if err := r.compare(ctx, samples[i]); err != nil {
				return err
			}
		}
		mu.Lock()
		defer mu.Unlock()
		v.Got.Add(r.got)
		v.Masked.Add(r.masked)
		return nil
	})
	if err != nil {
		return v, unread(facts, err)
	}
	return v, nil
}

const (
	// sampleReads is how many sampled rows are read at a time at most.
	sampleReads = 16
	// sampleRoom bounds the bytes of the rows that are read at a time.
	sampleRoom = 64 << 20
	// sampleChunk is what the server sends of a row at once.
	sampleChunk = 1 << 20
)

// rowRoom bounds the memory of rows that are read at a time. How large a row
// is nobody knows before it is read: each is taken to be as large as the
// largest so far, and the first is read alone.
type rowRoom struct {
	room    *semaphore.Weighted
	largest atomic.Int64
}

func newRowRoom() *rowRoom {
	r := &rowRoom{room: semaphore.NewWeighted(sampleRoom)}
	r.largest.Store(sampleRoom)
	return r
}

// enter waits for the room of a row. leave gets its size.
func (r *rowRoom) enter(ctx context.Context) (leave func(bytes int64), err error) {
	n := min(max(r.largest.Load(), sampleChunk), sampleRoom)
	if err := r.room.Acquire(ctx, n); err != nil {
		return nil, context.Cause(ctx)
	}
	return func(bytes int64) {
		if !r.largest.CompareAndSwap(sampleRoom, bytes) {
			for old := r.largest.Load(); old < bytes && !r.largest.CompareAndSwap(old, bytes); old = r.largest.Load() {
			}
		}
		r.room.Release(n)
	}, nil
}

// sampleReader compares sampled rows, one at a time.
type sampleReader struct {
	c      *loader.Cluster
	facts  *cluster.Facts
	m      *manifest.Manifest
	rows   *rowReader
	room   *rowRoom
	got    manifest.Digest
	masked result.Masked
}

func (r *sampleReader) compare(ctx context.Context, s manifest.Sample) error {
	leave, err := r.room.enter(ctx)
	if err != nil {
		return err
	}
	var size int64
	defer func() { leave(size) }()
	req := loader.ScanRequest{Table: r.facts.Name, Start: s.Key, Stop: append(s.Key[:len(s.Key):len(s.Key)], 0), MaxRows: 1, ChunkBytes: sampleChunk,
		Families: r.m.Families(), MinTime: r.m.Timestamp, MaxTime: r.m.Timestamp + 1, Raw: true}
	switch {
	case r.m.Stamped && r.m.Wide: // cells of one row have many timestamps
		req.MinTime, req.MaxTime, req.Raw = r.m.Times.Min, r.m.Times.Max+1, false
	case r.m.Stamped:
		req.MinTime, req.MaxTime = s.Stamp, s.Stamp+1
	}
	found := false
	err = r.c.ScanStored(ctx, req, func(row loader.Row, h loader.Hidden) error {
		found = true
		for _, c := range row.Cells {
			size += int64(len(row.Key) + len(c.Family) + len(c.Qualifier) + len(c.Value))
		}
		return r.same(s, req.MinTime, row, h)
	})
	if err == nil && !found {
		return fail.With(fail.Verify, fail.AboutData(s.Key, "table %s does not hold a row, of %d bytes, which was loaded", r.facts.Name, len(s.Key)))
	}
	return err
}

// same says whether a row is the one that was written, with its deleted cells
// or without: those may be an earlier job's.
func (r *sampleReader) same(s manifest.Sample, stamp int64, row loader.Row, h loader.Hidden) error {
	before := r.rows.digest
	err := r.rows.add(row)
	if (err != nil || r.rows.last != s.Sum) && len(h.Undeleted) > 0 {
		r.rows.digest, h.Deleted = before, 0
		row.Cells = h.Undeleted
		err = r.rows.add(row)
	}
	if err != nil {
		return fail.With(fail.Verify, err)
	}
	if r.rows.last != s.Sum {
		return fail.With(fail.Verify, fail.AboutData(s.Key, "a row, of %d bytes, of table %s has other cells than were loaded with timestamp %d (cells that a compaction has dropped because others deleted or replaced them also show so)",
			len(s.Key), r.facts.Name, stamp))
	}
	r.got = r.rows.digest
	r.masked.AddRow(h)
	return nil
}
