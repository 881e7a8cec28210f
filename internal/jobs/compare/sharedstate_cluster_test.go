package compare

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/status"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/loader"
)

// TestRepairWithSharedState checks that the state of a repair of a table on another cluster is in the state table of the command's cluster, next to
// that of the comparison, and that none is made on the other cluster.
func TestRepairWithSharedState(t *testing.T) {
	p := newPair(t)
	jobtest.Program(t) // it is built with the go command's own cache
	testcluster.OwnCache(t)
	states := loader.TableName{Namespace: "default", Qualifier: "state-" + testcheck.Name(t)}
	own, err := p.env.Dial(t.Context())
	testcheck.Must(t, err)
	t.Cleanup(func() {
		if err := own.DeleteTable(context.WithoutCancel(t.Context()), states); err != nil && !errors.Is(err, loader.ErrTableNotFound) {
			t.Error(err)
		}
		own.Close()
	})
	p.o.State.Dir, err = checkpoint.StateDir(p.env, "hbase:"+states.String())
	testcheck.Must(t, err)
	servers := testcluster.Own(t, testcluster.Harmed())
	env := jobtest.ClusterEnv(t, servers)
	there, err := env.Dial(t.Context())
	testcheck.Must(t, err)
	defer there.Close()
	table, err := loader.ParseTableName(jobtest.FreshTable(t, env, 10, nil))
	testcheck.Must(t, err)
	p.killedRepair(table, servers.ConfDir())
	req := p.request()
	req.B, req.Repair = Side{Table: table, Env: env, Conf: servers.ConfDir()}, true
	r, err := p.run(req)
	if testcheck.Must(t, err); !r.Equal || len(r.Repairs) != 1 || r.Repairs[0].Found.OnlyA == 0 {
		t.Fatalf("%+v", r)
	}
	testcheck.Must(t, checkpoint.Refresh(t.Context(), p.env, p.o.State.Dir)) // jobs that the table does not have are forgotten
	jobs, err := status.ReadAll(p.o.State.Dir)
	if testcheck.Must(t, err); len(jobs) != 2 {
		t.Errorf("%d jobs in the state table, want the comparison and its repair", len(jobs))
	}
	if _, err := there.Describe(t.Context(), states); !errors.Is(err, loader.ErrTableNotFound) {
		t.Errorf("the other cluster has a state table: %v", err)
	}
}

// killedRepair kills a repair of a table on another cluster when HBase there has made a directory for its load, and checks that clean with the
// configuration of the command's cluster removes that directory and the state.
func (p *pair) killedRepair(table loader.TableName, conf string) {
	p.t.Helper()
	args := []string{"compare", p.names[0], table.String(), "--b-conf=" + conf, "--repair-b", "--spill-dir=" + p.o.SpillDir}
	if code, out := p.program("prepared", args...); code != -1 {
		p.t.Fatalf("exit code %d: %s", code, out)
	}
	jobs, err := status.ReadAll(p.o.State.Dir)
	testcheck.Must(p.t, err)
	var left []string
	for _, j := range jobs {
		for _, r := range j.Resources {
			left = append(left, string(r.Kind))
		}
	}
	if !slices.Contains(left, "prepared") {
		p.t.Fatalf("the killed repair has left %v", left)
	}
	if code, out := p.program("", "clean", "--older-than=0s", "--yes", "--staging=/tmp/none-"+testcheck.Name(p.t)); code != 0 || strings.Contains(out, "kept") {
		p.t.Errorf("exit code %d: %s", code, out)
	}
	if jobs, err = status.ReadAll(p.o.State.Dir); err != nil || len(jobs) > 0 {
		p.t.Errorf("%d jobs are left, %v", len(jobs), err)
	}
}
