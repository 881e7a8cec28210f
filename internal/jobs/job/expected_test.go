package job

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/journal"
	"bulkload/internal/formats/expectation"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
)

// TestResumeWithExpectations checks that the counts of a stopped attempt are kept with its sorted rows, also for other bounds. Values that it has not
// counted are counted by reading the input again, where no file is written a second time.
func TestResumeWithExpectations(t *testing.T) {
	for name, c := range map[string]struct {
		now   expectation.Asked
		reads int
	}{
		"as they were":      {expectation.Asked{Column: "check_id", Nulls: "0"}, 1},
		"other bounds":      {expectation.Asked{Column: "check_id", Nulls: "10%", Severity: "warn"}, 1},
		"another kind":      {expectation.Asked{Column: "check_id", Matches: "x"}, 2},
		"of another column": {expectation.Asked{Column: "id", Nulls: "0"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			b := newResumedBuild(t, spillingSpec(t))
			b.spec.Expectations = []expectation.Asked{{Column: "check_id", Nulls: "0"}}
			b.stopped(2)
			b.spec.Expectations = []expectation.Asked{c.now}
			b.stopped(3)
			b.spec.Expectations[0].Severity = "warn" // of the uninterrupted build to compare with
			m := b.ended()
			if b.reads != c.reads {
				t.Errorf("the input was read %d times, want %d", b.reads, c.reads)
			}
			checks, errs := expectation.Parse(b.spec.Expectations)
			if errs != nil {
				t.Fatal(errs)
			}
			testcheck.Must(t, build.Met([]*manifest.Manifest{m}, checks, nil, build.WorkOptions{}.Events))
			want := int64(0)
			if c.now.Matches != "" {
				want = m.Records
			}
			if f := m.Findings(); len(f) != 1 || f[0].Checked != m.Records || f[0].Failed != want || m.Expect.Records != m.Records {
				t.Errorf("%+v of %d records", f, m.Records)
			}
		})
	}
}

// TestRejectsOfAFailedAttempt checks that an attempt that reads the input again, for values to count, and fails, leaves the complete file of bad records of
// the attempt before, which the job may still use.
func TestRejectsOfAFailedAttempt(t *testing.T) {
	s := spillingSpec(t)
	text, err := os.ReadFile(s.Inputs[0])
	testcheck.Must(t, err)
	bad := filepath.Join(t.TempDir(), filepath.Base(s.Inputs[0]))
	testcheck.Must(t, os.WriteFile(bad, append(text, strings.Repeat("bad\x10", 7)...), 0o600))
	s.Inputs, s.BadRecords = []string{bad}, "10"
	b := newResumedBuild(t, s)
	b.stopped(2)
	whole, err := os.ReadFile(filepath.Join(b.state, "rejects.jsonl"))
	testcheck.Must(t, err)
	b.spec.Expectations, b.spec.BadRecords = []expectation.Asked{{Column: "id", Nulls: "0"}}, "1"
	_, st, err := b.attempt(0)
	testcheck.Must(t, st.Close())
	left, readErr := os.ReadFile(filepath.Join(b.state, "rejects.jsonl"))
	if fail.KindOf(err) != fail.BadRows || readErr != nil || string(left) != string(whole) || strings.Count(string(left), "\n") != 8 {
		t.Errorf("%v, %v: %s, want %s", err, readErr, left, whole)
	}
}

// TestNoLongerAllowedEmpty checks that an attempt that does not allow an input without rows refuses the build of an earlier one that did.
func TestNoLongerAllowedEmpty(t *testing.T) {
	b := newResumedBuild(t, spillingSpec(t))
	b.spec.Filter, b.spec.AllowEmpty = "id = 'none'", true
	for _, allowed := range []bool{true, true, false} {
		b.spec.AllowEmpty = allowed
		_, st, err := b.attempt(0)
		testcheck.Must(t, st.Close())
		if refused := fail.KindOf(err) == fail.Input && strings.Contains(err.Error(), "the filter leaves out all records"); refused == allowed || !refused && err != nil {
			t.Errorf("allowed %t: %v", allowed, err)
		}
	}
}

// TestAddedExpectationsOfAJobWithout checks that a job without expectations when it read its input has no counts for another attempt.
func TestAddedExpectationsOfAJobWithout(t *testing.T) {
	b := newResumedBuild(t, spillingSpec(t))
	b.stopped(2)
	b.spec.Expectations = []expectation.Asked{{Column: "id", Unique: true}}
	b.stopped(2)
	b.spec.Expectations = nil
	if m := b.ended(); b.reads != 2 || m.Expect == nil {
		t.Errorf("the input was read %d times, want 2", b.reads)
	}
}

// TestEarlierJobsOfOtherHosts checks that a job whose state is shared compares its records with those of jobs on other hosts: it brings its copy of
// their journals up to date first, and fails if that is not possible. An expectation that needs no earlier job does not need the shared state.
func TestEarlierJobsOfOtherHosts(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	env := jobtest.Env(t) // without a cluster
	state, err := checkpoint.StateDir(env, "hbase:states")
	testcheck.Must(t, err)
	dir := filepath.Join(state, "check-0123456789ab")
	testcheck.Must(t, os.Mkdir(dir, 0o700))
	log, _, err := journal.Open(dir)
	testcheck.Must(t, err)
	defer func() { testcheck.Must(t, log.Close()) }()
	for name, c := range map[string]struct {
		rows expectation.AskedRows
		want fail.Kind
	}{
		"with earlier jobs":    {expectation.AskedRows{Within: "10%", OfLast: 3}, fail.Config},
		"without earlier jobs": {expectation.AskedRows{Min: new(int64)}, fail.Unexpected},
	} {
		s := jobtest.Spec(t, "check")
		s.Expectations = []expectation.Asked{{Rows: &c.rows}}
		j := &run{env: env, spec: jobtest.Resolve(t, s), options: RunOptions{State: checkpoint.Options{Dir: state}}, job: &checkpoint.Job{Log: log, Dir: dir}, result: &result.Result{}}
		m := &manifest.Manifest{Expect: &expectation.Counts{Records: 5}}
		if err := j.expected(t.Context(), []*manifest.Manifest{m}); fail.KindOf(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
