package query

import "sync"

// rowMemory counts the memory of the rows that a read holds, and requests more than its own share. Safe for
// concurrent use.
type rowMemory struct {
	most int64
	more func(bytes int64) bool // nil: no limit

	mu   sync.Mutex
	held int64
}

// add adds bytes that are held from now on.
func (m *rowMemory) add(bytes int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held += bytes
	if over := m.held - m.most; over > 0 && m.more != nil {
		if !m.more(over) {
			return ErrMemory
		}
		m.most += over
	}
	return nil
}

// drop subtracts bytes that are no longer held.
func (m *rowMemory) drop(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held -= bytes
}
