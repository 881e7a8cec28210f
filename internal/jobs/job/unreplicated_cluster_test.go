package job

import (
	"encoding/json"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/result"
	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/loader"
)

// TestUndoOfUnreplicatedLoad checks that markers reach no peers either if their load did not: of a run and of a directory's load, both killed and
// resumed. A load that has begun is not resumed for other peers. The judge is the flag of the loads in the region servers' logs.
func TestUndoOfUnreplicatedLoad(t *testing.T) {
	t.Parallel()
	race.Plain(t)
	name := buildProgram(t)
	for _, c := range []struct {
		name  string
		early string // the last record of an attempt that loads nothing, with replication; empty: there is none
		work  func(p *program) func(stopAfter string, flags ...string) (code int, stdout, stderr string)
	}{
		{"run", "written:1", func(p *program) func(string, ...string) (int, string, string) { return p.run }},
		{"load", "", func(p *program) func(string, ...string) (int, string, string) {
			dir := p.builtDir(false, programRegions)
			return func(stopAfter string, flags ...string) (int, string, string) { return p.load(stopAfter, dir, flags...) }
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t, name)
			work := c.work(p)
			if c.early != "" {
				if code, _, stderr := work(c.early); code != 128+9 {
					t.Fatalf("exit code %d: %s", code, stderr)
				}
			}
			if code, _, stderr := work("loaded:1", "--replicate=no"); code != 128+9 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			if code, _, stderr := work(""); code != fail.Check.ExitCode() || !strings.Contains(stderr, "--replicate no") {
				t.Errorf("resumed for peers: exit code %d: %s", code, stderr)
			}
			code, stdout, stderr := work("", "--replicate=no")
			if code != 0 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			var r result.Result
			testcheck.Must(t, json.Unmarshal([]byte(stdout), &r))
			loaded := p.loads(p.table)["local"]
			if code, u, stderr := p.undo(r.Job); code != 0 || u.Markers == 0 {
				t.Fatalf("exit code %d, %+v: %s", code, u, stderr)
			}
			if got := p.loads(p.table); got["local"] <= loaded || got["replicated"] != 0 {
				t.Errorf("after %d files of the load: %v", loaded, got)
			}
		})
	}
}

// TestRestartOfMovedFiles checks that the journal of a load that has moved files out of their directory on HDFS is not discarded: no other command could
// load the rest of a directory with a manifest.
func TestRestartOfMovedFiles(t *testing.T) {
	t.Parallel()
	p := newProgram(t, buildProgram(t))
	dir := p.builtDir(true, programRegions)
	if code, _, stderr := p.load("loading", dir); code != 128+9 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if code, _, stderr := p.load("loaded:1", dir, "--restart"); code != 128+9 { // nothing was moved
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if code, _, stderr := p.load("", dir, "--restart"); code != fail.Check.ExitCode() || !strings.Contains(stderr, "without --restart the same command loads the others") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if code, _, stderr := p.load("", dir, "--verify=full"); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	p.judge(programRegions)
	p.emptied(dir)
}

// TestKeptSnapshotsOnOtherHosts checks that a job counts the snapshots that jobs on other hosts have taken, and its own only if it has one.
func TestKeptSnapshotsOnOtherHosts(t *testing.T) {
	t.Parallel()
	race.Plain(t)
	h := newHosts(t, buildProgram(t))
	nights := []string{testcheck.Name(t) + "-1", testcheck.Name(t) + "-2", testcheck.Name(t) + "-3"}
	table, err := loader.ParseTableName(h.program.table)
	testcheck.Must(t, err)
	c, err := h.env.Dial(t.Context())
	testcheck.Must(t, err)
	t.Cleanup(func() { testcheck.Must(t, c.Close()) })
	there := func(want ...bool) {
		t.Helper()
		for i, night := range nights {
			_, got, err := c.SnapshotTime(t.Context(), table, night)
			if testcheck.Must(t, err); got != want[i] {
				t.Errorf("%s is there: %t", night, got)
			}
		}
	}
	for i, night := range nights[:2] {
		if code, _, stderr := h.on(night).run("", "--job-id="+night, "--snapshot="+night, "--keep-snapshots=1"); code != 0 {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		there(i == 0, i == 1, false)
	}
	last := h.on(nights[2])
	if code, _, stderr := last.run("loaded:1", "--job-id="+nights[2]); code != 128+9 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if code, _, stderr := last.run("", "--job-id="+nights[2], "--snapshot="+nights[2], "--keep-snapshots=1"); code != 0 { // too late for a snapshot
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	there(false, true, false)
	testcheck.Must(t, c.DeleteSnapshot(t.Context(), table, nights[1]))
}
