package undo

import (
	"context"
	"errors"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/tablesource"
)

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
	trace, err := checkpoint.ReadTrace(dir)
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
	if err != nil {
		return nil, tablesource.FilesFailure(err)
	}
	return s, nil
}
