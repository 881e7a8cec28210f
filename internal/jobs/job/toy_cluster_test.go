package job

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/engine/status"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/rewrite"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
)

// deleteRows is a complete command: it deletes rows by their keys, which are in order, with a file of markers for each family. It shows the code that
// a new command needs; status, clean and --restart support it without changes.
func deleteRows(ctx context.Context, env *cluster.Env, table string, keys []string, o checkpoint.Options, e progress.Events) (r *result.Result, err error) {
	c, err := env.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	facts, err := cluster.TableFacts(ctx, env, c, table, "f")
	if err != nil {
		return nil, err
	}
	id, err := checkpoint.IdentifyParts(facts.Name, slices.Concat([]string{"delete rows", o.JobID}, keys)...).OnCluster(ctx, c)
	if err != nil {
		return nil, err
	}
	st, err := checkpoint.Open(ctx, c, id, o, e)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	r = &result.Result{Schema: 1, Table: table, Job: st.Dir}
	if st.Finished {
		st.Answer(ctx, env, r, e)
		return r, nil
	}
	if st.Plan == nil {
		now := time.Now().UnixMilli()
		l, err := staging.Choose(ctx, env, "", table, now)
		if err != nil {
			return nil, err
		}
		p := history.PlanRecord{Job: st.ID, Table: table, Family: facts.Family, Timestamp: now, Staging: l.String()}
		if err := st.Record(history.EventPlan, p); err != nil {
			return nil, err
		}
	}
	if _, err := st.Begin(o.Version); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			st.Fail(ctx, err)
		}
	}()
	dir, err := st.Stage(ctx, env, st.Plan.Staging)
	if err != nil {
		return r, err
	}
	var files []loader.HFile
	if !st.Loading { // otherwise the journal has them
		if files, err = rowMarkers(ctx, facts, dir, keys, st.Plan.Timestamp, e); err != nil {
			return r, err
		}
	}
	s := Staged{Env: env, Cluster: c, Facts: facts, Dir: dir, Files: StagedFiles(files), Journal: st}
	if err := s.Load(ctx, LoadOptions{RunOptions: RunOptions{WorkOptions: build.WorkOptions{Events: e}}}, r); err != nil {
		return r, err
	}
	st.EndPrepared(ctx, env, c, e)
	return r, st.End(ctx, r, dir, false, e)
}

// rowMarkers writes the markers.
func rowMarkers(ctx context.Context, facts *cluster.Facts, dir *staging.Dir, keys []string, stamp int64, e progress.Events) ([]loader.HFile, error) {
	var all []rewrite.Content
	for _, f := range facts.Table.Families {
		all = append(all, rewrite.Content{Family: f.Name, Name: hfile.Name("delete %s %d %s", facts.Name, stamp, f.Name), What: "markers", Size: int64(len(keys)) * 64,
			Fill: func(_ context.Context, add func(*hfile.Cell) error) error {
				for _, key := range keys {
					if err := add(&hfile.Cell{Row: []byte(key), Family: []byte(f.Name), Timestamp: stamp, Type: hfile.DeleteFamily}); err != nil {
						return err
					}
				}
				return nil
			}})
	}
	prefix, _ := rewrite.SplitURI(dir.Location.URI())
	rw := rewrite.New(dir.FS, dir.Location.Path, facts.FamilyOf, stamp, new(checkpoint.Job).Check)
	return rw.MakeAll(ctx, prefix, all, 2, e)
}

// TestToyCommand checks that a command of a hundred lines, stopped before and during its load, resumes, is done once, and leaves nothing.
func TestToyCommand(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs a cluster, which -short leaves out")
	}
	c := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, c)
	s := jobtest.Spec(t, "check")
	s.Table, s.Inputs = jobtest.FreshTable(t, env, 10, nil), []string{jobtest.Export(t, "check.csv")}
	if _, err := Run(t.Context(), env, jobtest.Resolve(t, s), RunOptions{}); err != nil {
		t.Fatal(err)
	}
	admin := c.AdminT(t)
	keysOf := func() (keys []string) {
		out, err := admin.Run(t.Context(), "scan", s.Table)
		testcheck.Must(t, err)
		for line := range strings.Lines(out) {
			key, _, _ := strings.Cut(line, "\t")
			keys = append(keys, key)
		}
		return slices.Compact(keys)
	}
	before := keysOf()
	gone := []string{before[3], before[5], before[len(before)-2]}
	o := checkpoint.Options{Dir: t.TempDir()}
	for _, phase := range []string{"check", "load"} {
		ctx, stop := context.WithCancel(t.Context())
		_, err := deleteRows(ctx, env, s.Table, gone, o, progress.Events{OnPhase: func(name string) {
			if name == phase {
				stop()
			}
		}})
		stop()
		if err == nil {
			t.Fatalf("it is not stopped in phase %s", phase)
		}
		jobs, err := status.ReadAll(o.Dir)
		if err != nil || len(jobs) != 1 || jobs[0].State != history.JobStopped || len(jobs[0].Resources) == 0 {
			t.Errorf("%+v, %v", jobs, err)
		}
	}
	for _, already := range []bool{false, true} {
		r, err := deleteRows(t.Context(), env, s.Table, gone, o, progress.Events{})
		if err != nil || r.Already != already {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	want := slices.DeleteFunc(slices.Clone(before), func(key string) bool { return slices.Contains(gone, key) })
	if got := keysOf(); !slices.Equal(got, want) {
		t.Errorf("%d keys, want %d of %d", len(got), len(want), len(before))
	}
	jobs, err := status.ReadAll(o.Dir)
	if err != nil || jobs[0].State != history.JobDone || len(jobs[0].Resources) > 0 {
		t.Errorf("%+v, %v", jobs, err)
	}
}
