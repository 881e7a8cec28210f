package job

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/model/result"
	"bulkload/internal/test/jobtest"
)

// TestLoadReplaceKilled kills the program after the records of a load that replaces, in place and into a new table, from HDFS and from a local disk,
// and runs the same command again.
func TestLoadReplaceKilled(t *testing.T) {
	t.Parallel()
	name := buildProgram(t)
	want := freshDigest(t, name)
	all := os.Getenv("BULKLOAD_FAULTS") != ""
	for _, c := range []struct {
		name   string
		onHDFS bool
		into   bool
		few    []string
		after  []string
	}{
		{"HDFS", true, false, []string{"replaced", "loaded:3"}, []string{"plan", "attempt", "read_snapshot:1", "loading", "prepared", "sending", "loaded:1", "loaded:2", "cleaned", "read_snapshot:2", "verified", "done"}},
		{"local", false, false, []string{"replaced"}, []string{"plan", "attempt", "read_snapshot:1", "read_snapshot:2", "read_snapshot:3", "loading", "sending", "loaded:2", "cleaned", "read_snapshot:4", "verified", "done"}},
		{"into, HDFS", true, true, []string{"fresh:1", "loaded:3"}, []string{"fresh:2", "plan", "attempt", "read_snapshot:1", "read_snapshot:2", "fresh:3", "loading", "sending", "loaded:2", "verified", "done"}},
		{"into, local", false, true, []string{"fresh:3"}, []string{"fresh:1", "fresh:2", "plan", "read_snapshot:3", "loading", "loaded:1", "verified", "done"}},
	} {
		after := c.few
		if all {
			after = slices.Concat(c.few, c.after)
		}
		for _, event := range after {
			t.Run(c.name+"/"+event, func(t *testing.T) {
				t.Parallel()
				p := newFreshProgram(t, name, want)
				p.build(c.onHDFS)
				load := p.replace
				if c.into {
					load = p.into
				}
				if code, _, says := load(event); code != 128+9 {
					t.Fatalf("exit code %d: %s", code, says)
				}
				if c.into {
					p.done()
				} else {
					p.replaced(load, event == "done", 1)
				}
				if c.onHDFS {
					p.emptied(p.hfiles)
				}
			})
		}
	}
}

// TestLoadReplaceOtherwise runs another command after a kill: one that starts over, and one that does not replace.
func TestLoadReplaceOtherwise(t *testing.T) {
	t.Parallel()
	name := buildProgram(t)
	want := freshDigest(t, name)
	t.Run("restart", func(t *testing.T) {
		t.Parallel()
		p := newReplaceProgram(t, name, want)
		p.build(false)
		for _, event := range []string{"read_snapshot:3", "loaded:2"} {
			if code, _, says := p.replace(event); code != 128+9 {
				t.Fatalf("exit code %d: %s", code, says)
			}
		}
		p.replaced(func(stopAfter string, flags ...string) (int, string, string) {
			return p.replace(stopAfter, append(flags, "--restart")...)
		}, false, 0) // regions load concurrently: the killed process may have replaced all rows
	})
	t.Run("restart, into", func(t *testing.T) {
		t.Parallel()
		for _, onHDFS := range []bool{false, true} {
			p := newFreshProgram(t, name, want)
			p.build(onHDFS)
			if code, _, says := p.into("loaded:2"); code != 128+9 {
				t.Fatalf("exit code %d: %s", code, says)
			}
			if !onHDFS {
				p.done("--restart")
				continue
			}
			if code, _, says := p.into("", "--restart"); code != 3 || !strings.Contains(says, "the same command without --restart resumes") {
				t.Errorf("files that were moved: exit code %d: %s", code, says)
			}
			p.done()
		}
	})
	t.Run("without", func(t *testing.T) {
		t.Parallel()
		p := newReplaceProgram(t, name, want)
		p.build(true)
		if code, _, says := p.replace("replaced"); code != 128+9 {
			t.Fatalf("exit code %d: %s", code, says)
		}
		if code, _, says := p.load("loaded:1", p.hfiles); code != 128+9 {
			t.Fatalf("exit code %d: %s", code, says)
		}
		if code, _, says := p.replace(""); code == 0 || !strings.Contains(says, "--replace") {
			t.Fatalf("asked for after the load had begun: exit code %d: %s", code, says)
		}
		if code, out, says := p.load("", p.hfiles); code != 0 || strings.Contains(out, `"replace":`) {
			t.Fatalf("exit code %d: %s%s", code, out, says)
		}
		if got := p.digest(); got == p.want {
			t.Errorf("rows that are not in the export are gone without being asked for")
		}
		p.emptied(p.hfiles)
	})
}

// build builds the second export into a directory, which is used for further loads.
func (p *replaceProgram) build(onHDFS bool) {
	p.t.Helper()
	s := jobtest.Spec(p.t, "check")
	s.Inputs = []string{p.input}
	p.hfiles = p.builtOf(s, onHDFS, programRegions)
}

// replaced runs the command again, checks that it deletes at least the given number of rows, and checks the table.
func (p *replaceProgram) replaced(load func(string, ...string) (int, string, string), already bool, least int64) {
	p.t.Helper()
	code, out, says := load("")
	if code != 0 {
		p.t.Fatalf("exit code %d: %s", code, says)
	}
	var r result.Result
	if err := json.Unmarshal([]byte(out), &r); err != nil || r.Replace == nil || r.Replace.Deleted < least || r.Already != already {
		p.t.Errorf("%v: %s", err, out)
	}
	p.judge()
}
