package job

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/formats/expectation"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// nights are jobs of the same table and job file, each with its own input.
type nights struct {
	t     *testing.T
	spec  spec.Spec
	o     RunOptions
	reads int // number of inputs read
	run   func(ctx context.Context, s spec.Spec, o RunOptions) (*result.Result, error)
}

// night runs the job of an input with the first records.
func (n *nights) night(ctx context.Context, input string, records int, asked ...expectation.Asked) (*result.Result, error) {
	n.t.Helper()
	name := filepath.Join(filepath.Dir(n.o.State.Dir), input, "rows.dump")
	if _, err := os.Stat(name); err != nil {
		testcheck.Must(n.t, os.MkdirAll(filepath.Dir(name), 0o700))
		jobtest.WriteRecords(n.t, name, clusterRecords(records))
	}
	s := n.spec
	s.Inputs, s.Expectations = []string{filepath.Dir(name)}, asked
	return n.run(ctx, s, n.o)
}

// found checks the finding of the only expectation.
func (n *nights) found(r *result.Result, err error, kind fail.Kind, status string, records int64) {
	n.t.Helper()
	if (err != nil) != (status == expectation.Failed) || err != nil && (fail.KindOf(err) != kind || !strings.Contains(err.Error(), "nothing was loaded")) {
		n.t.Errorf("%v", err)
	}
	if f := r.Manifest.Findings(); len(f) == 0 || f[0].Status != status || f[0].Checked != records {
		n.t.Errorf("%+v, want %s of %d", f, status, records)
	}
}

// TestRunWithExpectations checks that an expectation that is not met fails the job before the load, and that its files are kept: with other bounds it
// resumes, without reading again. A job stopped while it writes keeps its counts. The number of records is compared with earlier nights.
func TestRunWithExpectations(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, cluster)
	name := familyTable(t, env, "f")
	n := &nights{t: t, spec: spec.Spec{Table: name, Format: "dump", Columns: jobtest.MappedColumns, Key: "id", Verify: "full"}}
	n.o = RunOptions{State: checkpoint.Options{Dir: filepath.Join(t.TempDir(), "state")}, JobFile: "/jobs/nightly.yaml", WorkOptions: build.WorkOptions{SpillDir: t.TempDir()}}
	n.o.Events = progress.Events{OnPhase: func(phase string) {
		if phase == "read" {
			n.reads++
		}
	}}
	n.run = func(ctx context.Context, s spec.Spec, o RunOptions) (*result.Result, error) {
		return Run(ctx, env, jobtest.Resolve(t, s), o)
	}
	digest := func() string {
		got, err := cluster.AdminT(t).Run(t.Context(), "digest", name)
		testcheck.Must(t, err)
		return got
	}
	near := expectation.Asked{Rows: &expectation.AskedRows{Within: "10%", OfLast: 2}}
	for _, night := range []string{"1", "2"} {
		r, err := n.night(t.Context(), night, 100, near)
		n.found(r, err, 0, expectation.Unchecked, 100)
	}
	r, err := n.night(t.Context(), "3", 110, near)
	n.found(r, err, 0, expectation.Passed, 110)
	before := digest()
	n.reads = 0
	for range 2 {
		r, err = n.night(t.Context(), "4", 150, near)
		n.found(r, err, fail.BadRows, expectation.Failed, 150)
	}
	if now := digest(); now != before {
		t.Errorf("the table has %s, before it had %s", now, before)
	}
	near.Rows.Within = "50%"
	r, err = n.night(t.Context(), "4", 150, near)
	n.found(r, err, 0, expectation.Passed, 150)
	if now := digest(); now == before || n.reads != 1 {
		t.Errorf("loaded %v, and read %d times", now != before, n.reads)
	}

	values := expectation.Asked{Column: "flag", Values: []expectation.Word{"true"}}
	stopping, stop := context.WithCancel(t.Context())
	defer stop()
	n.o.Events.OnHFile = func(progress.HFile) { stop() }
	if _, err := n.night(stopping, "5", 120, values); !errors.Is(err, context.Canceled) {
		t.Errorf("the build ends with %v", err)
	}
	n.o.Events.OnHFile = nil
	values.Severity = expectation.Warn
	r, err = n.night(t.Context(), "5", 120, values)
	testcheck.Must(t, err)
	if f := r.Manifest.Findings(); len(f) != 1 || f[0].Status != expectation.Failed || f[0].Checked != 120 || f[0].Failed != 60 || r.Manifest.Expect.Records != 120 {
		t.Errorf("%+v", f)
	}
	if r, err = n.night(t.Context(), "5", 120, values); err != nil || !r.Already || len(r.Manifest.Findings()) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	testDirectories(t, n, func(s spec.Spec) (*result.Result, error) {
		return RunParts(t.Context(), env, jobtest.Resolve(t, s), RunOptions{State: checkpoint.Options{Dir: t.TempDir()}, WorkOptions: build.WorkOptions{Workers: 1, SpillDir: t.TempDir()}})
	})
}

// testDirectories checks that each of two directories of a job must meet the expectations.
func testDirectories(t *testing.T, n *nights, run func(spec.Spec) (*result.Result, error)) {
	t.Helper()
	most := int64(60)
	s := n.spec
	s.Expectations = []expectation.Asked{{Rows: &expectation.AskedRows{Max: &most}}}
	s.Inputs = []string{t.TempDir()}
	for i, dir := range []string{"a", "b"} {
		testcheck.Must(t, os.Mkdir(filepath.Join(s.Inputs[0], dir), 0o700))
		jobtest.WriteRecords(t, filepath.Join(s.Inputs[0], dir, "rows.dump"), clusterRecords(50+10*i))
	}
	r, err := run(s)
	n.found(r, err, 0, expectation.Passed, 110)
	most--
	r, err = run(s)
	if fail.KindOf(err) != fail.BadRows || len(r.Parts) != 2 || r.Parts[0].Status != result.PartDone || r.Parts[1].Status != result.PartFailed {
		t.Errorf("%+v, %v", r.Parts, err)
	}
}
