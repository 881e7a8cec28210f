package query

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"bulkload/pkg/loader"
)

// rowScanner is the source of a merge: [loader.Cluster.Scan].
type rowScanner interface {
	Scan(ctx context.Context, req loader.ScanRequest, fn func(loader.Row) error) error
}

// headScan gives the rows of one head of the key in order. It reads them in
// batches, each by a scan that the server ends by itself, so that no scanner
// waits on a server while other sources give their rows.
type headScan struct {
	m    *merge
	head []byte
	next []byte // where the next batch begins
	stop []byte
	keep func(loader.Row) (bool, error)

	rows    []loader.Row // the batch in use, from the current row on
	batch   *rowBatch    // that batch
	last    bool         // no rows after the batch
	pending chan fetched // the next batch is on its way
	ask     int64        // rows that the next batch asks for
}

// fetched is a batch, and what follows it.
type fetched struct {
	batch *rowBatch
	next  []byte
	last  bool
	err   error
}

// fetchers are the goroutines of a merge.
type fetchers struct {
	scanner rowScanner
	req     loader.ScanRequest // without its bounds
	bytes   int64              // of a batch
	slots   chan struct{}
	held    rowMemory
	lent    *sync.Pool // of *rowBatch, nil where rows are the reader's to keep
	wg      sync.WaitGroup
}

// keptBatch is how much memory a batch has at most that is used again.
const keptBatch = 512 << 10

// errFull ends the scan of a batch.
var errFull = errors.New("the batch is full")

// prefetch begins to read the next batch, if there is one and it is not being read.
func (s *headScan) prefetch(ctx context.Context) {
	if s.last || s.pending != nil {
		return
	}
	s.pending = make(chan fetched, 1)
	start, ask, pending := s.next, s.ask, s.pending
	f := &s.m.fetchers
	f.wg.Go(func() { pending <- f.inTurn(ctx, start, s.stop, ask, s.keep) })
}

// nextBatch returns the batch that prefetch began to read, or else reads one in this goroutine.
func (s *headScan) nextBatch(ctx context.Context) fetched {
	if s.pending == nil {
		return s.m.fetchers.inTurn(ctx, s.next, s.stop, s.ask, s.keep)
	}
	b := <-s.pending
	s.pending = nil
	return b
}

// inTurn fetches once a slot is free.
func (f *fetchers) inTurn(ctx context.Context, start, stop []byte, ask int64, keep func(loader.Row) (bool, error)) fetched {
	select {
	case f.slots <- struct{}{}:
		defer func() { <-f.slots }()
	case <-ctx.Done():
		return fetched{err: context.Cause(ctx)}
	}
	return f.fetch(ctx, start, stop, ask, keep)
}

// take gives a batch without rows.
func (f *fetchers) take() *rowBatch {
	if f.lent != nil {
		if b, ok := f.lent.Get().(*rowBatch); ok {
			return b
		}
	}
	return &rowBatch{}
}

// release takes back the batch in use, whose rows are not read any more.
func (s *headScan) release() {
	b, f := s.batch, &s.m.fetchers
	if b == nil {
		return
	}
	s.rows, s.batch = nil, nil
	f.held.drop(b.bytes)
	if f.lent != nil && cap(b.data)+cellOverhead*cap(b.cells)+rowOverhead*cap(b.rows) <= keptBatch {
		f.lent.Put(b.empty())
	}
}

func (f *fetchers) fetch(ctx context.Context, start, stop []byte, ask int64, keep func(loader.Row) (bool, error)) fetched {
	req := f.req
	req.Start, req.Stop = start, stop
	if keep == nil {
		req.MaxRows = ask // else the rows that are not kept would count
	}
	b := fetched{batch: f.take()}
	read := int64(0)
	err := f.scanner.Scan(ctx, req, func(r loader.Row) error {
		read++
		before := b.batch.bytes
		kept := true
		if keep != nil {
			ok, err := keep(r)
			if err != nil {
				return err
			}
			kept = ok
		}
		switch {
		case kept && f.lent != nil:
			b.batch.refer(r)
		case kept:
			b.batch.add(r)
		case f.lent != nil:
			b.batch.bytes += rowSize(r) // is in the answer that rows before refer to
		}
		if err := f.held.add(b.batch.bytes - before); err != nil {
			return err
		}
		if b.batch.bytes >= f.bytes || int64(len(b.batch.rows)) >= ask {
			b.next = append(bytes.Clone(r.Key), 0)
			return errFull
		}
		return nil
	})
	b.last = err == nil && (req.MaxRows == 0 || read < req.MaxRows)
	if err != nil && err != errFull {
		b.err = err
	}
	if n := len(b.batch.rows); b.next == nil && n > 0 {
		b.next = append(bytes.Clone(b.batch.rows[n-1].Key), 0)
	}
	return b
}

// fill makes the current row that of s.rows[0], unless there is none.
func (s *headScan) fill(ctx context.Context) error {
	for len(s.rows) == 0 && !s.last {
		b := s.nextBatch(ctx)
		if b.err != nil {
			return b.err
		}
		s.release()
		s.rows, s.last, s.batch = b.batch.rows, b.last, b.batch
		if !s.last {
			s.next = b.next
		}
		if n := int64(len(s.rows)); n > 0 {
			// as many as a batch may hold, by what these rows take
			s.ask = max(min(2*s.ask, s.m.fetchers.bytes*n/b.batch.bytes), 1)
		}
	}
	return nil
}

// key returns the original key of the current row.
func (s *headScan) key() []byte { return s.rows[0].Key[len(s.head):] }
