package extsort

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"sort"

	"bulkload/pkg/setting"
)

// A Merge returns the rows of one region in order, each key once unless the
// policy is [KeepAll].
//
//	defer m.Close()
//	for m.Next() { use m.Key(), m.Payload() }
//	if err := m.Err(); err != nil { … }
type Merge struct {
	sorter  *Sorter
	tree    *loserTree
	policy  Policy
	all     bool // return all rows of equal keys: for intermediate merges
	stays   bool // rows stay in memory until the sort is closed
	err     error
	dups    int64
	current cursor // view of the current row
	held    []byte // copy of the current row when rows of the same key follow
	whole   []byte // the current record with its payload, if the payload is stored with another row

	arrivals *arrivals // nil if all cursors are present from the beginning

	losers *lostRecords // receives the records whose rows are left out; may be nil
	lost   []uint64     // records not yet passed to losers

	displaced *losses[Displaced] // receives the rows that are left out; may be nil
	pairs     []Displaced        // not yet passed to displaced
	without   *lostRecords       // records whose rows this merge leaves out; may be nil
}

// Region returns a merge of one region. Different regions may be merged concurrently.
func (s *Sorter) Region(region int) (*Merge, error) {
	if !s.done {
		return nil, errors.New("region read before the sort is finished")
	}
	if s.closed || region < 0 || region >= s.options.Regions {
		return nil, fmt.Errorf("region %d of a sort with %s cannot be read, closed: %v", region, setting.Count(s.options.Regions, "region"), s.closed)
	}
	policy := s.policy(region)
	return s.merge(region, s.runs, nil, policy, policy == KeepAll)
}

func (s *Sorter) policy(region int) Policy {
	if s.options.Policies != nil {
		return s.options.Policies[region]
	}
	return s.options.Duplicates
}

// Size returns the number of a region's rows, including duplicates, and their unpacked
// size in bytes, with 14 bytes for each row in addition to its key and payload. It
// panics if the region does not exist.
func (s *Sorter) Size(region int) (rows, bytes int64) {
	if s.saved != nil {
		rows, bytes = s.saved[region].rows, s.saved[region].bytes
	}
	for _, w := range s.writers {
		rows += w.added[region].rows
		bytes += w.added[region].bytes
	}
	return rows, bytes
}

func (s *Sorter) regionEntries(a *arena, region int) []entry {
	first, last := s.sorting.first(region), s.sorting.first(region+1)
	e := a.entries
	from := sort.Search(len(e), func(i int) bool { return e[i].sort >= first })
	to := len(e)
	if region+1 < s.options.Regions {
		to = from + sort.Search(len(e)-from, func(i int) bool { return e[from+i].sort >= last })
	}
	return e[from:to]
}

// merge merges a region of runs. finds has a lookup for each run if regions are merged one after the other.
func (s *Sorter) merge(region int, runs []*run, finds []lookup, policy Policy, all bool) (*Merge, error) {
	var cursors []cursor
	table := crc32.MakeTable(crc32.Castagnoli)
	var once lookup
	for i, r := range runs {
		if !r.sections.has(region) {
			continue
		}
		find := &once
		if finds != nil {
			find = &finds[i]
		}
		sec, err := find.section(r, region)
		if err != nil {
			return nil, err
		}
		cursors = append(cursors, cursor{run: r, table: table, region: region, order: &s.sorting, off: sec.off, end: sec.end, left: sec.rows, buffers: s.takeBuffers()})
	}
	if len(s.runs) == 0 {
		for _, w := range s.writers {
			if e := s.regionEntries(w.arena, region); len(e) > 0 {
				cursors = append(cursors, cursor{arena: w.arena, entries: e})
			}
		}
	}
	return s.mergeCursors(region, cursors, policy, all)
}

func (s *Sorter) mergeCursors(region int, cursors []cursor, policy Policy, all bool) (*Merge, error) {
	m := &Merge{sorter: s, tree: &loserTree{cursors: cursors}, policy: policy, all: all, stays: len(s.runs) == 0}
	if s.lost != nil && !all {
		if region < s.options.Leading {
			m.losers = s.lost
		} else if s.options.Follows[region] && len(s.lost.set) > 0 {
			m.without = s.lost
		}
	}
	if s.options.Displaced != nil && !all {
		m.displaced = s.displaced[s.options.Displaced[region]]
	}
	for i := range cursors {
		err := cursors[i].next()
		if err == nil && m.without != nil {
			err = m.skip(&cursors[i])
		}
		if err != nil {
			m.Close()
			return nil, err
		}
	}
	m.tree = newLoserTree(cursors)
	return m, nil
}

// Close returns the buffers for the next merge. The current row becomes invalid.
func (m *Merge) Close() {
	for i := range m.tree.cursors {
		if c := &m.tree.cursors[i]; c.run != nil {
			m.sorter.giveBuffers(c.buffers)
		}
	}
	m.tree.cursors = nil
}

// takeBuffers returns the buffers of a closed merge, or empty ones. Without this reuse,
// the merge of each region would leave its buffers as garbage.
func (s *Sorter) takeBuffers() buffers {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.spare)
	if n == 0 {
		return buffers{}
	}
	b := s.spare[n-1]
	s.spare = s.spare[:n-1]
	return b
}

func (s *Sorter) giveBuffers(b buffers) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spare = append(s.spare, b)
}

// Next moves to the next row. It returns false at the end and on an error.
func (m *Merge) Next() bool {
	if m.err != nil || len(m.tree.cursors) == 0 {
		return false
	}
	c := m.tree.min()
	if c.ended {
		m.err = errors.Join(flush(m.losers, &m.lost, 0), flush(m.displaced, &m.pairs, 0))
		return false
	}
	sort := c.sort
	m.current.record, m.current.shared = c.record, c.shared
	// The tree is one row ahead of the current row. A cursor keeps its previous
	// block, so the current row stays valid for one step.
	for held := m.stays; ; {
		if !m.advance() {
			return false
		}
		c = m.tree.min()
		if m.all || c.ended || c.sort != sort || !bytes.Equal(c.key(), m.current.key()) {
			return true
		}
		m.dups++
		if m.reportLeftOut(c); m.losers != nil {
			m.lost = append(m.lost, m.leftOut(c).seq())
			if m.err = flush(m.losers, &m.lost, lostAtOnce); m.err != nil {
				return false
			}
		}
		if m.displaced != nil {
			if m.err = m.displace(c); m.err != nil {
				return false
			}
		}
		switch {
		case m.policy == Fail:
			m.err = &DuplicateError{Key: bytes.Clone(c.key()), First: m.current.seq(), Second: c.seq()}
			return false
		case m.replaces(c):
			m.current.record, m.current.shared = c.record, c.shared
			held = m.stays
		case !held:
			m.held = append(m.held[:0], m.current.record...)
			m.current.record = m.held
			held = true
		}
	}
}

// lostAtOnce is the number of lost records that a merge collects before it passes them on.
const lostAtOnce = 512

// flush moves records of rows that are left out to their list if there are more than limit.
func flush[T comparable](to *losses[T], from *[]T, limit int) error {
	if len(*from) <= limit {
		return nil
	}
	err := to.add(*from...)
	*from = (*from)[:0]
	return err
}

// skip moves a cursor past rows of lost records. It first copies the current row, which stays valid for only one step of its
// cursor.
func (m *Merge) skip(c *cursor) (err error) {
	for n := 0; err == nil && !c.ended && isLost(m.without, c.seq()); n++ {
		if n == 0 && !m.stays {
			m.held = append(m.held[:0], m.current.record...)
			m.current.record = m.held
		}
		m.dups++
		err = c.next()
	}
	return err
}

// advance moves the least cursor to its next row.
func (m *Merge) advance() bool {
	c := m.tree.min()
	if m.err = c.next(); m.err == nil && m.without != nil {
		m.err = m.skip(c)
	}
	if m.err != nil {
		return false
	}
	m.tree.replay()
	if m.arrivals != nil {
		m.err = m.admit()
	}
	return m.err == nil
}

// Key returns the current row's key, valid until the next call of Next.
func (m *Merge) Key() []byte { return m.current.key() }

// Payload returns the current row's payload, valid until the next call of Next.
func (m *Merge) Payload() []byte { return m.current.payload() }

// Seq returns the current row's sequence number.
func (m *Merge) Seq() uint64 { return m.current.seq() }

// Duplicates returns the number of rows left out so far.
func (m *Merge) Duplicates() int64 { return m.dups }

// Err returns the error that ended the merge, nil at its regular end.
func (m *Merge) Err() error { return m.err }

// Record returns the current row with the header of a run: u64 sequence number, u32 length of key and payload, and
// [Merge.Row]. It is valid until the next call of Next.
func (m *Merge) Record() []byte {
	if m.current.shared == nil {
		return m.current.record
	}
	m.whole = append(append(m.whole[:0], m.current.record...), m.current.shared...)
	return m.whole
}

// Row returns the current row without its sequence number: u16 length of the key,
// little-endian, the key and the payload. It is valid until the next call of Next.
func (m *Merge) Row() []byte { return m.Record()[recordHeader-2:] }
