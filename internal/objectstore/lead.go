package objectstore

import (
	"context"
	"sync"
)

// mostLeads bounds what is read of objects whose next part nobody has begun to read.
const mostLeads = 16

// lead is how far an object is read: parts of it are opened one after the other, in their order, by several readers. The beginning of the
// next one is asked for before it is opened, so that its reader does not wait for an answer.
type lead struct {
	o     object
	front int64 // the end of the last part that was opened
	span  *span // from there on; nil: not asked for
}

// takeLead records that a part of an object is read, and returns the requests for it.
func (s *Store) takeLead(o object, start, end int64) *span {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.leads[o.key]
	if l == nil || l.o != o {
		if len(s.leads) >= mostLeads {
			clear(s.leads)
		}
		if s.leads == nil {
			s.leads = make(map[string]*lead)
		}
		l = &lead{o: o}
		s.leads[o.key] = l
	}
	var r *span
	if l.span != nil && l.span.off == start {
		r, l.span = l.span, nil
	}
	if start < mostRange || end > l.front { // from the beginning, or on
		l.front = end
	}
	return r
}

// giveLead asks for the beginning of the next part of an object.
func (s *Store) giveLead(o object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.leads[o.key]
	if l == nil || l.o != o || l.front >= o.size || l.span != nil && l.span.off == l.front {
		return
	}
	l.span = s.begin(s.ctx, &s.work, o, l.front, min(mostRange, o.size-l.front))
}

// begin reads n bytes in another goroutine.
func (s *Store) begin(ctx context.Context, work *sync.WaitGroup, o object, off, n int64) *span {
	var buf []byte
	if n > mostRange/2 {
		if b, ok := s.buffers.Get().(*[mostRange]byte); ok {
			buf = b[:n]
		} else {
			buf = new([mostRange]byte)[:n]
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

// reuse takes the buffer of a span that nothing reads or writes any more.
func (s *Store) reuse(r *span) {
	if cap(r.data) == mostRange {
		s.buffers.Put((*[mostRange]byte)(r.data[:mostRange]))
	}
	r.data = nil
}

// Close ends what is under way. Files are closed before.
func (s *Store) Close() error {
	s.cancel()
	s.work.Wait()
	s.Rest()
	return nil
}
