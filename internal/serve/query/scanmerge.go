package query

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"sync"

	"bulkload/internal/model/keyrange"
	"bulkload/pkg/loader"
)

type mergeOptions struct {
	limit   int64 // rows, 0 for all
	memory  int64 // bytes of rows held for all sources together; each source holds at least one row
	more    func(bytes int64) bool
	workers int        // concurrent scans
	lent    *sync.Pool // of *rowBatch, see Query.Borrowed; nil: the receiver keeps the rows
	keep    func(loader.Row) bool
	cells   []loader.Column // that keep needs
	after   *position       // position at which an earlier page ended
}

// position is the position of a row in the merged order.
type position struct {
	head, key []byte
}

// merge returns the rows of several heads of a key, ordered by the bytes that follow the head. Rows that have these
// in common are in the order of their heads.
type merge struct {
	fetchers fetchers
	sources  []*headScan
	limit    int64
	given    int64
	end      position // of the last row returned
	more     bool     // there are rows beyond the limit
}

// Limits of a batch. The minimum avoids a request to the servers for each row; the maximum is enough to hide the
// round trip.
const (
	minBatchBytes = 16 << 10
	maxBatchBytes = 4 << 20
	firstRows     = 256 // of a batch without a limit, before any row was read
)

func newMerge(scanner rowScanner, req loader.ScanRequest, r keyrange.Rows, o mergeOptions) *merge {
	m := &merge{limit: o.limit}
	n := int64(len(r.Heads))
	// A head may have a current batch, another one that is being filled, and up to three responses of the server.
	size := min(max(o.memory/(5*max(n, 1)), minBatchBytes), maxBatchBytes)
	req.ChunkBytes = min(cmp.Or(req.ChunkBytes, size), size)
	m.fetchers = fetchers{scanner: scanner, req: req, cells: o.cells, bytes: size, slots: make(chan struct{}, max(o.workers, 1)), lent: o.lent, held: rowMemory{most: o.memory, more: o.more}}
	ask := int64(firstRows)
	if o.limit > 0 {
		// Salts distribute rows evenly, but not exactly.
		ask = min(o.limit+1, 2*(o.limit/max(n, 1))+8)
	}
	for _, head := range r.Heads {
		s := &headScan{merge: m, head: head, next: r.Start(head), stop: r.Stop(head), keep: o.keep, ask: ask}
		if len(r.Gaps) > 0 {
			s.past = func(key []byte) []byte { return r.Past(head, key) }
		}
		if p := o.after; p != nil {
			at := append(bytes.Clone(head), p.key...)
			if bytes.Compare(head, p.head) <= 0 {
				at = loader.After(at) // heads up to this one have returned their row of this key
			}
			if bytes.Compare(at, s.next) > 0 {
				s.next = at
			}
			s.last = at == nil || len(s.stop) > 0 && bytes.Compare(s.next, s.stop) >= 0
		}
		m.sources = append(m.sources, s)
	}
	return m
}

// run calls fn for each row. fn may keep the row and its bytes, unless batches are lent. All goroutines have ended
// when run returns.
func (m *merge) run(ctx context.Context, fn func(loader.Row) error) error {
	// in transit: up to three responses of each concurrent scan
	if err := m.fetchers.held.add(3 * m.fetchers.bytes * int64(min(len(m.sources), cap(m.fetchers.slots)))); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		for _, s := range m.sources {
			s.release()
		}
	}()
	defer m.fetchers.wg.Wait()
	defer cancel()
	if len(m.sources) > 1 { // a single source is read directly
		for _, s := range m.sources {
			s.prefetch(ctx)
		}
	}
	open := make([]*headScan, 0, len(m.sources)) // in the order of their next rows
	for _, s := range m.sources {
		if err := s.fill(ctx); err != nil {
			return err
		}
		if len(s.rows) > 0 {
			open = append(open, s)
		}
	}
	slices.SortFunc(open, (*headScan).compare)
	for len(open) > 0 {
		s := open[0]
		if s.batch == nil { // the row is too large
			return s.err
		}
		if err := fn(s.rows[0]); err != nil {
			return err
		}
		m.given++
		m.end.head, m.end.key = s.head, append(m.end.key[:0], s.key()...)
		s.rows = s.rows[1:]
		if m.limit > 0 && m.given == m.limit { // has it left any rows?
			if len(open) == 1 {
				err := s.fill(ctx)
				m.more = len(s.rows) > 0
				return err
			}
			m.more = true
			return nil
		}
		if left := int64(len(s.rows)); m.limit == 0 || m.limit-m.given > left {
			s.prefetch(ctx)
		}
		if err := s.fill(ctx); err != nil {
			return err
		}
		if len(s.rows) == 0 {
			open = open[1:]
			continue
		}
		at, _ := slices.BinarySearchFunc(open[1:], s, (*headScan).compare)
		copy(open, open[1:at+1])
		open[at] = s
	}
	return nil
}

// compare orders sources by their next rows.
func (s *headScan) compare(o *headScan) int {
	return cmp.Or(bytes.Compare(s.key(), o.key()), bytes.Compare(s.head, o.head))
}
