package undo

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"bulkload/internal/base/workers"
	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/result"
	"bulkload/pkg/hfile"
)

// columns iterates over the columns of a range of a snapshot in which a reader of the newest version sees a cell, with the load or without it. For
// one goroutine.
type columns struct {
	load  *load
	scan  *snapshot.RangeScan
	rules map[string]*columnRules // by family
	more  bool                    // scan is at a cell that was not processed
	begun bool

	newest, kept   manifest.Digest // visible without the load: the newest version, and all versions that are kept
	written        int64           // cells written by the load
	rowSeen        bool            // a cell of the row is visible without the load
	row, qualifier []byte          // of the current column
	family         string
	own            bool // the load's cell is visible
	loaded         bool // and no compaction has rewritten it
	seen           bool // a cell is visible without the load, with:
	stamp          int64
	value, hash    []byte
}

// columnRules decide which cells of a family are visible in a row: with the load, without it, and without it in all versions.
type columnRules struct {
	with, without, all *snapshot.Rules
	begun              bool // for the current row
}

// columnsOf returns the columns of the rows in [start, stop). The result must be closed.
func (l *load) columnsOf(ctx context.Context, snap *snapshot.Snapshot, start, stop []byte, now time.Time) *columns {
	c := &columns{load: l, rules: map[string]*columnRules{}, scan: snap.ScanRange(ctx, snapshot.View{Raw: true, Now: now, Start: start, Stop: stop})}
	one, all := snapshot.View{Versions: 1, Now: now}, snapshot.View{Now: now}
	var hidden []int64
	if l.stamp != 0 {
		hidden = []int64{l.stamp}
	}
	for _, f := range snap.Families {
		c.rules[f.Name] = &columnRules{with: f.Rules(one), without: f.Rules(one, hidden...), all: f.Rules(all, hidden...)}
	}
	return c
}

func (c *columns) close() error { return c.scan.Close() }

// next moves to the next column.
func (c *columns) next() (bool, error) {
	if !c.begun {
		c.begun, c.more = true, c.scan.Next()
	}
	for c.more {
		at := c.scan.Cell()
		if c.scan.NewRow() {
			c.startRow()
		}
		c.row, c.qualifier, c.family = append(c.row[:0], at.Row...), append(c.qualifier[:0], at.Qualifier...), string(at.Family)
		c.own, c.loaded, c.seen = false, false, false
		for first := true; c.more; first, c.more = false, c.scan.Next() {
			at := c.scan.Cell()
			if !first && (c.scan.NewRow() || c.family != string(at.Family) || !bytes.Equal(c.qualifier, at.Qualifier)) {
				break
			}
			if err := c.cell(at); err != nil {
				return false, err
			}
		}
		if c.own || c.seen {
			return true, nil
		}
	}
	return false, c.scan.Err()
}

func (c *columns) startRow() {
	c.rowSeen = false
	for _, r := range c.rules {
		r.begun = false
	}
}

// cell processes one cell of the column.
func (c *columns) cell(at *hfile.Cell) error {
	r := c.rules[c.family]
	if !r.begun {
		r.begun = true
		r.with.Row()
		r.without.Row()
		r.all.Row()
	}
	with, err := r.with.Shows(at)
	if err != nil {
		return err
	}
	if c.load.stamp != 0 && c.load.ofLoad(at) {
		c.written++
		if with {
			c.own, c.loaded = true, c.scan.Loaded()
		}
	}
	if c.load.replaced(at) {
		return nil
	}
	without, err := r.without.Shows(at)
	if err != nil {
		return err
	}
	all, err := r.all.Shows(at)
	if err != nil || !without && !all {
		return err
	}
	var sum uint64
	sum, c.hash = cellSum(at, c.hash)
	if all {
		c.kept.Cells++
		c.kept.Sum += sum
	}
	if without {
		c.newest.Cells++
		c.newest.Sum += sum
		c.seen, c.stamp, c.value = true, at.Timestamp, append(c.value[:0], at.Value...)
		if !c.rowSeen {
			c.rowSeen = true
			c.newest.Rows++
			c.kept.Rows++
		}
	}
	return nil
}

// replaced reports whether a cell is a delete marker with which the load has replaced a row.
func (l *load) replaced(c *hfile.Cell) bool {
	return l.replaces && c.Type == hfile.DeleteFamily && c.Timestamp == l.stamp-1
}

// digestOf returns the digests of the cells of a snapshot that readers see without the load.
func (l *load) digestOf(ctx context.Context, snap *snapshot.Snapshot, o reading) (newest, kept manifest.Digest, err error) {
	r, err := l.lossBy(ctx, snap, nil, o)
	return r.Before, r.Versions, err
}

// lossBy compares a snapshot of the current table with one from before the load, to which it would be restored. If now is nil, only before is read.
func (l *load) lossBy(ctx context.Context, before, now *snapshot.Snapshot, o reading) (*result.Restore, error) {
	sum := &result.Restore{Unmarked: l.stamp == 0}
	by := before
	if now != nil {
		by = now
	}
	var mu sync.Mutex
	err := workers.Each(ctx, o.workers, len(by.Regions), func(ctx context.Context, i int) (err error) {
		r := &by.Regions[i]
		j := &lossJoin{before: l.columnsOf(ctx, before, r.Start, r.End, o.now)}
		defer func() { err = errors.Join(err, j.before.close()) }()
		if now != nil {
			j.now = l.columnsOf(ctx, now, r.Start, r.End, o.now)
			defer func() { err = errors.Join(err, j.now.close()) }()
		}
		if err := j.run(); err != nil {
			return err
		}
		j.part.Before, j.part.Versions, j.part.InBefore = j.before.newest, j.before.kept, j.before.written
		mu.Lock()
		defer mu.Unlock()
		sum.Add(&j.part)
		return nil
	})
	return sum, err
}

// lossJoin merges the columns of a range in the snapshot from before the load and in the current one.
type lossJoin struct {
	before, now *columns // now may be nil
	part        result.Restore
	row         []byte // the last row in which something is lost
	any         bool
}

func (j *lossJoin) run() error {
	b, err := j.before.next()
	if err != nil {
		return err
	}
	n := false
	if j.now != nil {
		if n, err = j.now.next(); err != nil {
			return err
		}
	}
	for b || n {
		order := 0
		switch {
		case !n:
			order = -1
		case !b:
			order = 1
		default:
			order = cmp.Or(bytes.Compare(j.before.row, j.now.row), cmp.Compare(j.before.family, j.now.family), bytes.Compare(j.before.qualifier, j.now.qualifier))
		}
		if j.now != nil {
			j.column(order)
		}
		if order <= 0 {
			if b, err = j.before.next(); err != nil {
				return err
			}
		}
		if order >= 0 {
			if n, err = j.now.next(); err != nil {
				return err
			}
		}
	}
	return nil
}

// column counts one column: order is negative if only the snapshot has it, positive if only the table has it.
func (j *lossJoin) column(order int) {
	b, n := j.before, j.now
	if order >= 0 && n.own {
		j.part.Removed++
	}
	switch {
	case order < 0 && !b.seen, order > 0 && !n.seen:
	case order < 0 && b.load.replaces:
		j.part.Restored++ // the load's delete marker, and the cells that it hid, may have been dropped
	case order < 0:
		j.count(&j.part.Deleted, b.row)
	case order > 0:
		j.count(&j.part.Written, n.row)
	case b.seen && n.seen && b.stamp == n.stamp && bytes.Equal(b.value, n.value):
		if n.own {
			j.part.Restored++
		}
	case b.seen && n.seen && n.stamp < b.stamp:
		j.count(&j.part.Deleted, n.row)
	case n.seen:
		j.count(&j.part.Written, n.row)
	case b.seen && n.loaded && !b.load.replaces: // no compaction has dropped the cells that the load's cell hides
		j.count(&j.part.Deleted, n.row)
	case b.seen:
		j.part.Restored++
	}
}

func (j *lossJoin) count(count *int64, row []byte) {
	*count++
	if !j.any || !bytes.Equal(j.row, row) {
		j.any, j.row = true, append(j.row[:0], row...)
		j.part.Rows++
	}
}
