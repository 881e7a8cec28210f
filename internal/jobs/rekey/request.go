package rekey

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"bulkload/internal/base/abilities"
	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/jobs/job"
	"bulkload/internal/model/choice"
	"bulkload/internal/model/fail"
	"bulkload/internal/pipeline/estimate"
	"bulkload/internal/pipeline/newkeys"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/keygen"
	"bulkload/pkg/loader"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/setting"
	"bulkload/pkg/source"
)

// A Request describes a run.
type Request struct {
	From, To   loader.TableName
	Snapshot   string // an existing snapshot of From; empty: one is taken, and deleted at the end
	Key        string // the spec of the new keys
	OldKey     string // the spec of the old keys, whose columns Key may use; empty: Key cannot use them
	Splits     [][]byte
	Choice     choice.Asked // the cells to copy: Since makes a further pass; original keys are by OldKey
	Versions   int          // newest versions per column; 0: all that its family keeps
	Duplicates string       // policy for rows with the same new key: fail, first or last by their old keys; empty: fail
	BadRecords string       // maximum of rows without a new key that are set aside: a number or a percentage; empty: none
	Verify     string       // full or off; empty: full
}

// RunOptions are the options of [Run].
type RunOptions struct {
	job.RunOptions        // those of snapshots, new tables and compactions have no effect
	PlanTo         string // file for a plan for shares, without building or loading; empty: the whole job
	PhoenixIndexes string // ignore to write into a table that has Phoenix indexes; empty: it is refused
}

// resolved is a valid request with its parsed texts.
type resolved struct {
	Request
	key    keygen.Expr
	oldKey keygen.Expr // nil: none
	chosen choice.Choice
	policy extsort.Policy
	budget *source.Budget
}

// ref returns the input.
func (r Request) ref() tablesource.Ref { return tablesource.Ref{Table: r.From, Snapshot: r.Snapshot} }

func (r Request) resolve() (_ *resolved, err error) {
	q := &resolved{Request: r}
	if q.key, err = keygen.Parse(r.Key); err != nil {
		return nil, fail.With(fail.Config, err)
	}
	q.Key = q.key.String()
	if r.OldKey != "" {
		if q.oldKey, err = keygen.Parse(r.OldKey); err != nil {
			return nil, fail.With(fail.Config, err)
		}
		if _, err := newkeys.CheckOldKey(q.oldKey); err != nil {
			return nil, err
		}
		q.OldKey = q.oldKey.String()
	}
	if q.policy, err = extsort.ParsePolicy(r.Duplicates); err != nil {
		return nil, fail.With(fail.Config, err)
	}
	if q.policy == extsort.KeepAll {
		return nil, fail.With(fail.Config, setting.Errorf("%s versions is for records with a `cell_timestamp`: rows with new keys have all their cells", setting.Duplicates))
	}
	if q.budget, err = source.NewBudget(r.BadRecords); err != nil {
		return nil, fail.With(fail.Config, err)
	}
	q.Duplicates = cmp.Or(q.Duplicates, "fail")
	q.Verify = cmp.Or(q.Verify, "full")
	if err := abilities.Verifies(abilities.Rekey, q.Verify, "full", "off"); err != nil {
		return nil, fail.With(fail.Config, err)
	}
	switch {
	case r.From == (loader.TableName{}) || r.To == (loader.TableName{}):
		return nil, fail.Errorf(fail.Config, "two tables are needed: %s names the one to read, %s the one to write", setting.From, setting.To)
	case r.From == r.To:
		return nil, fail.Errorf(fail.Config, "%s and %s are both table %s: rows go to another table, and readers follow", setting.From, setting.To, r.To)
	case r.Versions < 0:
		return nil, fail.Errorf(fail.Config, "%s %d is below 0", setting.Versions, r.Versions)
	}
	if q.chosen, err = r.Choice.Resolve(choice.Keys{Spec: q.oldKey, Name: setting.OldKey}); err != nil {
		return nil, err
	}
	switch {
	case q.further() && q.policy != extsort.Fail:
		return nil, newkeys.SinceNeedsFail()
	case q.further() && r.Versions > 0:
		return nil, fail.Errorf(fail.Config, "%s does not go with %s: a further pass adds to the versions of the one before", setting.Versions, setting.Since)
	}
	return q, nil
}

// further reports whether the job is a further pass, which adds to the rows of the
// previous one.
func (q *resolved) further() bool { return q.chosen.Since > 0 }

// checkCells refuses another choice of cells than the one that the job has begun with.
func (q *resolved) checkCells(k *history.RekeyRecord) error {
	text := func(a choice.Asked, versions int) string {
		a.Since = "" // another Since makes another job
		return cmp.Or(a.String(), "all cells") + map[bool]string{true: fmt.Sprintf(", versions %d", versions)}[versions > 0]
	}
	if was, now := text(k.Choice, k.Versions), text(q.Choice, q.Versions); was != now {
		return fail.Errorf(fail.Check, "the job began to copy %s; requested now: %s (%s discards it and starts over; %s makes another job)", was, now, setting.Restart, setting.JobID)
	}
	return nil
}

// checkRows refuses another policy for rows of the same key, or another limit of rows without one, than the files of the job were built with, if the
// journal has them.
func (q *resolved) checkRows(k *history.RekeyRecord) error {
	if k == nil || k.Duplicates == "" || k.Duplicates == q.Duplicates && k.BadRecords == q.BadRecords {
		return nil
	}
	return fail.Errorf(fail.Check, "the files were built with %s %s and %s %q; requested now: %s and %q (%s discards the checkpoint and starts over)",
		setting.Duplicates, k.Duplicates, setting.BadRecords, k.BadRecords, q.Duplicates, q.BadRecords, setting.Restart)
}

// identity returns the identity of the job.
func (q *resolved) identity(word string) checkpoint.Identity {
	key := q.Key
	if q.OldKey != "" {
		key += " of " + q.OldKey
	}
	return checkpoint.IdentifyParts(q.To, "rekey", q.From.String(), q.Snapshot, key, fmt.Sprint(q.chosen.Since), word)
}

// SinceSlack is the time before its snapshot at which a further pass begins: clocks
// of servers differ, and cells get their timestamps before they are written.
const SinceSlack = 10 * time.Minute

// NextSince returns the time from which a further pass reads later writes than
// those in a snapshot with the given creation time.
func NextSince(created int64) int64 { return max(created-SinceSlack.Milliseconds(), 1) }

// next returns [NextSince], limited to the end of the choice's time range.
func (q *resolved) next(created int64) int64 {
	if q.chosen.Until > 0 {
		return min(NextSince(created), q.chosen.Until)
	}
	return NextSince(created)
}

// Estimate predicts the result of [Run]: rows and bytes of the new table's regions, from a sample of a snapshot's rows or, for a small table and if w
// is exact, from all. The regions are the new table's, or those that it would be created with, or as many as w suggests. A snapshot that it takes is
// deleted again; it changes nothing else. It refuses tables that a run would refuse. It does not use Splits of w.
func Estimate(ctx context.Context, env *cluster.Env, request Request, w estimate.Options) (_ *estimate.Estimate, err error) {
	q, err := request.resolve()
	if err != nil {
		return nil, err
	}
	c, err := env.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	src, err := tablesource.Open(ctx, env, q.ref(), tablesource.Options{FilesOnly: true, Choice: q.chosen})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, src.Close(ctx)) }()
	s, now, o := src.Snapshot, time.Now(), q.options(w.WorkOptions)
	if err := q.checkTable(s); err != nil {
		return nil, err
	}
	d, err := newkeys.Predict(ctx, env, s, q.chosen.Ranges, o, w)
	if err != nil {
		return nil, err
	}
	old, facts, err := q.tables(ctx, env, c, s)
	var splits [][]byte
	regions := w.Suggest
	switch {
	case err == nil:
		err = errors.Join(fits(facts, old, q.Splits, q.further()), q.vacant(ctx, c))
		splits = facts.Splits
	case old != nil && errors.Is(err, loader.ErrTableNotFound):
		facts = &cluster.Facts{Table: old}
		facts.Families, err = cluster.FamiliesOf(env, old, s.FamilyNames()...)
		switch _, salted := newkeys.SaltSplits(q.key); {
		case err != nil || regions > 0:
		case q.Splits == nil && !salted && !d.Whole:
			regions = len(s.Regions) // the run would determine them from all rows
		default:
			splits, err = q.splits(ctx, s, now, o)
		}
	}
	if err != nil {
		return nil, err
	}
	p, err := q.plan(q.To.String(), facts.Families, splits, now)
	if err != nil {
		return nil, err
	}
	return d.Estimate(ctx, p, regions, facts.Table.MaxFileSize)
}
