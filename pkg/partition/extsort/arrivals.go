package extsort

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"bulkload/pkg/setting"
)

// RecordHeader precedes each row of a [Feed], in bytes: u64 sequence number, u32 length of key and payload, u16 length
// of the key, little-endian. Key and payload follow.
const RecordHeader = recordHeader

// A Feed returns rows that another process has sorted. It must be used by one goroutine.
type Feed interface {
	// Next unpacks the next block of whole rows, each preceded by its header, into dst, and checks that the rows are in
	// order. The result may use the memory of dst; the caller owns it. The error is io.EOF at the end.
	Next(dst []byte) ([]byte, error)
}

// Arrivals returns feeds in the order of their first keys. It must be used by one goroutine.
type Arrivals interface {
	// Next returns a feed and the key of its first row. The key is valid until the next call and not less than the
	// previous feed's. The error is io.EOF at the end.
	Next() (first []byte, f Feed, err error)
}

// ArrivalOptions are the options of [MergeArrivals].
type ArrivalOptions struct {
	Duplicates Policy
	// Shared is the number of leading bytes that all keys share. Default: 0.
	Shared int
	// LeftOut is called with each duplicate row that is left out, in the form of [Merge.Row]. Default: not called.
	LeftOut func(row []byte)
}

// MergeArrivals merges feeds and resolves duplicates between them, as [Sorter.Region] does between runs. It holds only
// feeds whose rows overlap: it takes a feed when rows at or after the feed's first key are due.
func MergeArrivals(a Arrivals, o ArrivalOptions) (*Merge, error) {
	order := newSorting(1, []int{o.Shared})
	m := &Merge{tree: &loserTree{}, policy: o.Duplicates, all: o.Duplicates == KeepAll,
		arrivals: &arrivals{source: a, order: &order, leftOut: o.LeftOut}}
	return m, m.admit()
}

// arrivals holds the feeds of a merge that have not been taken yet.
type arrivals struct {
	source  Arrivals
	order   *sorting
	leftOut func(row []byte)
	newest  []byte // first key of the feed taken last
	spare   []buffers
	began   bool
	ended   bool
}

// admit takes feeds until the least row sorts before every feed that has not been taken. Rows with the first key of the
// newest feed must wait, because the next feed may begin with the same key.
func (m *Merge) admit() error {
	a := m.arrivals
	for !a.ended {
		if len(m.tree.cursors) > 0 {
			if c := m.tree.min(); !c.ended && bytes.Compare(c.key(), a.newest) < 0 {
				return nil
			}
		}
		first, feed, err := a.source.Next()
		if err == io.EOF {
			a.ended = true
			return nil
		}
		if err != nil {
			return err
		}
		if a.began && bytes.Compare(first, a.newest) < 0 {
			return errors.New("sorted rows arrive out of order: their first key is below that of the rows before")
		}
		a.began, a.newest = true, append(a.newest[:0], first...)
		if err := m.addFeed(feed); err != nil {
			return err
		}
	}
	return nil
}

// addFeed adds a feed to the tree. It reuses the buffers of ended feeds, so it first copies the current row, which may be in them.
func (m *Merge) addFeed(f Feed) error {
	a := m.arrivals
	if m.current.record != nil {
		m.held = append(m.held[:0], m.current.record...)
		m.current.record = m.held
	}
	kept := m.tree.cursors[:0]
	for _, c := range m.tree.cursors {
		if c.ended {
			a.spare = append(a.spare, c.buffers)
			continue
		}
		kept = append(kept, c)
	}
	c := cursor{feed: f, order: a.order}
	if n := len(a.spare); n > 0 {
		c.buffers, a.spare = a.spare[n-1], a.spare[:n-1]
	}
	if err := c.next(); err != nil {
		return err
	}
	if !c.ended && !bytes.Equal(c.key(), a.newest) {
		return fmt.Errorf("the first key of sorted rows, of %s, is not the announced one, of %d", setting.Count(len(c.key()), "byte"), len(a.newest))
	}
	m.tree.cursors = append(kept, c)
	m.tree.play()
	return nil
}

// Open returns the number of feeds that the merge holds.
func (m *Merge) Open() (n int) {
	for i := range m.tree.cursors {
		if !m.tree.cursors[i].ended {
			n++
		}
	}
	return n
}

// replaces reports whether the row of the least cursor is kept instead of the current row. A row with a payload is always preferred to one without.
func (m *Merge) replaces(c *cursor) bool {
	if has := len(c.payload()) > 0; has != (len(m.current.payload()) > 0) {
		return has
	}
	return m.policy == KeepLast
}

// leftOut returns the duplicate that is left out: the current row, or the row of the least cursor.
func (m *Merge) leftOut(c *cursor) *cursor {
	if m.replaces(c) {
		return &m.current
	}
	return c
}

// reportLeftOut passes the row that is left out to [ArrivalOptions].LeftOut.
func (m *Merge) reportLeftOut(c *cursor) {
	if m.arrivals != nil && m.arrivals.leftOut != nil {
		m.arrivals.leftOut(m.leftOut(c).record[recordHeader-2:])
	}
}

// feedBlock reads the next block of a feed.
func (c *cursor) feedBlock() error {
	block, err := c.feed.Next(c.before[:0])
	if err == io.EOF {
		c.ended = true
		return nil
	}
	if err != nil {
		return err
	}
	c.before, c.block, c.rest = c.block, block, block
	if len(block) == 0 {
		return errors.New("a block of sorted rows is empty")
	}
	return nil
}
