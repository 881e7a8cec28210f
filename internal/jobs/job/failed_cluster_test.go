package job

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/engine/status"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcluster"
)

// TestEndOfAnAttemptIsInTheJournal checks that the journal has the reason why an attempt ended, a verification failure or a signal, and that its copy
// shows it.
func TestEndOfAnAttemptIsInTheJournal(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, cluster)
	in := filepath.Join(t.TempDir(), "in.csv")
	if err := os.WriteFile(in, []byte("id,v\na,1\nb,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	table := jobtest.FreshTable(t, env, 1, nil)
	state := checkpoint.Options{Dir: t.TempDir()}
	s := jobtest.Resolve(t, spec.Spec{Table: table, Inputs: []string{in}, Key: "id", Verify: "full", Timestamp: 1700000000000})
	run := func(verify func(cancel func())) (*status.State, error) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, err := Run(ctx, env, s, RunOptions{State: state, WorkOptions: build.WorkOptions{Events: progress.Events{OnPhase: func(phase string) {
			if phase == "verify" {
				verify(cancel)
			}
		}}}})
		all, readErr := status.ReadAll(state.Dir)
		if readErr != nil || len(all) != 1 {
			t.Fatal(all, readErr)
		}
		return all[0], err
	}
	was, err := run(func(cancel func()) { cancel() })
	if err == nil || was.State != history.JobStopped || was.Phase != "verify" || !was.Resumable {
		t.Errorf("stopped: %+v, %v", was, err)
	}
	was, err = run(func(func()) {
		if _, err := cluster.AdminT(t).Run(t.Context(), "put", table, "c", "f:v", "3", "1700000000000"); err != nil {
			t.Error(err)
		}
	})
	if fail.KindOf(err) != fail.Verify || was.State != history.JobFailed || was.Phase != "verify" || !strings.Contains(was.Error, "does not hold what was written") || !was.Resumable {
		t.Errorf("a difference: %+v, %v", was, err)
	}
	if n := len(was.Attempts); n != 2 || was.Attempts[0].State != history.JobStopped || was.Attempts[1].State != history.JobFailed {
		t.Errorf("the attempts are %s", fmt.Sprint(was.Attempts))
	}
}
