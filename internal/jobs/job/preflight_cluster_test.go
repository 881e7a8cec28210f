package job

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bulkload/internal/engine/history"
	"bulkload/internal/engine/status"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
)

// refusedJob is a job that the preflight refuses as long as a directory above its files is closed to HBase, which does not prevent any user from
// building.
type refusedJob struct {
	t     *testing.T
	env   *cluster.Env
	mine  hdfsio.FS
	above string // parent of the base directory
	spec  spec.Spec
	o     RunOptions
}

func newRefusedJob(t *testing.T) *refusedJob {
	t.Helper()
	c := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, c)
	user, err := env.Conf.User()
	if err != nil {
		t.Fatal(err)
	}
	j := &refusedJob{t: t, env: env, mine: jobtest.UserFS(t, c, user), above: "/tmp/closed-test-" + testcheck.Name(t), spec: jobtest.Spec(t, "check")}
	t.Cleanup(func() { _ = j.mine.RemoveAll(context.WithoutCancel(t.Context()), j.above) })
	if err := j.mine.MkdirAll(t.Context(), j.above, 0o700); err != nil {
		t.Fatal(err)
	}
	j.spec.Table = jobtest.FreshTable(t, env, 10, nil)
	j.spec.Inputs = []string{jobtest.ManyRecords(t, 20_000)}
	j.o.Stage = loader.StageDirect // HBase's user takes the files
	j.o.Staging, j.o.SpillDir, j.o.State.Dir = j.above+"/jobs", t.TempDir(), t.TempDir()
	return j
}

// refused runs the job, and checks that the preflight refuses it and that nothing is left.
func (j *refusedJob) refused() {
	j.t.Helper()
	r, err := Run(j.t.Context(), j.env, jobtest.Resolve(j.t, j.spec), j.o)
	if fail.KindOf(err) != fail.Check || !strings.Contains(fmt.Sprint(err), "cannot pass "+j.above) {
		j.t.Fatalf("kind %d: %v", fail.KindOf(err), err)
	}
	if r.Staging != "" {
		j.t.Errorf("the result has a staging directory: %s", r.Staging)
	}
	if _, err := j.mine.Stat(j.t.Context(), j.o.Staging); !errors.Is(err, fs.ErrNotExist) {
		j.t.Errorf("what the job made is left: %v", err)
	}
	for _, dir := range []string{j.o.SpillDir, filepath.Dir(j.o.RejectFile)} {
		if left, err := os.ReadDir(dir); dir != "." && (err != nil || len(left) > 0) {
			j.t.Errorf("%s holds %v, %v", dir, left, err)
		}
	}
	if r.Job == "" {
		return
	}
	s, err := status.Read(r.Job)
	if err != nil || s.State != history.JobFailed || !s.Resumable || !strings.Contains(s.Error, "cannot pass") || s.HFiles > 0 {
		j.t.Errorf("%+v, %v", s, err)
	}
}

// TestStagingClosedToHBase loads through HBase's staging directory from one that HBase's user cannot pass: the job's user moves the files.
func TestStagingClosedToHBase(t *testing.T) {
	t.Parallel()
	j := newRefusedJob(t)
	j.o.Stage = loader.StageAuto
	r, err := Run(t.Context(), j.env, jobtest.Resolve(t, j.spec), j.o)
	if err != nil || r.Manifest.Digest.Rows != 20_000 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestRefusedJobLeavesNothing checks that a job that the preflight refuses during the build ends with that error, and removes its files. The same
// command succeeds when the reason is gone.
func TestRefusedJobLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*refusedJob){
		"all in memory": func(*refusedJob) {},
		"spilled":       func(j *refusedJob) { j.o.Memory, j.o.Workers = 16<<20, 2 },
		"no journal":    func(j *refusedJob) { j.o.State.Dir = "" },
	} {
		t.Run(name, func(t *testing.T) {
			j := newRefusedJob(t)
			change(j)
			j.refused()
			j.refused()
			if err := j.mine.Chmod(t.Context(), j.above, 0o711); err != nil {
				t.Fatal(err)
			}
			r, err := Run(t.Context(), j.env, jobtest.Resolve(t, j.spec), j.o)
			if err != nil || r.Manifest.Digest.Rows != 20_000 || r.Verify.Got.Rows == 0 {
				t.Fatalf("%+v, %v", r, err)
			}
			if want := 3; j.o.State.Dir != "" && r.Attempt != want {
				t.Errorf("attempt %d, want %d", r.Attempt, want)
			}
		})
	}
}

// TestRefusedJobMoves checks that a job that was refused for its staging directory uses another one that the next attempt names, also in its
// preflight.
func TestRefusedJobMoves(t *testing.T) {
	t.Parallel()
	j := newRefusedJob(t)
	j.refused()
	j.o.Staging = j.above + "-moved"
	r, err := Run(t.Context(), j.env, jobtest.Resolve(t, j.spec), j.o)
	if err != nil || r.Manifest.Digest.Rows != 20_000 || r.Attempt != 2 || !strings.Contains(r.Staging, j.o.Staging+"/") {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := j.mine.Remove(t.Context(), j.o.Staging); err != nil {
		t.Error(err)
	}
}

// gateFromRead blocks from the phase read on, until its context ends.
type gateFromRead struct{ reading atomic.Bool }

func (g *gateFromRead) Wait(ctx context.Context) error {
	if !g.reading.Load() {
		return nil
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// TestRefusalEndsReading checks that the reading of a long input stops when the preflight has refused the job.
func TestRefusalEndsReading(t *testing.T) {
	t.Parallel()
	j := newRefusedJob(t)
	g := &gateFromRead{}
	j.o.Gate = g
	j.o.Events = progress.Events{OnPhase: func(name string) { g.reading.Store(g.reading.Load() || name == "read") }}
	j.refused()
	if !g.reading.Load() {
		t.Log("the preflight had ended before the first record was read")
	}
}

// TestRefusalGoesBeforeErrorsOfTheInput checks that the preflight's error is the job's, whichever error occurs first, and that the bad records of an
// earlier run are kept.
func TestRefusalGoesBeforeErrorsOfTheInput(t *testing.T) {
	t.Parallel()
	j := newRefusedJob(t)
	name := filepath.Join(t.TempDir(), "bad.dump")
	if err := os.WriteFile(name, []byte("one column\x10two\x01columns\x10"), 0o600); err != nil {
		t.Fatal(err)
	}
	j.spec.Inputs, j.o.RejectFile = []string{name}, filepath.Join(t.TempDir(), "rejects.jsonl")
	for _, allowed := range []string{"", "1"} {
		j.spec.BadRecords = allowed
		j.refused()
	}
}

// TestWarningsOfThePreflight checks that they are logged, once each, by a job that continues.
func TestWarningsOfThePreflight(t *testing.T) {
	t.Parallel()
	j := newRefusedJob(t)
	if err := j.mine.Chmod(t.Context(), j.above, 0o711); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	warned := 0
	j.o.Events = progress.Events{OnWarn: func(msg string, kv ...any) {
		mu.Lock()
		defer mu.Unlock()
		if msg == "check" && strings.Contains(fmt.Sprint(kv...), "in the future") {
			warned++
		}
	}}
	j.spec.Timestamp = time.Now().Add(time.Hour).UnixMilli()
	if _, err := Run(t.Context(), j.env, jobtest.Resolve(t, j.spec), j.o); err != nil || warned != 1 {
		t.Errorf("%d warnings, %v", warned, err)
	}
}

// TestRefusalKeepsEarlierFiles checks that HFiles of an earlier attempt are kept when the files of a refused one are removed.
func TestRefusalKeepsEarlierFiles(t *testing.T) {
	t.Parallel()
	j := newRefusedJob(t)
	if err := j.mine.Chmod(t.Context(), j.above, 0o711); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	stopped := errors.New("stopped by the test")
	j.o.Workers = 1
	j.o.Events.OnHFile = func(progress.HFile) { cancel(stopped) }
	r, err := Run(ctx, j.env, jobtest.Resolve(t, j.spec), j.o)
	if !errors.Is(err, stopped) {
		t.Fatal(err)
	}
	files := func() (n int) {
		t.Helper()
		list, err := j.mine.ReadDir(t.Context(), strings.TrimPrefix(r.Staging, r.Staging[:strings.Index(r.Staging, "/tmp/")])+"/f")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	had := files()
	if had == 0 {
		t.Fatal("nothing was built")
	}
	j.o.Events.OnHFile = nil
	if err := j.mine.Chmod(t.Context(), j.above, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), j.env, jobtest.Resolve(t, j.spec), j.o); fail.KindOf(err) != fail.Check {
		t.Fatal(err)
	}
	if have := files(); have != had {
		t.Errorf("%d files are left of %d", have, had)
	}
	if err := j.mine.Chmod(t.Context(), j.above, 0o711); err != nil {
		t.Fatal(err)
	}
	again := 0
	j.o.Events.OnHFile = func(progress.HFile) { again++ }
	if r, err = Run(t.Context(), j.env, jobtest.Resolve(t, j.spec), j.o); err != nil || again != 10-had {
		t.Errorf("%d files were written again of %d, %v, %+v", again, 10-had, err, r)
	}
}
