package tablesource_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/jobs/job"
	"bulkload/internal/model/fail"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/loader"
)

func TestMain(m *testing.M) { testcluster.Main(m) }

// TestOpen reads a table through a snapshot that is taken for it, and through
// an existing one.
func TestOpen(t *testing.T) {
	t.Parallel()
	c := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, c)
	name := jobtest.FreshTable(t, env, 10, nil)
	s := jobtest.Spec(t, "check")
	s.Table, s.Inputs = name, []string{jobtest.Export(t, "check.csv")}
	loaded, err := job.Run(t.Context(), env, jobtest.Resolve(t, s), job.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	table, err := loader.ParseTableName(name)
	if err != nil {
		t.Fatal(err)
	}
	ref := tablesource.Ref{Table: table}

	src, err := tablesource.Open(t.Context(), env, ref, tablesource.Options{})
	if err != nil {
		t.Fatal(err)
	}
	own := src.Snapshot.Name
	var want int64
	for _, f := range loaded.Manifest.Files {
		want += f.Rows
	}
	if got := rows(t, src.Snapshot); got != want {
		t.Errorf("the snapshot has %d rows, %d were loaded", got, want)
	}
	there, err := tablesource.Open(t.Context(), env, tablesource.Ref{Snapshot: own}, tablesource.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := there.Close(t.Context()); err != nil || there.Own {
		t.Errorf("a snapshot that was there: own %t, %v", there.Own, err)
	}
	if !exists(t, env, table, own) {
		t.Error("closing has deleted a snapshot that was there")
	}
	for range 2 { // a deleted snapshot is not an error
		if err := src.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if exists(t, env, table, own) {
		t.Error("the snapshot that was taken is still there")
	}
	if _, err := tablesource.Open(t.Context(), env, tablesource.Ref{Snapshot: own}, tablesource.Options{}); fail.KindOf(err) != fail.Input {
		t.Errorf("a snapshot that is not there: %v", err)
	}
	if _, err := tablesource.Open(t.Context(), env, tablesource.Ref{Table: loader.TableName{Namespace: "test", Qualifier: "none"}}, tablesource.Options{}); fail.KindOf(err) != fail.Input {
		t.Errorf("a table that is not there: %v", err)
	}
}

// TestOpenStopped checks that no snapshot is left, at whatever moment of its
// creation the process is stopped.
func TestOpenStopped(t *testing.T) {
	t.Parallel()
	env := jobtest.ClusterEnv(t, testcluster.Shared(t))
	table, err := loader.ParseTableName(jobtest.FreshTable(t, env, 3, nil))
	if err != nil {
		t.Fatal(err)
	}
	c, err := env.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	stopped := 0
	for after := 5 * time.Millisecond; after < 2*time.Second; after = after * 3 / 2 {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		src, err := tablesource.Open(ctx, env, tablesource.Ref{Table: table}, tablesource.Options{})
		cancel()
		if err == nil {
			if err := src.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			break
		}
		stopped++
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("stopped after %s: %v", after, err)
		}
		// The master takes one snapshot of a table at a time: when this one is complete, none is running.
		last := tablesource.NewName(table, time.Now())
		if err := c.Snapshot(t.Context(), table, last, 0); err != nil {
			t.Fatal(err)
		}
		if err := c.DeleteSnapshot(t.Context(), table, last); err != nil {
			t.Fatal(err)
		}
		if left := leftOf(t, env, table); len(left) > 0 {
			t.Errorf("stopped after %s: snapshots %q are left (%v)", after, left, err)
		}
	}
	if stopped < 5 {
		t.Errorf("only %d attempts were stopped", stopped)
	}
}

// TestOpenAgain checks that only the snapshot of an earlier attempt is adopted.
func TestOpenAgain(t *testing.T) {
	t.Parallel()
	env := jobtest.ClusterEnv(t, testcluster.Shared(t))
	name := jobtest.FreshTable(t, env, 3, nil)
	table, err := loader.ParseTableName(name)
	if err != nil {
		t.Fatal(err)
	}
	o := tablesource.Options{Name: "again-" + table.Qualifier, Created: 1700000000000, Keep: true}
	first, err := tablesource.Open(t.Context(), env, tablesource.Ref{Table: table}, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := o
	other.Created++
	if _, err := tablesource.Open(t.Context(), env, tablesource.Ref{Table: table}, other); !errors.Is(err, loader.ErrSnapshotExists) || fail.KindOf(err) != fail.Check {
		t.Errorf("a snapshot of another time: %v", err)
	}
	o.Keep = false
	second, err := tablesource.Open(t.Context(), env, tablesource.Ref{Table: table}, o)
	if err != nil {
		t.Fatal(err)
	}
	if !second.Own || len(second.Snapshot.Regions) != 3 {
		t.Errorf("own %t, %d regions", second.Own, len(second.Snapshot.Regions))
	}
	if err := second.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if exists(t, env, table, o.Name) {
		t.Error("the snapshot is still there")
	}
}

func rows(t *testing.T, s *snapshot.Snapshot) (n int64) {
	t.Helper()
	for i := range s.Regions {
		sc, err := s.Scan(t.Context(), i, snapshot.View{})
		if err != nil {
			t.Fatal(err)
		}
		for sc.Next() {
		}
		n += sc.Stats().Rows
		if err := errors.Join(sc.Err(), sc.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

func exists(t *testing.T, env *cluster.Env, table loader.TableName, name string) bool {
	t.Helper()
	c, err := env.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, ok, err := c.SnapshotTime(t.Context(), table, name)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

// leftOf returns the table's snapshots with names from bulkload.
func leftOf(t *testing.T, env *cluster.Env, table loader.TableName) (left []string) {
	t.Helper()
	fsys, root, err := env.Resolve(env.Conf.Value("hbase.rootdir"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := fsys.ReadDir(t.Context(), root+"/.hbase-snapshot")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, s := range all {
		if strings.HasPrefix(s.Name(), "bulkload-"+table.Qualifier+"-") {
			left = append(left, s.Name())
		}
	}
	return left
}
