package fresh

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/table"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/loader"
)

// lab is an old table on the cluster, and a job whose table is to replace it.
type lab struct {
	*testing.T
	env      *cluster.Env
	cluster  *loader.Cluster
	admin    *testcluster.Admin
	st       *checkpoint.Job
	old, new loader.TableName
}

// newLab creates the old table, and a job with a journal.
func newLab(t *testing.T, entries ...entry) *lab {
	t.Helper()
	servers := testcluster.Shared(t)
	l := &lab{T: t, env: jobtest.ClusterEnv(t, servers), admin: servers.AdminT(t)}
	var err error
	l.cluster, err = l.env.Dial(t.Context())
	testcheck.Must(t, err)
	t.Cleanup(func() { l.cluster.Close() })
	l.old, l.new = name(t, jobtest.FreshTable(t, l.env, 3, nil)), name(t, "test:"+testcheck.Name(t))
	dir := writeJob(t, filepath.Join(t.TempDir(), "t2-0123456789ab"), entries)
	l.st, err = checkpoint.OpenDir(t.Context(), nil, dir, 0, progress.Events{})
	testcheck.Must(t, err)
	t.Cleanup(l.close)
	return l
}

// close releases the journal for others.
func (l *lab) close() {
	if l.st != nil {
		testcheck.Must(l, l.st.Close())
		l.st = nil
	}
}

// request returns a request to replace the old table, with its split points.
func (l *lab) request() Request { return Request{Old: l.old, New: l.new} }

func (l *lab) make() error {
	return Make(l.Context(), l.env, l.cluster, l.st, l.request())
}

func (l *lab) forget() error {
	return Forget(l.Context(), l.env, l.cluster, l.st, progress.Events{})
}

// do runs a command of the admin client.
func (l *lab) do(args ...string) {
	l.Helper()
	_, err := l.admin.Run(l.Context(), args...)
	testcheck.Must(l, err)
}

func (l *lab) exists(name loader.TableName) bool {
	l.Helper()
	exists, err := table.Settle(l.Context(), l.cluster, name)
	testcheck.Must(l, err)
	return exists
}

// makeNew creates the new table as a killed attempt or another user may have, with split points.
func (l *lab) makeNew(splits ...[]byte) {
	l.Helper()
	like, err := table.Of(l.Context(), l.cluster, l.old)
	testcheck.Must(l, err)
	if splits == nil {
		splits = like.SplitKeys
	}
	jobtest.MakeTable(l, l.env, l.cluster, like.Spec(l.new, splits))
}

// begun records that the new table is about to be made, with the old one's split points.
func (l *lab) begun() {
	l.Helper()
	like, err := table.Of(l.Context(), l.cluster, l.old)
	testcheck.Must(l, err)
	testcheck.Must(l, (&maker{l.request(), l.env, l.cluster, l.st}).begin(l.Context(), like.SplitKeys))
}

// loading records that files are being loaded into the new table.
func (l *lab) loading() {
	l.Helper()
	testcheck.Must(l, l.st.Record(history.EventLoading, history.FilesRecord{Files: []loader.HFile{{Family: "f", Path: "hdfs://nn/s/f/0", Size: 9, Cells: 1}}}))
}

// is checks for an error of kind Check.
func (l *lab) is(err error, says string) {
	l.Helper()
	if fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), says) {
		l.Errorf("kind %d, %v, want %q", fail.KindOf(err), err, says)
	}
}

// TestMakeOnce checks that the job's own table is found again, and that another table of its name, or a missing one, is refused.
func TestMakeOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	testcheck.Must(t, l.make())
	made := *l.st.Fresh
	if made.Made == nil || made.Old == nil || made.Table != l.new.String() || made.From != l.old.String() || len(made.Splits) != 2 || len(made.Made.Regions) != 3 {
		t.Fatalf("%+v", made)
	}
	before := journal(t, l.st.Dir)
	testcheck.Must(t, l.make())
	l.do("disable", l.new.String()) // unchanged, except for its state
	l.do("enable", l.new.String())
	testcheck.Must(t, l.make())
	warned := 0
	other := l.request()
	other.Splits = func(context.Context, int) ([][]byte, error) { return [][]byte{{'5'}}, nil }
	other.Events.OnWarn = func(string, ...any) { warned++ }
	testcheck.Must(t, Make(t.Context(), l.env, l.cluster, l.st, other))
	if warned != 1 {
		t.Errorf("%d warnings of other split points", warned)
	}
	l.do("truncate", l.new.String())
	l.is(l.make(), "may not be the one that this job made: it was recreated, emptied")
	l.do("drop", l.new.String())
	l.is(l.make(), "is gone (`restart` makes it again)")
	if l.exists(l.new) || journal(t, l.st.Dir) != before {
		t.Errorf("a refusal is written, or has made a table:\n%s", journal(t, l.st.Dir))
	}
}

// TestMakeNothing checks that without an old table, or without split points, no table is made or recorded.
func TestMakeNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	stop := errors.New("the sample has no rows")
	r := l.request()
	r.Splits = func(_ context.Context, regions int) ([][]byte, error) {
		if regions != 3 {
			t.Errorf("the old table has %d regions", regions)
		}
		return nil, stop
	}
	if err := Make(t.Context(), l.env, l.cluster, l.st, r); !errors.Is(err, stop) {
		t.Errorf("without split points: %v", err)
	}
	l.do("drop", l.old.String())
	l.is(l.make(), "no table can be made like it to replace it")
	if l.exists(l.new) || l.st.Fresh != nil || strings.Contains(journal(t, l.st.Dir), `"fresh"`) {
		t.Errorf("a table is made, or begun: %+v", l.st.Fresh)
	}
}

// TestAdopt checks that a table that a killed attempt may have made is used only if it is empty and has the intended settings.
func TestAdopt(t *testing.T) {
	t.Parallel()
	t.Run("as it was to be", func(t *testing.T) {
		l := newLab(t)
		l.begun()
		l.makeNew()
		testcheck.Must(t, l.make())
		if l.st.Fresh.Made == nil || len(l.st.Fresh.Made.Regions) != 3 {
			t.Errorf("%+v", l.st.Fresh)
		}
	})
	t.Run("other split points", func(t *testing.T) {
		l := newLab(t)
		l.begun()
		l.makeNew([]byte("m"))
		err := l.make()
		l.is(err, "this job did not make it")
		if !errors.Is(err, table.ErrDiffers) || l.st.Fresh.Made != nil {
			t.Errorf("%v, %+v", err, l.st.Fresh)
		}
	})
	t.Run("with a row", func(t *testing.T) {
		l := newLab(t)
		l.begun()
		l.makeNew()
		l.do("put", l.new.String(), "0x", "f:q", "v")
		l.is(l.make(), "this job did not make it")
		if l.st.Fresh.Made != nil {
			t.Errorf("%+v", l.st.Fresh)
		}
	})
}

// TestForget checks that a job that starts over drops only its own table, once that may have rows.
func TestForget(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	testcheck.Must(t, l.make())
	testcheck.Must(t, l.forget())
	if !l.exists(l.new) || l.st.Fresh.Made == nil {
		t.Errorf("an empty table is dropped: %+v", l.st.Fresh)
	}
	l.loading()
	testcheck.Must(t, l.forget())
	if l.exists(l.new) || l.st.Fresh == nil || l.st.Fresh.Made != nil || l.st.Fresh.Table != l.new.String() {
		t.Errorf("a table with rows is not dropped: %+v", l.st.Fresh)
	}
	testcheck.Must(t, l.make()) // it makes it again
	l.loading()
	l.do("drop", l.new.String())
	l.makeNew()
	l.is(l.forget(), "may have other rows: drop it by hand, or name another with `into`")
	if !l.exists(l.new) || l.st.Fresh.Made == nil {
		t.Errorf("the table of others is dropped: %+v", l.st.Fresh)
	}
	l.do("drop", l.new.String())
	testcheck.Must(t, l.forget())
	if l.st.Fresh.Made != nil {
		t.Errorf("a table that is gone: %+v", l.st.Fresh)
	}
}

// TestDropOutOfService checks that the old table is kept while the new one is out of service, and that the next call finishes an interrupted drop.
func TestDropOutOfService(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	testcheck.Must(t, l.make())
	rest := complete(l.old.String(), l.new.String())[1:]
	plan := rest[0].data.(history.PlanRecord)
	plan.Made = l.st.Fresh.Made
	testcheck.Must(t, l.st.Record(rest[0].event, plan))
	testcheck.Must(t, l.st.Record(rest[1].event, rest[1].data))
	dir := l.st.Dir
	l.close()
	drop := func() (already bool, err error) {
		d, err := Drop(t.Context(), l.env, dir, DropOptions{Old: l.old, New: l.new})
		if d != nil && (d.Schema != 1 || d.Table != l.old.String() || d.Fresh != l.new.String() || d.Job != dir || d.At.IsZero()) {
			t.Errorf("%+v", d)
		}
		return d != nil && d.Already, err
	}
	l.do("disable", l.new.String())
	_, err := drop()
	l.is(err, "which replaces it, is DISABLED")
	l.do("enable", l.new.String())
	before := journal(t, dir)
	writeJob(t, dir, []entry{{history.EventDropping, history.DropRecord{Table: l.old.String()}}})
	l.do("drop", l.old.String()) // by the interrupted attempt
	for i := range 2 {
		if already, err := drop(); err != nil || already != (i == 1) {
			t.Errorf("call %d: already %t, %v", i, already, err)
		}
	}
	events := slices.Collect(strings.Lines(strings.TrimPrefix(journal(t, dir), before)))
	if len(events) != 2 || !strings.Contains(events[0], `"dropping"`) || !strings.Contains(events[1], `"dropped"`) || l.exists(l.old) || !l.exists(l.new) {
		t.Errorf("the journal has %q", events)
	}
	l.do("create", l.old.String())
	_, err = drop()
	l.is(err, "is not dropped: it was made after this job dropped the one")
	l.do("drop", l.old.String())
	l.do("drop", l.new.String())
	_, err = drop()
	l.is(err, "which replaced it, is gone too")
}
