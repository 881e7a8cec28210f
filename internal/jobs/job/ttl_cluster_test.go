package job

import (
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
)

// longAgo and longAgoFlag are a timestamp that is older than the TTL of the tables of these tests.
const (
	longAgo     = 1700000000000
	longAgoFlag = "--timestamp=1700000000000"
)

// expires gives the table's family a TTL.
func (p *program) expires(ttl string) {
	p.t.Helper()
	p.admin(p.t, "family", "f", "TTL="+ttl)
}

// TestResumedAfterTheTTL checks that a job that is resumed when its timestamp is older than the family's TTL is refused, since HBase hides all of its
// cells, and that it continues when the TTL is longer again.
func TestResumedAfterTheTTL(t *testing.T) {
	t.Parallel()
	name := buildProgram(t)
	for _, stop := range []string{"built", "loaded:2"} {
		t.Run(stop, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t, name)
			if code, _, stderr := p.run(stop, longAgoFlag); code != 137 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			p.expires("3600")
			for _, mode := range []string{"off", "full"} {
				if code, _, stderr := p.run("", longAgoFlag, "--verify="+mode); code != 3 || !strings.Contains(stderr, "no reader ") || !strings.Contains(stderr, "1h0m0s") {
					t.Errorf("--verify %s: exit code %d: %s", mode, code, stderr)
				}
			}
			p.expires("2147483647")
			if code, _, stderr := p.run("", longAgoFlag); code != 0 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			p.judge(programRegions)
		})
	}
}

// TestBuiltBeforeTheTTL checks that load refuses a directory whose timestamp is older than the family's TTL, unless the family keeps versions
// that are older.
func TestBuiltBeforeTheTTL(t *testing.T) {
	t.Parallel()
	p := newProgram(t, buildProgram(t))
	s := jobtest.Spec(t, "check")
	s.Inputs, s.Timestamp = []string{jobtest.Export(t, "check.csv")}, longAgo
	dir := p.builtOf(s, false, programRegions)
	p.expires("3600")
	if code, _, stderr := p.load("", dir, "--verify=off"); code != 3 || !strings.Contains(stderr, "no reader sees") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	p.admin(t, "family", "f", "MIN_VERSIONS=1")
	if code, _, stderr := p.load("", dir); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	p.judge(programRegions)
}

// TestExpiredWhileLoading checks that a load whose cells expire while it runs does not count as done.
func TestExpiredWhileLoading(t *testing.T) {
	t.Parallel()
	p := newProgram(t, buildProgram(t))
	s := jobtest.Spec(t, "check")
	s.Table, s.Inputs, s.Verify, s.Timestamp = p.table, []string{p.input}, "off", longAgo
	loaded := 0
	e := progress.Events{OnLoad: func(string, int) {
		if loaded++; loaded == programRegions {
			p.expires("3600")
		}
	}}
	o := RunOptions{WorkOptions: build.WorkOptions{Events: e}, LoadConcurrency: 1, State: checkpoint.Options{Dir: p.state}}
	_, err := Run(t.Context(), p.env, jobtest.Resolve(t, s), o)
	if fail.KindOf(err) != fail.Verify || !strings.Contains(err.Error(), "no reader sees") || p.count("done") != 0 {
		t.Errorf("error is %v", err)
	}
}
