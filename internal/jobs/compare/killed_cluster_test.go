package compare

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"bulkload/internal/engine/history"
	"bulkload/internal/engine/status"
	"bulkload/internal/jobs/job"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/loader"
)

// program runs the program, which kills itself after an event of a journal; empty: no kill.
func (p *pair) program(stopAfter string, args ...string) (code int, out string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 3*time.Minute)
	defer cancel()
	conf := testcluster.Shared(p.t).ConfDir()
	cmd := exec.CommandContext(ctx, jobtest.Program(p.t), append(args, "--state="+p.o.State.Dir)...)
	cmd.Env = append(os.Environ(), "HADOOP_CONF_DIR="+conf, "HBASE_CONF_DIR="+conf, "HADOOP_USER_NAME=tina", "BULKLOAD_TEST_STOP_AFTER="+stopAfter)
	text, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		p.t.Fatalf("no end within three minutes: %s", text)
	}
	if err != nil && cmd.ProcessState == nil {
		p.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

// snapshots returns the snapshots that a job has left, with their tables.
func (p *pair) snapshots() map[string]string {
	p.t.Helper()
	jobs, err := status.ReadAll(p.o.State.Dir)
	testcheck.Must(p.t, err)
	left := map[string]string{}
	for _, j := range jobs {
		for _, r := range j.Resources {
			if r.Kind == history.ResourceSnapshot {
				left[r.Name] = r.Table
			}
		}
	}
	return left
}

// TestCompareKilled kills a comparison and its repair at records of their journals, and checks that the same command finishes both. Status shows the
// resources of a killed job, and clean removes them.
func TestCompareKilled(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.harm(testcheck.Rand(t), 12)
	compare := []string{"compare", p.names[0], p.names[1], "--spill-dir=" + p.o.SpillDir}
	base := "/tmp/repair-" + testcheck.Name(t)
	repair := append(compare, "--repair-b", "--staging="+base)
	for _, at := range []string{"read_snapshot:1", "read_snapshot:2", "comparing", "compared", "plan", "loading", "sending", "loaded", "done"} {
		if code, out := p.program(at, repair...); code != -1 {
			t.Fatalf("killed at %s: exit code %d: %s", at, code, out)
		}
	}
	if code, out := p.program("", repair...); code != 0 || !strings.Contains(out, "equal, in") {
		t.Fatalf("exit code %d: %s", code, out)
	}
	if rows := p.rowsThatDiffer(false); len(rows) > 0 {
		t.Errorf("%d rows differ", len(rows))
	}
	if left := p.snapshots(); len(left) > 0 {
		t.Errorf("snapshots %v are left", left)
	}
	jobtest.Empty(t, jobtest.UserFS(t, testcluster.Shared(t), "tina"), base)
	if code, out := p.program("comparing", compare...); code != -1 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	left := p.snapshots()
	if len(left) != 2 {
		t.Fatalf("status shows the snapshots %v", left)
	}
	if code, out := p.program("", "clean", "--older-than=0s", "--yes", "--staging=/tmp/none-"+testcheck.Name(t)); code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	c, err := p.env.Dial(t.Context())
	testcheck.Must(t, err)
	defer c.Close()
	for name, table := range left {
		parsed, err := loader.ParseTableName(table)
		testcheck.Must(t, err)
		if _, there, err := c.SnapshotTime(t.Context(), parsed, name); there || err != nil {
			t.Errorf("snapshot %s is there: %t, %v", name, there, err)
		}
	}
}

// TestCompareNewKeys checks that a table equals the one that rekey has made from it, under its new keys, and that a missing row is found.
func TestCompareNewKeys(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	js := p.spec(1)
	const key = "md5hex(check_id) + id + '-'"
	s := js.Spec()
	s.Key, s.Table = key, jobtest.FreshTableAt(t, p.env, salts(3), nil)
	_, err := job.Run(t.Context(), p.env, jobtest.Resolve(t, s), job.RunOptions{})
	testcheck.Must(t, err)
	p.names[1] = s.Table
	req := p.request()
	req.Key, req.Timestamps = key, true
	p.equal(req)
	gone, _, _ := strings.Cut(firstOf(p.seen(1, false)), "\t")
	_, err = p.admin.Run(t.Context(), "delete", p.names[1], gone)
	testcheck.Must(t, err)
	r, err := p.run(req)
	if testcheck.Must(t, err); r.Equal || r.Found.OnlyA != 1 || r.Found.Rows() != 1 {
		t.Errorf("%+v", r)
	}
}

func firstOf(cells map[string]string) (first string) {
	for column := range cells {
		if first == "" || column < first {
			first = column
		}
	}
	return first
}
