package profiling

import (
	"context"
	"sync"

	"bulkload/internal/formats/profile"
	"bulkload/internal/pipeline/build"
	"bulkload/pkg/source"
)

// A merger adds the tallies of parts in the order of the parts. Only a few are open at a time, so that one slow part does not keep the tallies of all
// later parts in memory.
type merger struct {
	columns, most int

	mu      sync.Mutex
	changed sync.Cond
	total   *profile.Tally
	ready   map[int]*profile.Tally // parts that wait for an earlier one
	done    int                    // number of parts that were added
	free    []*profile.Tally
}

// openParts returns the number of parts that can be open at a time: twice the number of workers, or as many as the memory has room for with the total.
// One can always be open, since few inputs need the greatest memory of a tally.
func openParts(columns int, o build.Options) int {
	return int(max(1, min(int64(2*o.Workers), int64(o.Memory)/max(profile.Memory(columns), 1)-1)))
}

func newMerger(columns, most int) *merger {
	m := &merger{columns: columns, most: most, total: profile.New(columns), ready: map[int]*profile.Tally{}}
	m.changed.L = &m.mu
	return m
}

// tally returns an empty tally for a part. It waits while too many are open. Parts begin in order, so the part that it waits for is being read.
func (m *merger) tally(ctx context.Context, part int) (*profile.Tally, error) {
	stop := context.AfterFunc(ctx, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.changed.Broadcast()
	})
	defer stop()
	m.mu.Lock()
	defer m.mu.Unlock()
	for part >= m.done+m.most && ctx.Err() == nil {
		m.changed.Wait()
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if n := len(m.free); n > 0 {
		t := m.free[n-1]
		m.free = m.free[:n-1]
		return t, nil
	}
	return profile.New(m.columns), nil
}

func (m *merger) add(part int, t *profile.Tally) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ready[part] = t
	for next, ok := m.ready[m.done]; ok; next, ok = m.ready[m.done] {
		m.total.Merge(next)
		next.Reset()
		m.free = append(m.free, next)
		delete(m.ready, m.done)
		m.done++
	}
	m.changed.Broadcast()
}

type columnCounter struct {
	*merger
	columns int
	total   *profile.Tally
}

func (c *columnCounter) begin(ctx context.Context, part int) (err error) {
	c.total, err = c.tally(ctx, part)
	return err
}

func (c *columnCounter) end(part int) { c.add(part, c.total) }

// batch counts column by column, so that a column's state stays in the processor's cache.
func (c *columnCounter) batch(b *source.Batch, rows []int) {
	nulls := b.Nulls()
	c.total.Records(int64(len(rows)))
	for column := range c.columns {
		for _, row := range rows {
			value, null := build.Counted(b, row, column, nulls)
			c.total.Value(column, value, null)
		}
	}
}
