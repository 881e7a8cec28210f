package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// clusterConf writes a configuration whose ZooKeeper is at an address, and returns its directory.
func clusterConf(t *testing.T, address string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testcheck.Must(t, err)
	site := fmt.Sprintf("<configuration><property><name>hbase.zookeeper.quorum</name><value>%s</value></property></configuration>", address)
	testcheck.Must(t, os.WriteFile(filepath.Join(dir, "hbase-site.xml"), []byte(site), 0o600))
	return dir
}

// downEnv returns an environment whose ZooKeeper does not answer.
func downEnv(t *testing.T) *cluster.Env {
	t.Helper()
	dir := clusterConf(t, testcheck.ClosedAddress(t))
	conf, err := hdfsio.LoadConf(func(name string) (string, bool) { return dir, strings.HasSuffix(name, "_CONF_DIR") })
	testcheck.Must(t, err)
	env := &cluster.Env{Conf: conf, Log: slog.New(slog.DiscardHandler)}
	t.Cleanup(func() { testcheck.Must(t, env.Close()) })
	return env
}

// TestClustersDone checks that a job of several clusters counts as done only for the clusters that it has loaded, and only with the settings with which
// it was done: the command's own configuration may lead to another cluster by now.
func TestClustersDone(t *testing.T) {
	t.Parallel()
	env := downEnv(t)
	o := RunOptions{Also: []string{clusterConf(t, testcheck.ClosedAddress(t))}, State: checkpoint.Options{Dir: t.TempDir()}}
	given := jobtest.Spec(t, "check")
	given.Inputs = []string{jobtest.Export(t, "check.dump")}
	s := jobtest.Resolve(t, given)
	id, err := checkpoint.Identify(env, s, strings.Join([]string{"", "clusters", o.Also[0]}, "\x00"))
	testcheck.Must(t, err)
	testcheck.Must(t, o.State.MakeDir())
	st, err := checkpoint.Open(t.Context(), nil, id.On("several clusters"), o.State, progress.Events{})
	testcheck.Must(t, err)
	testcheck.Must(t, st.Record(history.EventBuilt, history.BuiltRecord{Manifest: &manifest.Manifest{Records: 5}}))
	for _, conf := range []string{"", o.Also[0]} {
		testcheck.Must(t, st.Record(history.EventCluster, history.ClusterRecord{Conf: conf, Result: result.Cluster{Conf: conf, ID: "one", Status: result.PartDone, Jobs: []string{"load"}}}))
	}
	testcheck.Must(t, st.Record(history.EventDone, history.DoneRecord{Result: &result.Result{}}))
	testcheck.Must(t, st.Close())
	for name, c := range map[string]struct {
		replace bool
		expect  *int64
		kind    fail.Kind
		want    string
	}{
		"a cluster that does not answer": {false, nil, fail.Load, "cluster of the command: "},
		"--replace":                      {true, nil, fail.Config, "without " + setting.Replace.String()},
		"--expect":                       {false, new(int64(7)), fail.Check, "has read 5 records, and 7 are expected"},
	} {
		again := s
		again.Replace, again.Expect = c.replace, c.expect
		r, err := RunOnClusters(t.Context(), env, again, o)
		if err == nil || fail.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %+v, want %q", name, err, r, c.want)
		}
	}
}

// TestClustersNotReached checks that the result of a job that has done nothing names no directory of a job.
func TestClustersNotReached(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	env := downEnv(t)
	s := jobtest.Spec(t, "check")
	s.Inputs = []string{jobtest.Export(t, "check.dump")}
	r, err := RunOnClusters(t.Context(), env, jobtest.Resolve(t, s), RunOptions{Also: []string{clusterConf(t, testcheck.ClosedAddress(t))}, State: checkpoint.Options{Dir: state}})
	if fail.KindOf(err) != fail.Load || r == nil || r.Job != "" {
		t.Errorf("%+v, %v", r, err)
	}
	if list, err := os.ReadDir(state); err != nil || len(list) > 0 {
		t.Errorf("left are %v, %v", list, err)
	}
}

// TestRecordedClusters checks which clusters have the files: a configuration may lead to another cluster than the one that was loaded.
func TestRecordedClusters(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	st, err := checkpoint.Open(t.Context(), nil, checkpoint.IdentifyParts(loader.TableName{Qualifier: "t"}, "load").On("one"), checkpoint.Options{Dir: state}, progress.Events{})
	testcheck.Must(t, err)
	testcheck.Must(t, st.Record(history.EventPlan, history.PlanRecord{Table: "t", Made: &history.TableRecord{Cluster: "one"}}))
	testcheck.Must(t, st.Close())
	down := errors.New("down")
	for name, c := range map[string]struct {
		record *result.Cluster
		now    string // the cluster's id; empty: it does not answer
		has    bool
		half   error // error of an unfinished job
		done   bool  // a finished job is refused
	}{
		"none":                          {nil, "one", false, nil, false},
		"same":                          {&result.Cluster{ID: "one"}, "one", true, nil, false},
		"other":                         {&result.Cluster{ID: "one"}, "two", false, nil, true},
		"down":                          {&result.Cluster{ID: "one"}, "", true, down, true},
		"same, of an earlier version":   {&result.Cluster{Jobs: []string{st.Dir}}, "one", true, nil, false},
		"other, of an earlier version":  {&result.Cluster{Jobs: []string{st.Dir}}, "two", false, nil, true},
		"nothing was loaded":            {&result.Cluster{}, "", true, nil, false},
		"earlier version, load cleaned": {&result.Cluster{Jobs: []string{state + "/gone"}}, "two", true, nil, false},
	} {
		j := &clustersRun{destinations: []destination{{}, {conf: "/etc/b"}}, idOf: func(*cluster.Env, context.Context) (string, error) {
			if c.now == "" {
				return "", down
			}
			return c.now, nil
		}}
		j.job = &checkpoint.Job{History: history.New()}
		if c.record != nil {
			j.job.Clusters["/etc/b"] = *c.record
		}
		if has, errs := j.recorded(t.Context()); !slices.Equal(has, []bool{false, c.has}) || errs[0] != nil || !errors.Is(errs[1], c.half) {
			t.Errorf("%s: %v %v", name, has, errs)
		}
		j.job.Finished = true
		if _, errs := j.recorded(t.Context()); (cmp.Or(errs...) != nil) != c.done {
			t.Errorf("%s: finished: %v", name, errs)
		}
	}
}

// TestSameReplacing checks that the tables of all clusters are replaced, or none.
func TestSameReplacing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		now, was, finished bool
		want               string
	}{
		"neither":         {},
		"both":            {now: true, was: true},
		"now":             {now: true, want: "cluster /etc/b was loaded without"},
		"before":          {was: true, want: "the table of cluster /etc/b was replaced by this job"},
		"before, as done": {was: true, finished: true},
	} {
		j := &clustersRun{destinations: []destination{{}, {conf: "/etc/b"}}}
		j.job = &checkpoint.Job{History: history.New()}
		j.spec.Replace, j.job.Finished = c.now, c.finished
		record := result.Cluster{}
		if c.was {
			record.Replace = &result.Replace{}
		}
		j.job.Clusters["/etc/b"] = record
		if err := j.sameReplacing(); (err == nil) != (c.want == "") || err != nil && (fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
