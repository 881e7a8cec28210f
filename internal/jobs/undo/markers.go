package undo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/rewrite"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// part identifies the rows of one file of markers.
type part struct {
	region int
	family string
	rows   int64
	copies bool // with copies of the older cells that become visible again
}

// write writes a file of markers for each region and family that has cells of the
// load. In families with copies the file has, after each marker, the older cells
// that become visible again: a compaction that reads them and the load's cells
// without the markers would drop them. File names depend on the load, the region
// and the number of the write, from 0.
func (l *load) write(ctx context.Context, snap *snapshot.Snapshot, s *result.Survey, rw *rewrite.Rewriter, prefix string, number int, o reading) ([]loader.HFile, error) {
	var parts []rewrite.Content
	for i, r := range s.Regions {
		for j, rows := range r.Families {
			if rows == 0 {
				continue
			}
			p := part{i, s.Families[j].Family, rows, l.all || !keepsOlder(s.Families[j], l.others)}
			size := rows * rewrite.MarkerBytes
			if p.copies {
				size += snap.Regions[i].Bytes
			}
			parts = append(parts, rewrite.Content{Family: p.family, Name: hfile.Name("undo %s %d %s %q %d", l.table, l.stamp, p.family, snap.Regions[i].Start, number), Region: i, What: "markers for region " + snap.Regions[i].Encoded, Size: size,
				Fill: func(ctx context.Context, add func(*hfile.Cell) error) error {
					return l.markers(ctx, snap, p, o, add)
				}})
		}
	}
	o.events.Total("write", progress.Amount{Files: int64(len(parts))})
	files, err := rw.MakeAll(ctx, prefix, parts, o.workers, o.events)
	if err != nil && ctx.Err() == nil {
		err = fail.With(fail.HDFS, err)
	}
	return files, err
}

// markers adds a marker for each row of a region and family that has cells of the
// load, and after it the copies.
func (l *load) markers(ctx context.Context, snap *snapshot.Snapshot, p part, o reading, add func(*hfile.Cell) error) (err error) {
	sc, err := snap.Scan(ctx, p.region, snapshot.View{Raw: true, Now: o.now, Families: []string{p.family}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sc.Close()) }()
	again := newUncovered(snap, p, l.stamp, o.now)
	marker := hfile.Cell{Family: []byte(p.family), Timestamp: l.stamp, Type: hfile.DeleteFamilyVersion}
	written := int64(0)
	for sc.Next() {
		c := sc.Cell()
		if seen, err := again.shows(c, sc.NewRow()); err != nil {
			return err
		} else if seen { // a cell of the load precedes it in its column
			if err := add(c); err != nil {
				return err
			}
		}
		if !l.ofLoad(c) || written > 0 && bytes.Equal(c.Row, marker.Row) {
			continue
		}
		marker.Row = append(marker.Row[:0], c.Row...)
		if err := add(&marker); err != nil {
			return err
		}
		written++
	}
	if err := sc.Err(); err != nil {
		return err
	}
	if written != p.rows {
		return fmt.Errorf("%s cells of the load; before: %d", setting.Count(written, "row has"), p.rows)
	}
	return nil
}

// uncovered finds the cells that are visible only without a load. A nil uncovered
// finds none.
type uncovered struct{ with, without *snapshot.Rules }

func newUncovered(snap *snapshot.Snapshot, p part, stamp int64, now time.Time) *uncovered {
	at := slices.IndexFunc(snap.Families, func(f snapshot.Family) bool { return f.Name == p.family })
	if !p.copies || at < 0 {
		return nil
	}
	f, view := snap.Families[at], snapshot.View{Versions: 1, Now: now}
	return &uncovered{f.Rules(view), f.Rules(view, stamp)}
}

// shows processes the next cell of a raw scan of the family.
func (u *uncovered) shows(c *hfile.Cell, newRow bool) (bool, error) {
	if u == nil {
		return false, nil
	}
	if newRow {
		u.with.Row()
		u.without.Row()
	}
	with, err := u.with.Shows(c)
	if err != nil {
		return false, err
	}
	without, err := u.without.Shows(c)
	return without && !with, err
}
