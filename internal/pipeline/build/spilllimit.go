package build

import (
	"errors"
	"fmt"
	"sync/atomic"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/setting"
	"bulkload/pkg/source"
)

// readCount counts the input that pass 1 has read. It is safe for concurrent use.
type readCount struct {
	rows, bytes, splits atomic.Int64
}

// add counts a batch.
func (c *readCount) add(b *source.Batch) {
	c.rows.Add(int64(b.Rows))
	c.bytes.Add(b.Bytes)
}

// share returns the fraction of the input that was read, between 0 and 1; 0 if it is unknown.
func (c *readCount) share(in *source.Input) float64 {
	var total int64
	for _, f := range in.Files() {
		if f.Compression != "" || f.Format.Traits().Rows {
			// Their uncompressed size is unknown, but splits are about equal.
			return float64(c.splits.Load()) / float64(max(len(in.Splits()), 1))
		}
		total += f.Size
	}
	return min(float64(c.bytes.Load())/float64(max(total, 1)), 1)
}

// explainSpill adds to the error of a sort that exceeds its disk limit an
// estimate of the size that it needs.
func (r *readers) explainSpill(err error) error {
	e, ok := errors.AsType[*extsort.LimitError](err)
	if !ok {
		return err
	}
	advice := setting.Textf("allow more with %s, give more %s, or load the input in parts", setting.SpillLimit, setting.Memory)
	found := "the size that is needed is not known yet"
	if e.Need > 0 {
		found = fmt.Sprintf("all of the input was read; merging its sorted rows needs %s for a while", spec.Size(e.Need).Rounded())
	} else if share := r.got.share(r.in); share > 0 && e.Rows > 0 {
		// Rows that are still in memory will be written to disk too.
		rows := float64(r.got.rows.Load()) / share
		raw := rows * float64(e.Raw) / float64(e.Rows)
		need := float64(r.sort.Forecast(int64(rows), int64(raw)).Most) * float64(e.Bytes) / float64(e.Raw)
		found = fmt.Sprintf("%.0f %% of the input was read; all of it needs about %s", 100*share, spec.Size(need).Rounded())
	}
	// The current record is not the cause.
	return &fail.Error{Kind: fail.Config, Err: setting.Errorf("the limit of %s for sorted rows on disk (%s) is reached: %s (%s): %w", spec.Size(e.Limit).Rounded(), setting.SpillLimit, found, advice, e)}
}
