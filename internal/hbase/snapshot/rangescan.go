package snapshot

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"bulkload/pkg/hfile"
)

// A RangeScan reads the cells of a range of rows, which may span several regions, as a [Scan] reads the cells of one region. It is not safe
// for concurrent use and must be closed.
type RangeScan struct {
	ctx  context.Context
	snap *Snapshot
	view View
	next int // region
	scan *Scan
	err  error
}

// ScanRange returns a scan positioned before the first cell of the rows from v.Start (inclusive) to v.Stop (exclusive). ctx limits its lifetime.
func (s *Snapshot) ScanRange(ctx context.Context, v View) *RangeScan {
	return &RangeScan{ctx: ctx, snap: s, view: v, next: s.regionOf(v.Start)}
}

// regionOf returns the index of a row's region.
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
		if c.scan != nil {
			if c.scan.Next() {
				return true
			}
			if c.err = errors.Join(c.scan.Err(), c.Close()); c.err != nil {
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
			c.scan, c.err = c.snap.Scan(c.ctx, c.next-1, c.view)
		}
	}
	return false
}

// Cell returns the current cell.
func (c *RangeScan) Cell() *hfile.Cell { return c.scan.Cell() }

// NewRow reports whether the current cell is the first of its row.
func (c *RangeScan) NewRow() bool { return c.scan.NewRow() }

// Loaded reports [Scan.Loaded] for the current cell.
func (c *RangeScan) Loaded() bool { return c.scan.Loaded() }

// Err returns the error that ended the scan, nil at the end of the range.
func (c *RangeScan) Err() error { return c.err }

// Close closes the files.
func (c *RangeScan) Close() error {
	if c.scan == nil {
		return nil
	}
	err := c.scan.Close()
	c.scan = nil
	return err
}

// SameFiles reports whether another snapshot of the table has the same regions with the same files. If it has, and memstores were flushed
// for both snapshots, nothing was written between them.
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
