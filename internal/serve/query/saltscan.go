package query

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"sync"

	"bulkload/pkg/loader"
)

// rowScanner is the source of a merge: [loader.Cluster.Scan].
type rowScanner interface {
	Scan(ctx context.Context, req loader.ScanRequest, fn func(loader.Row) error) error
}

// headScan returns the rows of one head of the key in order. It reads them in batches. Each batch is one scan that
// the server ends by itself, so that no scanner waits on a server while rows of other sources are processed.
type headScan struct {
	merge *merge
	head  []byte
	next  []byte // start of the next batch
	stop  []byte
	keep  func(loader.Row) bool   // nil: all rows
	past  func(key []byte) []byte // returns the first key after the gap in the range that a key is in; nil: there are no gaps

	rows    []loader.Row // current batch, from the current row on
	batch   *rowBatch    // that batch
	last    bool         // there are no rows after the batch
	err     error        // that ended the batch's scan: the rows before it are returned first
	pending chan fetched // the next batch is being read
	ask     int64        // number of rows to request for the next batch
}

// fetched is a batch, and the position that follows it.
type fetched struct {
	batch *rowBatch
	next  []byte
	last  bool
	err   error
}

// fetchers run the scans of a merge in goroutines.
type fetchers struct {
	scanner rowScanner
	req     loader.ScanRequest // without start and stop row
	cells   []loader.Column    // that the filter of rows needs
	bytes   int64              // size of a batch
	slots   chan struct{}
	held    rowMemory
	lent    *sync.Pool // of *rowBatch; nil if the reader keeps the rows
	wg      sync.WaitGroup
}

// keptBatch is the greatest size of a batch whose memory is reused.
const keptBatch = 512 << 10

// errFull ends the scan of a batch.
var errFull = errors.New("the batch is full")

// prefetch starts to read the next batch, unless there is none or it is being read.
func (s *headScan) prefetch(ctx context.Context) {
	if s.last || s.err != nil || s.pending != nil {
		return
	}
	s.pending = make(chan fetched, 1)
	start, ask, pending := s.next, s.ask, s.pending
	f := &s.merge.fetchers
	f.wg.Go(func() { pending <- f.inTurn(ctx, s, start, ask) })
}

// nextBatch returns the batch that prefetch started to read, or reads it in this goroutine.
func (s *headScan) nextBatch(ctx context.Context) fetched {
	if s.pending == nil {
		return s.merge.fetchers.inTurn(ctx, s, s.next, s.ask)
	}
	b := <-s.pending
	s.pending = nil
	return b
}

// inTurn reads a batch of a head once a slot is free.
func (f *fetchers) inTurn(ctx context.Context, s *headScan, start []byte, ask int64) fetched {
	select {
	case f.slots <- struct{}{}:
		defer func() { <-f.slots }()
	case <-ctx.Done():
		return fetched{err: context.Cause(ctx)}
	}
	return f.fetch(ctx, s, start, ask)
}

func (f *fetchers) take() *rowBatch {
	if f.lent != nil {
		if b, ok := f.lent.Get().(*rowBatch); ok {
			return b
		}
	}
	return &rowBatch{}
}

// release frees the current batch, whose rows are no longer used.
func (s *headScan) release() {
	b, f := s.batch, &s.merge.fetchers
	if b == nil {
		return
	}
	s.rows, s.batch = nil, nil
	f.held.drop(b.bytes)
	if f.lent != nil && cap(b.data)+cellOverhead*cap(b.cells)+rowOverhead*cap(b.rows) <= keptBatch {
		f.lent.Put(b.empty())
	}
}

// passOver is the number of rows in sequence that the filter removes before a gap is passed over: that ends a scan.
const passOver = 64

// fetch reads a batch from a row key on. It reads only fields of the head that do not change.
func (f *fetchers) fetch(ctx context.Context, s *headScan, start []byte, ask int64) fetched {
	req, keep := f.req, s.keep
	req.Start, req.Stop = start, s.stop
	if keep == nil {
		req.MaxRows = ask // otherwise rows that the filter removes would count
	}
	b := fetched{batch: f.take()}
	read, removed := int64(0), 0
	each := func(r loader.Row) error {
		read++
		before := b.batch.bytes
		kept := keep == nil || keep(r)
		if removed++; kept {
			removed = 0
		}
		switch {
		case kept && f.lent != nil:
			b.batch.refer(r)
		case kept:
			b.batch.add(r)
		case f.lent != nil:
			b.batch.bytes += rowSize(r) // part of the response that earlier rows refer to
		}
		if err := f.held.add(b.batch.bytes - before); err != nil {
			return err
		}
		if b.batch.bytes >= f.bytes || int64(len(b.batch.rows)) >= ask {
			b.next = loader.After(r.Key)
			b.last = b.next == nil
			return errFull
		}
		if removed >= passOver && s.past != nil {
			if b.next = s.past(r.Key); b.next != nil {
				return errFull
			}
		}
		return nil
	}
	err := f.scan(ctx, req, keep, each)
	b.last = b.last || err == nil && (req.MaxRows == 0 || read < req.MaxRows)
	if err != nil && err != errFull {
		b.err = err
	}
	if n := len(b.batch.rows); b.next == nil && n > 0 {
		b.next = loader.After(b.batch.rows[n-1].Key)
		b.last = b.last || b.next == nil
	}
	return b
}

// scan scans a range. It passes over rows that are too large if the filter does not keep them.
func (f *fetchers) scan(ctx context.Context, req loader.ScanRequest, keep func(loader.Row) bool, fn func(loader.Row) error) error {
	for {
		err := f.scanner.Scan(ctx, req, fn)
		large, ok := errors.AsType[*loader.RowTooLargeError](err)
		if !ok || keep == nil {
			return err
		}
		if kept, broken := f.keeps(ctx, large.Key, keep); kept || broken != nil {
			return cmp.Or(broken, err)
		}
		if req.Start = loader.After(large.Key); req.Start == nil || len(req.Stop) > 0 && bytes.Compare(req.Start, req.Stop) >= 0 {
			return nil
		}
	}
}

// keeps reports whether the filter keeps a row that is too large to be read as a whole. It reads only the cells that the filter needs.
func (f *fetchers) keeps(ctx context.Context, key []byte, keep func(loader.Row) bool) (kept bool, err error) {
	kept = keep(loader.Row{Key: key})
	if len(f.cells) == 0 {
		return kept, nil
	}
	req := f.req
	req.Row, req.Families, req.Columns = key, nil, f.cells
	err = f.scanner.Scan(ctx, req, func(r loader.Row) error {
		size := rowSize(r)
		defer f.held.drop(size)
		kept = keep(r)
		return f.held.add(size)
	})
	return kept, err
}

// fill makes s.rows[0] the current row, unless there are no more rows. A row that is too large has its key only, and no batch: rows of other heads may
// be before it.
func (s *headScan) fill(ctx context.Context) error {
	for len(s.rows) == 0 && !s.last {
		if large, ok := errors.AsType[*loader.RowTooLargeError](s.err); ok {
			s.release()
			s.rows = []loader.Row{{Key: large.Key}}
			return nil
		}
		if s.err != nil {
			return s.err
		}
		b := s.nextBatch(ctx)
		if s.err = b.err; b.batch == nil {
			return s.err
		}
		s.release()
		s.rows, s.last, s.batch = b.batch.rows, b.last, b.batch
		if !s.last {
			s.next = b.next
		}
		if n := int64(len(s.rows)); n > 0 {
			// as many rows as fit a batch, by the size of these rows
			s.ask = max(min(2*s.ask, s.merge.fetchers.bytes*n/b.batch.bytes), 1)
		}
	}
	return nil
}

// key returns the original key of the current row.
func (s *headScan) key() []byte { return s.rows[0].Key[len(s.head):] }
