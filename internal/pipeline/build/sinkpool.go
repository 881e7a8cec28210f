package build

import (
	"io"
	"slices"
	"sync"

	"bulkload/internal/pipeline/encode"
)

// sinkPool keeps the sinks of finished regions for reuse. All tables of a build share it, so that there are never more sets of sinks, idle or
// in use, than workers write at a time: these are what the memory budget has room for.
type sinkPool struct {
	index int64 // bytes that the indexes of a set may take, 0 for any number

	mu   sync.Mutex
	idle []idleSinks // those given last are last
}

// idleSinks are the sinks of a finished region of a table, one for each family.
type idleSinks struct {
	table *writers
	sinks []*encode.Sink
}

// take returns a sink for each family of a table. It reuses the sinks of a finished region of the table if there are any; else new ones take the
// place of those of another table.
func (p *sinkPool) take(w *writers, out func(family int) io.Writer) ([]*encode.Sink, error) {
	sinks := p.remove(w)
	if sinks == nil {
		return encode.NewSinks(w.plan, p.index, out)
	}
	for i, s := range sinks {
		s.Reset(out(i))
	}
	return sinks, nil
}

// remove removes one set of sinks, if there is any, and returns it if it is of the given table.
func (p *sinkPool) remove(w *writers) []*encode.Sink {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	for i, s := range slices.Backward(p.idle) {
		if s.table == w {
			p.idle = slices.Delete(p.idle, i, i+1)
			return s.sinks
		}
	}
	p.idle = slices.Delete(p.idle, 0, 1)
	return nil
}

// give keeps sinks for reuse, if they can be reused. Their files were finished without an error.
func (p *sinkPool) give(w *writers, sinks []*encode.Sink) {
	for _, s := range sinks {
		if !s.Resets() {
			return
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, idleSinks{w, sinks})
}
