package fresh

import (
	"context"
	"errors"
	"slices"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/engine/status"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/table"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// FindJob returns the directory of the one job in a state directory, default
// [checkpoint.DefaultState], whose table was to take the place of another on a
// cluster. here returns the cluster's id: it is called if a job has these tables.
func FindJob(state string, old, fresh loader.TableName, here func() (string, error)) (string, error) {
	jobs, err := status.ReadAll(state)
	if err != nil {
		return "", err
	}
	var found []*status.State
	for _, s := range jobs {
		if s.Fresh != nil && s.Fresh.From == old.String() && s.Table == fresh.String() {
			found = append(found, s)
		}
	}
	if len(found) > 0 {
		id, err := here()
		if err != nil {
			return "", err
		}
		found = slices.DeleteFunc(found, func(s *status.State) bool { return s.Fresh.Cluster != "" && s.Fresh.Cluster != id })
	}
	// If a name was reused, the newest job counts: older ones made tables that no longer exist, which Drop would see.
	if len(found) == 0 {
		return "", fail.Errorf(fail.Input, "no job with state here made table %s to replace table %s on this cluster (bulkload status lists the jobs; %s names another directory)", fresh, old, setting.State)
	}
	return found[0].Dir, nil
}

// DropOptions say how [Drop] works.
type DropOptions struct {
	Old, New loader.TableName
	LockWait time.Duration // how long to wait for another process that works on the job; default: not at all
	Events   progress.Events
}

// Drop disables and deletes the old table of a job, whose directory is given. It
// refuses, with an error of kind [fail.Check], unless the journal says that the
// new table is loaded and verified, and both tables are the ones that the job recorded.
// The same call after a crash finishes it; after a success it does nothing,
// and refuses too if the new table is gone, or another one has the old name.
func Drop(ctx context.Context, env *cluster.Env, dir string, o DropOptions) (_ *result.Dropped, err error) {
	st, err := checkpoint.OpenDir(ctx, env, dir, o.LockWait, o.Events)
	if err != nil {
		return nil, err
	}
	ctx, end := st.Work(ctx)
	defer end(&err, nil)
	if err := ready(&st.History, o); err != nil {
		return nil, err
	}
	r := &result.Dropped{Schema: 1, Table: o.Old.String(), Fresh: o.New.String(), Job: dir}
	c, err := env.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if st.Drop.Done {
		if err := stillDropped(ctx, c, o); err != nil {
			return nil, err
		}
		r.Already, r.At = true, st.Drop.At
		return r, nil
	}
	if err := inPlace(ctx, env, c, &st.History, o); err != nil {
		return nil, err
	}
	exists, err := table.Settle(ctx, c, o.Old)
	if err != nil {
		return nil, cluster.Failure(err)
	}
	if !exists && st.Drop.Table == "" {
		return nil, fail.Errorf(fail.Check, "table %s does not exist: it was dropped", o.Old)
	}
	if exists {
		if err := drop(ctx, env, c, st, o); err != nil {
			return nil, err
		}
	}
	r.At = time.Now()
	return r, st.Record(history.EventDropped, history.DropRecord{Table: o.Old.String()})
}

// stillDropped refuses where names of a drop of before were used again: a table of the old name is another one, or the new one is gone.
func stillDropped(ctx context.Context, c *loader.Cluster, o DropOptions) error {
	again, err := table.Settle(ctx, c, o.Old)
	if err != nil {
		return cluster.Failure(err)
	}
	if again {
		return fail.Errorf(fail.Check, "table %s is not dropped: it was made after this job dropped the one that table %s replaced", o.Old, o.New)
	}
	exists, err := table.Settle(ctx, c, o.New)
	if err == nil && !exists {
		return fail.Errorf(fail.Check, "table %s was dropped already, but table %s, which replaced it, is gone too", o.Old, o.New)
	}
	return cluster.Failure(err)
}

// ready reports whether the journal has it that the new table is complete.
func ready(h *history.History, o DropOptions) error {
	f := h.Fresh
	no := func(why string, args ...any) error {
		return fail.Errorf(fail.Check, "table %s is not dropped: "+why, append([]any{o.Old}, args...)...)
	}
	switch {
	case f == nil || f.Table != o.New.String() || f.From != o.Old.String():
		return no("the job did not make table %s to replace it", o.New)
	case !h.Finished:
		return no("the load of table %s, which replaces it, is not finished (run its command again)", o.New)
	case h.Undo != nil:
		return no("the load of table %s, which replaces it, was undone or is being undone", o.New)
	case h.Plan == nil || h.Plan.Made == nil || h.Result == nil:
		return no("the journal has no outcome for table %s, which replaces it", o.New)
	case h.Result.Verify == nil || h.Result.Verify.Mode == "off":
		return no("table %s, which replaces it, was not verified (run its command with %s full; then drop table %s in HBase's shell)", o.New, setting.Verify, o.Old)
	case h.Result.Verify.Expired:
		return no("the verification of table %s, which replaces it, was inconclusive: cells had expired", o.New)
	}
	return nil
}

// inPlace refuses where the new table is not the one that was loaded, or not in service.
func inPlace(ctx context.Context, env *cluster.Env, c *loader.Cluster, h *history.History, o DropOptions) error {
	t, err := c.Describe(ctx, o.New)
	if err != nil {
		return cluster.Failure(err)
	}
	if t.State != loader.Enabled {
		return fail.Errorf(fail.Check, "table %s is not dropped: table %s, which replaces it, is %s", o.Old, o.New, t.State)
	}
	return sameTable(ctx, env, c, o.New, h.Plan.Made, fail.Errorf(fail.Check, "table %s is not dropped: table %s may not be the one that was loaded to replace it: it was recreated or emptied", o.Old, o.New))
}

// drop deletes the old table if it is the one in whose place the new one was made.
func drop(ctx context.Context, env *cluster.Env, c *loader.Cluster, st *checkpoint.Job, o DropOptions) error {
	if err := sameTable(ctx, env, c, o.Old, st.Fresh.Old, fail.Errorf(fail.Check,
		"table %s is not dropped: it may not be the one that table %s replaces: it was recreated, emptied, or offline without a record of its identity", o.Old, o.New)); err != nil {
		return err
	}
	if st.Drop.Table == "" {
		if err := st.Record(history.EventDropping, history.DropRecord{Table: o.Old.String()}); err != nil {
			return err
		}
	}
	o.Events.Note("table is dropped", "table", o.Old.String(), "in_its_place", o.New.String())
	if err := c.DeleteTable(ctx, o.Old); err != nil && !errors.Is(err, loader.ErrTableNotFound) {
		return cluster.Failure(err)
	}
	return nil
}
