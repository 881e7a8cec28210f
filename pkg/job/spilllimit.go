package job

import (
	"errors"
	"fmt"
	"sync/atomic"

	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/source"
)

// readCount is what pass 1 has read so far. Safe for concurrent use.
type readCount struct {
	rows, bytes, splits atomic.Int64
}

// add counts a batch.
func (c *readCount) add(b *source.Batch) {
	c.rows.Add(int64(b.Rows))
	c.bytes.Add(b.Bytes)
}

// share is how much of the input was read, of 1; 0 where nothing can be said.
func (c *readCount) share(in *source.Input) float64 {
	var total int64
	for _, f := range in.Files() {
		if f.Compression != "" || f.Format == source.FormatParquet {
			// What they hold is not known, but their parts are about equal.
			return float64(c.splits.Load()) / float64(max(len(in.Splits()), 1))
		}
		total += f.Size
	}
	return min(float64(c.bytes.Load())/float64(max(total, 1)), 1)
}

// explainSpill adds to the error of a sort that takes more disk than it may
// how much it would need, as far as that can be told from what was read.
func (r *readers) explainSpill(err error) error {
	e, ok := errors.AsType[*extsort.LimitError](err)
	if !ok {
		return err
	}
	const advice = "allow more with --spill-limit, give more --memory, or load the input in parts"
	if e.Need > 0 {
		return &Error{Kind: KindConfig, Err: fmt.Errorf("%w: all of the input was read, and to merge its sorted rows takes %s for a while, more than the limit of %s (--spill-limit) (%s)",
			err, roundSize(e.Need), roundSize(e.Limit), advice)}
	}
	share := r.got.share(r.in)
	if share == 0 || e.Rows == 0 {
		return &Error{Kind: KindConfig, Err: fmt.Errorf("%w: the limit of %s (--spill-limit) was reached, and how much is needed cannot be told yet (%s)",
			err, roundSize(e.Limit), advice)}
	}
	// Rows that are still in memory will come to disk too.
	all := float64(r.got.rows.Load()) / share
	need := Size(all * float64(e.Bytes) / float64(e.Rows))
	return &Error{Kind: KindConfig, Err: fmt.Errorf("%w: the limit of %s (--spill-limit) was reached when %.0f %% of the input was read; all of it needs about %s (%s)",
		err, roundSize(e.Limit), 100*share, roundSize(int64(need)), advice)}
}
