package objectstore

import (
	"context"
	"sync"
)

// maxLeads is the largest number of leads of a Store; all are dropped when it is reached.
const maxLeads = 16

// lead records how far an object is read, where several readers open its parts one after the other, in their order. The Store requests the
// beginning of the next part before a reader opens it, so that the reader does not wait for an answer.
type lead struct {
	object object
	front  int64 // the end of the last part that was opened
	span   *span // the range from front on; nil: not requested
}

// takeLead records that a part of an object is read, and returns the span that was requested for its beginning, or nil.
func (s *Store) takeLead(o object, start, end int64) *span {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.leads[o.key]
	if l == nil || l.object != o {
		if len(s.leads) >= maxLeads {
			clear(s.leads)
		}
		if s.leads == nil {
			s.leads = make(map[string]*lead)
		}
		l = &lead{object: o}
		s.leads[o.key] = l
	}
	var r *span
	if l.span != nil && l.span.off == start {
		r, l.span = l.span, nil
	}
	if start < maxRange || end > l.front { // the object is read from its beginning, or further than before
		l.front = end
	}
	return r
}

// giveLead requests the beginning of the next part of an object, unless that was done.
func (s *Store) giveLead(o object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.leads[o.key]
	if l == nil || l.object != o || l.front >= o.size || l.span != nil && l.span.off == l.front {
		return
	}
	l.span = s.begin(s.ctx, &s.work, o, l.front, min(maxRange, o.size-l.front))
}

// begin reads n bytes from off in another goroutine.
func (s *Store) begin(ctx context.Context, work *sync.WaitGroup, o object, off, n int64) *span {
	var buf []byte
	if n > maxRange/2 {
		if b, ok := s.buffers.Get().(*[maxRange]byte); ok {
			buf = b[:n]
		} else {
			buf = new([maxRange]byte)[:n]
		}
	} else {
		buf = make([]byte, n)
	}
	r := &span{off: off, end: off + n, done: make(chan struct{}), data: buf}
	work.Go(func() {
		defer close(r.done)
		r.err = s.read(ctx, o, off, buf)
	})
	return r
}

// reuse returns the buffer of a span to the pool. No goroutine uses the buffer any more.
func (s *Store) reuse(r *span) {
	if cap(r.data) == maxRange {
		s.buffers.Put((*[maxRange]byte)(r.data[:maxRange]))
	}
	r.data = nil
}

// Close cancels running requests and closes idle connections. The caller closes files before.
func (s *Store) Close() {
	s.cancel()
	s.work.Wait()
	s.Rest()
}
