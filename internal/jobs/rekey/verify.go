package rekey

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/newkeys"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// scanWorkers is the number of regions that are read concurrently for verification.
const scanWorkers = 4

// verify compares the new table with the files that were written: rows, cells and
// checksum of all that readers see, in a further pass from its Since on.
func (j *run) verify(ctx context.Context, m *manifest.Manifest) error {
	start := time.Now()
	defer func() { j.result.VerifyTime = time.Since(start) }()
	if j.req.Verify == "off" {
		j.result.Verify = &result.Verification{Mode: "off", Want: m.Digest}
		return nil
	}
	j.options.Events.Phase("verify")
	j.options.Events.Total("verify", progress.Amount{Rows: m.Digest.Rows})
	got, err := j.scan(ctx)
	if err != nil {
		return fail.With(fail.Load, fmt.Errorf("verify table %s: it could not be read: %w", j.req.To, err))
	}
	v := &result.Verification{Mode: "full", Want: m.Digest, Got: got.Digest()}
	j.result.Verify = v
	if got.Digest() == m.Digest && got.Sum() == m.RowSum {
		return nil
	}
	if m.Times != nil && manifest.Expired(m.Times.Expires) && got.Rows <= m.Digest.Rows && got.Cells <= m.Digest.Cells {
		v.Expired = true
		j.options.Events.Warn("cells expired (TTL) before the table was read: verification inconclusive", "mode", v.Mode)
		return nil
	}
	written := fmt.Sprintf("%s, %s, digest %s", setting.Count(m.Digest.Rows, "row"), setting.Count(m.Digest.Cells, "cell"), m.RowSum)
	if j.req.further() {
		return fail.Errorf(fail.Verify, "table %s does not hold what was written: from timestamp %d on it has %s, want %s (concurrent writes, deletes and changed keys also cause this)",
			j.req.To, j.req.chosen.Since, got, written)
	}
	return fail.Errorf(fail.Verify, "table %s does not hold what was written: it has %s, want %s (concurrent writes or deletes also cause this; %s loads all again, into an empty table)",
		j.req.To, got, written, setting.Restart)
}

// scan reads the table and returns the checksum of its rows.
func (j *run) scan(ctx context.Context) (manifest.RowSum, error) {
	req := loader.ScanRequest{Table: j.req.To, Versions: 1}
	for _, f := range j.facts.Table.Families {
		req.Versions = max(req.Versions, uint32(f.Versions))
	}
	if c := j.req.chosen; j.req.further() { // the table also has cells of earlier passes
		req.MinTime, req.MaxTime = c.Since, c.Until
		whole, single := c.Of(j.facts.Table.FamilyNames())
		req.Families = whole
		for _, x := range single {
			req.Columns = append(req.Columns, loader.Column{Family: x.Family, Qualifier: x.Qualifier})
		}
	}
	var mu sync.Mutex
	var scanned atomic.Int64
	parts := map[int]*newkeys.RowHash{}
	err := j.cluster.ScanParallel(ctx, req, scanWorkers, func(part int, row loader.Row) error {
		mu.Lock()
		h := parts[part]
		if h == nil {
			h = &newkeys.RowHash{}
			parts[part] = h
		}
		mu.Unlock()
		for i := range row.Cells {
			c := &row.Cells[i]
			h.Add(c.Family, c.Qualifier, c.Timestamp, c.Value)
		}
		h.End()
		if scanned.Add(1)%newkeys.ReportEvery == 0 {
			j.options.Events.Read(newkeys.ReportEvery)
		}
		return nil
	})
	j.options.Events.Read(scanned.Load() % newkeys.ReportEvery)
	var sum manifest.RowSum
	for _, h := range parts {
		sum.Add(h.Sum)
	}
	return sum, err
}
