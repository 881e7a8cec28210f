package query

import "sync"

// rowMemory counts the rows that a reading holds, and asks for more than its
// own share. Safe for concurrent use.
type rowMemory struct {
	most int64
	more func(bytes int64) bool // nil: there is always more

	mu   sync.Mutex
	held int64
}

// add counts bytes that are held from now on.
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

// drop counts bytes that are held no more.
func (m *rowMemory) drop(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held -= bytes
}
