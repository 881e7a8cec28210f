package snapshot

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"bulkload/pkg/hfile"
)

// A RangeScan walks the cells of a range of rows, which several regions may have, as a [Scan] walks those of one. It belongs to one goroutine
// and must be closed.
type RangeScan struct {
	ctx  context.Context
	snap *Snapshot
	view View
	next int // region
	sc   *Scan
	err  error
}

// ScanRange stands before the first cell of the rows from v.Start up to, but without, v.Stop. ctx bounds its life.
func (s *Snapshot) ScanRange(ctx context.Context, v View) *RangeScan {
	return &RangeScan{ctx: ctx, snap: s, view: v, next: s.regionOf(v.Start)}
}

// regionOf returns the index of the region that has a row.
func (s *Snapshot) regionOf(row []byte) int {
	at, found := slices.BinarySearchFunc(s.Regions, row, func(r Region, row []byte) int { return bytes.Compare(r.Start, row) })
	if !found && at > 0 {
		at--
	}
	return at
}

// Next moves to the next cell.
func (c *RangeScan) Next() bool {
	for c.err == nil {
		if c.sc != nil {
			if c.sc.Next() {
				return true
			}
			if c.err = errors.Join(c.sc.Err(), c.Close()); c.err != nil {
				return false
			}
		}
		if c.next == len(c.snap.Regions) {
			return false
		}
		r := &c.snap.Regions[c.next]
		if c.next++; len(c.view.Stop) > 0 && bytes.Compare(r.Start, c.view.Stop) >= 0 {
			c.next = len(c.snap.Regions)
			return false
		}
		if r.Files > 0 {
			c.sc, c.err = c.snap.Scan(c.ctx, c.next-1, c.view)
		}
	}
	return false
}

// Cell returns the current cell.
func (c *RangeScan) Cell() *hfile.Cell { return c.sc.Cell() }

// NewRow reports whether it is the first of its row.
func (c *RangeScan) NewRow() bool { return c.sc.NewRow() }

// Loaded is [Scan.Loaded] of the current cell.
func (c *RangeScan) Loaded() bool { return c.sc.Loaded() }

// Err returns why Next has ended, nil at the end of the range.
func (c *RangeScan) Err() error { return c.err }

// Close closes the files.
func (c *RangeScan) Close() error {
	if c.sc == nil {
		return nil
	}
	err := c.sc.Close()
	c.sc = nil
	return err
}

// SameFiles reports whether another snapshot of the table has the same regions, and the same files in each: nothing was written between the
// two, if what was in memory was flushed for both.
func (s *Snapshot) SameFiles(o *Snapshot) bool {
	return s.Table == o.Table && slices.EqualFunc(s.Regions, o.Regions, func(a, b Region) bool {
		if a.Encoded != b.Encoded || a.Files != b.Files {
			return false
		}
		for family, files := range a.stores {
			names := map[string]bool{}
			for i := range files {
				names[files[i].name] = true
			}
			for i := range b.stores[family] {
				delete(names, b.stores[family][i].name)
			}
			if len(names) > 0 || len(files) != len(b.stores[family]) {
				return false
			}
		}
		return true
	})
}
