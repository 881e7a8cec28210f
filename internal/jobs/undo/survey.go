package undo

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"bulkload/internal/engine/status"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/tablesource"
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

// DiffOptions are the options of [Diff].
type DiffOptions struct {
	Keys   int // number of named rows per table
	Events progress.Events
}

// Diff describes the changes by the load of a finished job, from a snapshot that is
// taken for this. dir is the directory of the job's state; the job may run
// meanwhile. Cells that a compaction has dropped are not seen: see
// [result.SurveyFamily].
func Diff(ctx context.Context, env *cluster.Env, dir string, o DiffOptions) (_ *result.Survey, err error) {
	trace, err := status.ReadTrace(dir)
	if err != nil {
		return nil, fail.With(fail.Input, err)
	}
	loads, err := loadsOf(dir, &trace.History)
	if err != nil {
		return nil, err
	}
	c, err := env.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	id, err := c.ID(ctx)
	if err != nil {
		return nil, cluster.Failure(err)
	}
	var all *result.Survey
	for _, l := range loads {
		s, err := l.diff(ctx, env, id, o)
		switch {
		case err != nil:
			return nil, err
		case all == nil:
			all = s
		default:
			all.Tables = append(all.Tables, s)
		}
	}
	return all, nil
}

// diff surveys a snapshot of the load's table that is taken for this.
func (l *load) diff(ctx context.Context, env *cluster.Env, id string, o DiffOptions) (_ *result.Survey, err error) {
	if err := l.sameCluster(id); err != nil {
		return nil, err
	}
	o.Events.Phase("snapshot")
	src, err := tablesource.Open(ctx, env, tablesource.Ref{Table: l.table}, tablesource.Options{FilesOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, src.Close(ctx)) }()
	o.Events.Phase("read")
	s, err := l.survey(ctx, src.Snapshot, reading{workers: readers, keys: o.Keys, now: time.Now(), events: o.Events})
	return s, tablesource.FilesFailure(err)
}
