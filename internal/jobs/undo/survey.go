package undo

import (
	"context"
	"math"
	"sync"
	"time"

	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/pkg/hfile"
)

// readers is the number of regions that are read concurrently.
const readers = 4

// reading has the options for reading a snapshot.
type reading struct {
	workers int
	keys    int       // maximum number of named rows in total
	now     time.Time // time for deciding which cells have expired
	events  progress.Events
}

// survey reads a snapshot of the table and counts its cells of the load.
func (l *load) survey(ctx context.Context, snap *snapshot.Snapshot, o reading) (*result.Survey, error) {
	sum := l.empty(snap)
	parts := make([]*result.Survey, len(snap.Regions))
	o.events.Total("read", progress.Amount{Rows: l.manifest.Digest.Rows})
	var mu sync.Mutex
	view := snapshot.View{Raw: true, Doubles: true, Now: o.now, Families: l.families}
	err := snap.Each(ctx, o.workers, view, func(ctx context.Context, i int, sc *snapshot.Scan) error {
		r := newReader(l, snap, o.now)
		r.part.Regions[0].Region, r.keys = snap.Regions[i].Encoded, o.keys
		for sc.Next() {
			if sc.NewRow() {
				r.endRow()
				r.startRow(sc.Cell().Row)
			}
			if err := r.cell(sc.Cell(), sc.Loaded()); err != nil {
				return err
			}
		}
		r.endRow()
		o.events.Read(r.part.Regions[0].Rows)
		mu.Lock()
		defer mu.Unlock()
		parts[i] = r.finish()
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, part := range parts {
		sum.Add(part)
	}
	for i := range sum.Regions {
		r := &sum.Regions[i]
		r.Keys = r.Keys[:min(len(r.Keys), o.keys)]
		o.keys -= len(r.Keys)
	}
	return sum, nil
}

// empty returns an empty survey.
func (l *load) empty(snap *snapshot.Snapshot) *result.Survey {
	s := &result.Survey{Table: l.table.String(), Timestamp: l.stamp, Regions: []result.SurveyRegion{}}
	for _, f := range snap.Families {
		if f.TTL == math.MaxInt64 { // for ever
			f.MinVersions = 0
		}
		for _, own := range l.families {
			if f.Name == own {
				s.Families = append(s.Families, result.SurveyFamily{Family: f.Name, Versions: f.Versions, MinVersions: f.MinVersions, KeepDeleted: f.KeepDeleted})
			}
		}
	}
	return s
}

// ofLoad reports whether the load may have written a cell.
func (l *load) ofLoad(c *hfile.Cell) bool { return c.Type == hfile.Put && c.Timestamp == l.stamp }
