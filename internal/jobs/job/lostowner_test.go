package job

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
)

// takenOver is the gate of a process that wakes up when another one has its job.
type takenOver func()

func (g takenOver) Wait(context.Context) error {
	g()
	return errTakenOver
}

var errTakenOver = errors.New("another process has taken over this job")

// TestLostOwnerKeepsStaging checks that a process that has lost its job while it copied files leaves the directory to the process that has it.
func TestLostOwnerKeepsStaging(t *testing.T) {
	env := jobtest.Env(t)
	base := t.TempDir()
	to, err := env.Conf.Resolve("file://" + filepath.Join(base, "jobs", "t-1-0123456789abcdef"))
	testcheck.Must(t, err)
	for _, lost := range []bool{false, true} {
		theirs, taken := filepath.Join(to.Path, "f", "theirs"), false
		o := LoadOptions{RunOptions: RunOptions{WorkOptions: build.WorkOptions{Gate: takenOver(func() {
			taken = lost
			testcheck.Must(t, os.MkdirAll(filepath.Dir(theirs), 0o755))
			testcheck.Must(t, os.WriteFile(theirs, []byte("x"), 0o600))
		})}}}
		owned := func(context.Context) error {
			if taken {
				return errTakenOver
			}
			return nil
		}
		_, err = copying(t.Context(), env, owned, to, build.Output{FS: hdfsio.Local{}, Dir: base}, []manifest.File{{Name: "f/a", Family: "f"}}, &cluster.Facts{}, o)
		if !errors.Is(err, errTakenOver) {
			t.Errorf("lost %t: %v", lost, err)
		}
		if _, err := os.Stat(theirs); (err == nil) != lost {
			t.Errorf("lost %t: the file of the directory: %v", lost, err)
		}
	}
}

// TestRefusedAttemptKeepsApplication checks that an attempt that is refused keeps the staging directory while an application on YARN writes there.
func TestRefusedAttemptKeepsApplication(t *testing.T) {
	l, err := jobtest.Env(t).Conf.Resolve("hdfs://nn/base/t-1-0123456789abcdef")
	testcheck.Must(t, err)
	memory := hdfsio.NewMemory()
	app := l.Path + "/_yarn/out"
	for _, submitted := range []bool{false, true} {
		testcheck.Must(t, memory.MkdirAll(t.Context(), app, 0o755))
		log := &checkpoint.Job{History: history.New()}
		testcheck.Must(t, log.Record(history.EventPlan, history.PlanRecord{Table: "t", Staging: l.URI()}))
		if submitted {
			testcheck.Must(t, log.Record(history.EventSubmitted, build.SubmissionRecord{Tag: "x", Dir: l.URI() + "/_yarn", Application: "application_1_1"}))
		}
		j := &run{job: log, result: &result.Result{}, stage: &stage{Dir: &staging.Dir{FS: memory, Location: l}, out: build.Output{FS: memory, Dir: l.Path}}}
		j.takeBack(t.Context(), j.earlier())
		if _, err := memory.Stat(t.Context(), app); errors.Is(err, fs.ErrNotExist) == submitted {
			t.Errorf("submitted %t: %v", submitted, err)
		}
	}
}

// TestReplicationInPlan checks that the plan of a directory's load says whether peers get it, as that of a run does.
func TestReplicationInPlan(t *testing.T) {
	env := jobtest.Env(t)
	at, err := env.Conf.Resolve("hdfs://nn/dir")
	testcheck.Must(t, err)
	for unreplicated, want := range map[bool]string{false: "yes", true: "no"} {
		d := &dirLoad{given: "hdfs://nn/dir", at: at, options: LoadOptions{Unreplicated: unreplicated}, all: manifest.Manifest{Timestamp: 5}}
		d.env, d.job = env, &checkpoint.Job{History: history.New()}
		d.facts = &cluster.Facts{Name: loader.TableName{Namespace: "default", Qualifier: "t"}, Table: &loader.Table{}}
		p, _, err := d.plan(t.Context())
		if testcheck.Must(t, err); p.Replicate != want {
			t.Errorf("unreplicated %t: %q", unreplicated, p.Replicate)
		}
	}
}
