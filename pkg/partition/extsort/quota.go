package extsort

import (
	"errors"
	"fmt"
	"sync"

	"bulkload/pkg/setting"
)

// A LimitError reports that the runs would take more disk space than
// [Options].Limit allows.
type LimitError struct {
	Limit int64
	Bytes int64 // on disk when the limit was reached
	Rows  int64 // rows in those bytes, from which a caller can estimate the need of all rows
	Raw   int64 // bytes of those rows before compression
	Need  int64 // disk space that a merge of runs into longer ones needs; 0 if the error is not from such a merge
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("sorted rows need more disk space than the %s that they may take", setting.Count(e.Limit, "byte"))
}

// quota counts the bytes on disk. It is safe for concurrent use.
type quota struct {
	limit int64 // 0: none

	mu               sync.Mutex
	bytes, rows, raw int64
}

// take counts bytes that are about to be written, the number of rows in them,
// and the rows' size before compression.
func (q *quota) take(bytes, rows, raw int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.limit > 0 && q.bytes+bytes > q.limit {
		return &LimitError{Limit: q.limit, Bytes: q.bytes, Rows: q.rows, Raw: q.raw}
	}
	q.bytes += bytes
	q.rows += rows
	q.raw += raw
	return nil
}

// give subtracts bytes that are no longer on disk.
func (q *quota) give(bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.bytes -= bytes
}

// with returns the bytes on disk while the given runs are stored twice: as they are, and merged.
func (q *quota) with(runs []*run) int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.bytes
	for _, r := range runs {
		n += r.size
	}
	return n
}

func withNeed(err error, n int64) error {
	if e, ok := errors.AsType[*LimitError](err); ok {
		e.Need = n
	}
	return err
}
