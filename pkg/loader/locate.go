package loader

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/singleflight"
)

// ErrTableDisabled is the error of a table that exists and is disabled.
var ErrTableDisabled = errors.New("is disabled: enable it in HBase's shell")

// regionMap caches the regions of tables, for reading. A list that proves to be stale is read again once for all callers that found it
// stale. Safe for concurrent use; lists are shared and never changed.
type regionMap struct {
	read    func(ctx context.Context, table TableName) ([]Region, error) // from hbase:meta
	enabled func(ctx context.Context, table TableName) error             // ErrTableDisabled for a table out of service

	mu       sync.Mutex
	known    map[TableName][]Region
	renewing map[TableName]bool
	readings singleflight.Group
}

// put stores the regions of a table; an empty list removes the table.
func (m *regionMap) put(table TableName, regions []Region) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(regions) == 0 {
		delete(m.known, table)
		return
	}
	if m.known == nil {
		m.known = map[TableName][]Region{}
	}
	m.known[table] = regions
}

// after returns the known regions, unless they are the old ones or none. prompt checks the table's state before it reads.
func (m *regionMap) after(ctx context.Context, table TableName, old []Region, prompt bool) ([]Region, error) {
	if regions, ok := m.newer(table, old); ok {
		return regions, nil
	}
	key := table.String()
	if prompt {
		key += " prompt"
	}
	// A reading is shared: it does not end with the context of the first caller. Its retries are bounded.
	read := m.readings.DoChan(key, func() (any, error) {
		if regions, ok := m.newer(table, old); ok { // another reading ended meanwhile
			return regions, nil
		}
		ctx := context.WithoutCancel(ctx)
		if prompt {
			if err := m.enabled(ctx, table); err != nil {
				return nil, err
			}
		}
		regions, err := m.read(ctx, table)
		if err != nil {
			return nil, err
		}
		m.put(table, regions)
		return regions, nil
	})
	select {
	case r := <-read:
		regions, _ := r.Val.([]Region)
		return regions, r.Err
	case <-ctx.Done():
		return nil, fmt.Errorf("read the regions of %s: %w", table, context.Cause(ctx))
	}
}

// newer returns the known regions if there are any and they are not the old ones.
func (m *regionMap) newer(table TableName, old []Region) ([]Region, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	regions := m.known[table]
	return regions, len(regions) > 0 && (len(old) == 0 || &old[0] != &regions[0])
}

// renew reads a list of regions again, unless another has replaced it, and does not wait for it: until then the list serves the callers whose servers
// answer.
func (m *regionMap) renew(ctx context.Context, table TableName, old []Region) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(old) == 0 || m.renewing[table] {
		return
	}
	if m.renewing == nil {
		m.renewing = map[TableName]bool{}
	}
	m.renewing[table] = true
	go func() {
		_, _ = m.after(context.WithoutCancel(ctx), table, old, false) // the next caller without an answer tries again
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.renewing, table)
	}()
}

// locator finds the regions of one scan's rows. It remembers the list that the last region came from: only that list can have proved to be
// stale.
type locator struct {
	regions *regionMap
	table   TableName
	prompt  bool // a disabled table is an error at once
	used    []Region
}

// locate finds the region of a row. again says that the region found before was not where the list has it.
func (l *locator) locate(ctx context.Context, row []byte, again bool) (Region, error) {
	old := l.used
	if !again {
		old = nil
	}
	regions, err := l.regions.after(ctx, l.table, old, again && l.prompt)
	if err != nil {
		return Region{}, err
	}
	l.used = regions
	r := regions[find(regions, row)]
	if r.Server == "" {
		return r, fmt.Errorf("region %s of %s: %w", r, l.table, errNotAssigned)
	}
	return r, nil
}

// unanswered has the list of regions read again if the caller's time has ended before the server in it answered. A caller may have less time than a
// connect or a call takes to fail, and would find the server of a host that is gone in it for ever.
func (l *locator) unanswered(ctx context.Context) {
	if late(ctx) {
		l.regions.renew(ctx, l.table, l.used)
	}
}

// late reports whether a context has ended by its deadline.
func late(ctx context.Context) bool { return errors.Is(ctx.Err(), context.DeadlineExceeded) }
