package extsort

import (
	"errors"
	"fmt"
	"sync"

	"bulkload/pkg/setting"
)

// A LimitError says that the runs would take more of the disk than
// [Options].Limit allows.
type LimitError struct {
	Limit int64
	Bytes int64 // on disk when no more was allowed
	Rows  int64 // that those bytes hold, so that a caller can say what all rows would take
	Raw   int64 // bytes of those rows before they were packed
	Need  int64 // what a merge of runs to longer ones would have taken; 0: this was none
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("sorted rows may take %s of disk, and take more", setting.Count(e.Limit, "byte"))
}

// quota counts what is on disk. Safe for concurrent use.
type quota struct {
	limit int64 // 0: none

	mu               sync.Mutex
	bytes, rows, raw int64
}

// take counts bytes that are about to be written, and the rows that they
// hold with their bytes before packing.
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

// give counts bytes that are not on disk any more.
func (q *quota) give(bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.bytes -= bytes
}

// with returns the number of bytes on disk while runs exist twice.
func (q *quota) with(runs []*run) int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.bytes
	for _, r := range runs {
		n += r.size
	}
	return n
}

// needs adds to a LimitError how much disk the merge would have needed.
func needs(err error, n int64) error {
	if e, ok := errors.AsType[*LimitError](err); ok {
		e.Need = n
	}
	return err
}
