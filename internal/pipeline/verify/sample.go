package verify

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"bulkload/internal/base/workers"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/result"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"

	"golang.org/x/sync/semaphore"
)

// Sample reads the sampled rows and compares each. A row is kept in memory only
// for its comparison.
func Sample(ctx context.Context, c *loader.Cluster, facts *cluster.Facts, m *manifest.Manifest) (*result.Verification, error) {
	v := &result.Verification{Mode: "sample", Want: m.Digest}
	samples := slices.DeleteFunc(slices.Clone(m.Samples), func(s manifest.Sample) bool { return manifest.Expired(s.Expires) })
	v.Sampled, v.Expired = len(samples), len(samples) < len(m.Samples)
	slices.SortFunc(samples, func(a, b manifest.Sample) int { return bytes.Compare(a.Key, b.Key) })
	parts := sampleParts(samples, facts.Regions, m.Stamped)
	var next atomic.Int64
	var mu sync.Mutex
	room := newRowRoom()
	err := workers.Run(ctx, min(sampleReads, max(len(parts), 1)), func(ctx context.Context, _ int) error {
		r := &sampleReader{cluster: c, facts: facts, manifest: m, rows: NewRows(m), room: room}
		for i := int(next.Add(1)) - 1; i < len(parts); i = int(next.Add(1)) - 1 {
			if err := r.compareAll(ctx, parts[i]); err != nil {
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

// sampleParts groups the sorted samples into scans: the samples of one region are read by one scan, but the first sample is
// read alone, to measure the size of rows. Rows with times of their own are read one by one.
func sampleParts(samples []manifest.Sample, regions []loader.Region, stamped bool) [][]manifest.Sample {
	var parts [][]manifest.Sample
	for i, s := range samples {
		last := len(parts) - 1
		if i < 2 || stamped || !regionOf(regions, s.Key).Contains(parts[last][0].Key) {
			parts = append(parts, nil)
			last++
		}
		parts[last] = append(parts[last], s)
	}
	return parts
}

// regionOf returns the region that contains a key, from a table's regions in their order.
func regionOf(regions []loader.Region, key []byte) loader.Region {
	i, found := slices.BinarySearchFunc(regions, key, func(r loader.Region, key []byte) int { return bytes.Compare(r.Start, key) })
	if !found {
		i--
	}
	if i < 0 {
		return loader.Region{}
	}
	return regions[i]
}

const (
	// sampleReads is the maximum number of concurrent reads of sampled rows.
	sampleReads = 16
	// sampleRoom limits the bytes of the rows that are read concurrently.
	sampleRoom = 64 << 20
	// sampleChunk is the number of bytes that the server sends at once.
	sampleChunk = 1 << 20
	// sampleVersions covers a cell and all delete markers of its timestamp, which count in addition to it.
	sampleVersions = 16
)

// rowRoom limits the memory of rows that are read concurrently. The size of a
// row is unknown before it is read: each is assumed to be as large as the
// largest so far, and the first is read alone while the others wait.
type rowRoom struct {
	room     *semaphore.Weighted
	largest  atomic.Int64
	begun    atomic.Bool   // the first row
	measured chan struct{} // closed when the first row is read
}

func newRowRoom() *rowRoom {
	r := &rowRoom{room: semaphore.NewWeighted(sampleRoom), measured: make(chan struct{})}
	r.largest.Store(sampleRoom)
	return r
}

// enter reserves memory for a row, of at most most bytes. leave takes the row's size and releases the memory.
func (r *rowRoom) enter(ctx context.Context) (leave func(bytes int64), most int64, err error) {
	first := r.begun.CompareAndSwap(false, true)
	if !first {
		select {
		case <-r.measured:
		case <-ctx.Done():
			return nil, 0, context.Cause(ctx)
		}
	}
	n := min(max(r.largest.Load(), sampleChunk), sampleRoom)
	if err := r.room.Acquire(ctx, n); err != nil {
		if first {
			close(r.measured)
		}
		return nil, 0, context.Cause(ctx)
	}
	return func(bytes int64) {
		if first {
			r.largest.Store(bytes)
			close(r.measured)
		}
		for old := r.largest.Load(); old < bytes && !r.largest.CompareAndSwap(old, bytes); old = r.largest.Load() {
		}
		r.room.Release(n)
	}, n, nil
}

// sampleReader compares sampled rows, one at a time.
type sampleReader struct {
	cluster  *loader.Cluster
	facts    *cluster.Facts
	manifest *manifest.Manifest
	rows     *Rows
	room     *rowRoom
	got      manifest.Digest
	masked   result.Masked
}

// compareAll compares samples of one region, in the order of their keys. While one row is compared, the server may send
// the next ones.
func (r *sampleReader) compareAll(ctx context.Context, samples []manifest.Sample) error {
	for len(samples) > 0 {
		n, err := r.compare(ctx, samples)
		if err != nil {
			return err
		}
		samples = samples[n:]
	}
	return nil
}

// errLarger ends a scan whose rows exceed the reserved memory: the others are read when there is enough.
var errLarger = errors.New("a row is larger than the room that was taken for it")

// compare compares as many of the samples as there is memory for, at least one.
func (r *sampleReader) compare(ctx context.Context, samples []manifest.Sample) (n int, err error) {
	leave, most, err := r.room.enter(ctx)
	if err != nil {
		return 0, err
	}
	var largest int64
	defer func() { leave(largest) }()
	err = r.cluster.ScanStored(ctx, r.request(samples), func(row loader.Row, h loader.Hidden) error {
		if n == len(samples) || !bytes.Equal(row.Key, samples[n].Key) {
			return r.missing(samples[min(n, len(samples)-1)])
		}
		size := int64(0)
		for _, c := range row.Cells {
			size += int64(len(row.Key) + len(c.Family) + len(c.Qualifier) + len(c.Value))
		}
		largest = max(largest, size)
		s := samples[n]
		n++
		if err := r.same(s, row, h); err != nil {
			return err
		}
		if size > most && n < len(samples) {
			return errLarger
		}
		return nil
	})
	if errors.Is(err, errLarger) {
		return n, nil
	}
	if err == nil && n < len(samples) {
		return n, r.missing(samples[n])
	}
	return n, err
}

// request returns the scan request for the rows of samples. If rows have times of their own, samples has one element.
func (r *sampleReader) request(samples []manifest.Sample) loader.ScanRequest {
	first, last := samples[0], samples[len(samples)-1]
	req := loader.ScanRequest{Table: r.facts.Name, Start: first.Key, Stop: loader.After(last.Key), MaxRows: int64(len(samples)), ChunkBytes: sampleChunk,
		Families: r.manifest.Families(), MinTime: r.manifest.Timestamp, MaxTime: r.manifest.Timestamp + 1, Raw: true}
	switch {
	case r.manifest.Stamped && r.manifest.Wide: // cells of one row have many timestamps
		req.MinTime, req.MaxTime, req.Raw, req.Versions = r.manifest.Times.Min, r.manifest.Times.Max+1, false, uint32(r.manifest.Versions)
	case r.manifest.Stamped:
		req.MinTime, req.MaxTime = first.Stamp, first.Stamp+1
	case len(samples) > 1:
		req.Versions = sampleVersions
		for _, s := range samples {
			req.Rows = append(req.Rows, s.Key)
		}
	}
	return req
}

// missing returns the error for a sampled row that the table does not have.
func (r *sampleReader) missing(s manifest.Sample) error {
	return fail.With(fail.Verify, fail.AboutData(s.Key, "table %s does not hold a row, of %s, which was loaded", r.facts.Name, setting.Count(len(s.Key), "byte")))
}

// same compares a row with the sample, with or without its deleted cells: those
// may be an earlier job's.
func (r *sampleReader) same(s manifest.Sample, row loader.Row, h loader.Hidden) error {
	before := r.rows.digest
	err := r.rows.Add(row)
	if (err != nil || r.rows.last != s.Sum) && len(h.Undeleted) > 0 {
		r.rows.digest, h.Deleted = before, 0
		row.Cells = h.Undeleted
		err = r.rows.Add(row)
	}
	if err != nil {
		return fail.With(fail.Verify, err)
	}
	if r.rows.last != s.Sum {
		stamp := r.manifest.Timestamp
		switch {
		case r.manifest.Stamped && r.manifest.Wide:
			stamp = r.manifest.Times.Min
		case r.manifest.Stamped:
			stamp = s.Stamp
		}
		return fail.With(fail.Verify, fail.AboutData(s.Key, "a row, of %s, of table %s has other cells than were loaded with timestamp %d (deletes by others, dropped by a compaction, also cause this)",
			setting.Count(len(s.Key), "byte"), r.facts.Name, stamp))
	}
	r.got = r.rows.digest
	r.masked.AddRow(h)
	return nil
}
