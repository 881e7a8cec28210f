package job

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/result"
	"bulkload/internal/test/testcheck"
)

// undo takes a load out of the table by markers, as HBase's own user, who may read the table's files.
func (p *program) undo(job string) (code int, u result.Undo, stderr string) {
	p.t.Helper()
	code, stdout, stderr := p.end(func(ctx context.Context) *exec.Cmd {
		cmd := p.any(ctx, "", "undo", "--quiet", "--output=json", "--state="+p.state, "--job="+job)
		cmd.Env = append(cmd.Env, "HADOOP_USER_NAME=hbase")
		return cmd
	})
	if stdout != "" {
		testcheck.Must(p.t, json.Unmarshal([]byte(stdout), &u))
	}
	return code, u, stderr
}

// clustersUndone checks that the load of each cluster is undone by its own job, and that the run does not count as done from the first of them on.
func clustersUndone(t *testing.T, w *twin) {
	code, r, stderr := w.both("")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	own, other := filepath.Base(r.Clusters[0].Jobs[0]), filepath.Base(r.Clusters[1].Jobs[0])
	if code, _, stderr := w.undo(r.Job); code != fail.Check.ExitCode() || !strings.Contains(stderr, own[len(own)-12:]) || !strings.Contains(stderr, other[len(other)-12:]) {
		t.Errorf("the job of the run: exit code %d: %s", code, stderr)
	}
	if code, _, stderr := w.undo(other); code != fail.Config.ExitCode() || !strings.Contains(stderr, "another cluster") {
		t.Errorf("the other cluster's job on this cluster: exit code %d: %s", code, stderr)
	}
	for i, p := range []*program{w.program, w.other} {
		p.state = w.state
		code, u, stderr := p.undo([]string{own, other}[i])
		if code != 0 || u.Markers == 0 {
			t.Fatalf("cluster %d: exit code %d, %+v: %s", i, code, u, stderr)
		}
		if code, _, stderr := w.both(""); code != fail.Check.ExitCode() || !strings.Contains(stderr, "--restart") {
			t.Errorf("the run after %d undos: exit code %d: %s", i+1, code, stderr)
		}
	}
	code, r, stderr = w.both("", "--restart")
	if code != 0 || r.Clusters[0].Status != result.PartDone || r.Clusters[1].Status != result.PartDone {
		t.Fatalf("exit code %d, %+v: %s", code, r.Clusters, stderr)
	}
}

// TestUndoneLoad checks that the load of a directory that bulkload has built is undone by markers, and that its files are not loaded again, since the
// markers would hide them.
func TestUndoneLoad(t *testing.T) {
	t.Parallel()
	p := newProgram(t, buildProgram(t))
	dir := p.builtDir(false, programRegions)
	code, stdout, stderr := p.load("", dir)
	var r result.Result
	if code != 0 || json.Unmarshal([]byte(stdout), &r) != nil {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if code, u, stderr := p.undo(r.Job); code != 0 || u.Markers == 0 {
		t.Fatalf("exit code %d, %+v: %s", code, u, stderr)
	}
	if code, _, stderr := p.load("", dir); code != fail.Check.ExitCode() || !strings.Contains(stderr, "build its files again") {
		t.Errorf("given again: exit code %d: %s", code, stderr)
	}
	if code, _, stderr := p.load("", dir, "--restart"); code != fail.Config.ExitCode() || !strings.Contains(stderr, "delete markers hide cells with it: build its files again") {
		t.Errorf("with a restart: exit code %d: %s", code, stderr)
	}
	p.state = t.TempDir() // which does not know the undo
	if code, _, stderr := p.load("", dir, "--verify=full"); code != fail.Verify.ExitCode() || !strings.Contains(stderr, "delete markers hide every row") {
		t.Errorf("with another state: exit code %d: %s", code, stderr)
	}
}
