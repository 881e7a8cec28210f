package query

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"sync"

	"bulkload/internal/model/keyrange"
	"bulkload/pkg/loader"
)

// mergeOptions are how a merge works.
type mergeOptions struct {
	limit   int64 // rows, 0 for all
	memory  int64 // bytes of rows held, for all sources together; at least one row of each is
	more    func(bytes int64) bool
	workers int        // scans at a time
	lent    *sync.Pool // of *rowBatch, see Query.Borrowed; nil: the receiver keeps the rows
	keep    func(loader.Row) (bool, error)
	after   *position // where an earlier page ended
}

// position is the place of a row in the merged order.
type position struct {
	head, key []byte
}

// merge gives the rows of several heads of a key in the order of what follows
// the head, rows that have that in common in the order of their heads.
type merge struct {
	fetchers fetchers
	sources  []*headScan
	limit    int64
	given    int64
	end      position // of the last row given
	more     bool     // rows are left behind the limit
}

// Bounds of a batch. The least keeps the servers from being asked for each
// row; the greatest is enough to hide the way there and back.
const (
	minBatchBytes = 16 << 10
	maxBatchBytes = 4 << 20
	firstRows     = 256 // of a batch without a limit, before rows are known
)

func newMerge(scanner rowScanner, req loader.ScanRequest, r keyrange.Rows, o mergeOptions) *merge {
	m := &merge{limit: o.limit}
	n := int64(len(r.Heads))
	// A head may have a batch in use, another that is being filled, and up to three answers of the server.
	size := min(max(o.memory/(5*max(n, 1)), minBatchBytes), maxBatchBytes)
	req.ChunkBytes = min(cmp.Or(req.ChunkBytes, size), size)
	m.fetchers = fetchers{scanner: scanner, req: req, bytes: size, slots: make(chan struct{}, max(o.workers, 1)), lent: o.lent, held: rowMemory{most: o.memory, more: o.more}}
	ask := int64(firstRows)
	if o.limit > 0 {
		// Salts spread rows evenly, but not exactly.
		ask = min(o.limit+1, 2*(o.limit/max(n, 1))+8)
	}
	for _, head := range r.Heads {
		s := &headScan{m: m, head: head, next: r.Start(head), stop: r.Stop(head), keep: o.keep, ask: ask}
		if p := o.after; p != nil {
			at := append(bytes.Clone(head), p.key...)
			if bytes.Compare(head, p.head) <= 0 {
				at = append(at, 0) // heads up to that one have given their row of this key
			}
			if bytes.Compare(at, s.next) > 0 {
				s.next = at
			}
			s.last = len(s.stop) > 0 && bytes.Compare(s.next, s.stop) >= 0
		}
		m.sources = append(m.sources, s)
	}
	return m
}

// run calls fn for each row; the row is fn's own to keep, its bytes included, unless batches are lent.
// All goroutines have ended when it returns.
func (m *merge) run(ctx context.Context, fn func(loader.Row) error) error {
	// what is on its way: up to three answers of each scan at a time
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
	if len(m.sources) > 1 { // one alone is waited for at once
		for _, s := range m.sources {
			s.prefetch(ctx)
		}
	}
	h := make(sourceHeap, 0, len(m.sources))
	for _, s := range m.sources {
		if err := s.fill(ctx); err != nil {
			return err
		}
		if len(s.rows) > 0 {
			h = append(h, s)
		}
	}
	heap.Init(&h)
	for len(h) > 0 {
		s := h[0]
		if err := fn(s.rows[0]); err != nil {
			return err
		}
		m.given++
		m.end.head, m.end.key = s.head, append(m.end.key[:0], s.key()...)
		s.rows = s.rows[1:]
		if m.limit > 0 && m.given == m.limit {
			return m.seeMore(ctx, s, len(h) > 1)
		}
		if left := int64(len(s.rows)); m.limit == 0 || m.limit-m.given > left {
			s.prefetch(ctx)
		}
		if err := s.fill(ctx); err != nil {
			return err
		}
		if len(s.rows) == 0 {
			heap.Pop(&h)
		} else {
			heap.Fix(&h, 0)
		}
	}
	return nil
}

// seeMore determines whether the limit left any rows.
func (m *merge) seeMore(ctx context.Context, s *headScan, others bool) error {
	if !others {
		if err := s.fill(ctx); err != nil {
			return err
		}
	}
	m.more = others || len(s.rows) > 0
	return nil
}

// sourceHeap has the source with the least row at its top.
type sourceHeap []*headScan

func (h sourceHeap) Len() int { return len(h) }
func (h sourceHeap) Less(i, j int) bool {
	if c := bytes.Compare(h[i].key(), h[j].key()); c != 0 {
		return c < 0
	}
	return bytes.Compare(h[i].head, h[j].head) < 0
}
func (h sourceHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *sourceHeap) Push(x any)   { *h = append(*h, x.(*headScan)) }
func (h *sourceHeap) Pop() any {
	old := *h
	s := old[len(old)-1]
	*h = old[:len(old)-1]
	return s
}
