package job

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/model/result"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/source"
)

// TestRestartOfParts checks that a restart discards the checkpoints of all directories before the first one begins, so that the same command without it
// loads those that were not reached; that it discards none if one is refused; and that a restart that was killed while it discards is completed.
func TestRestartOfParts(t *testing.T) {
	for name, c := range map[string]struct {
		restart, killed bool
		refused         error
		want            int // checkpoints left
	}{
		"restart":                   {true, false, nil, 0},
		"without":                   {false, false, nil, 3},
		"refused":                   {true, false, os.ErrInvalid, 3},
		"after one that was killed": {false, true, nil, 0},
	} {
		p := newParts(jobtest.Env(t), jobtest.Resolve(t, jobtest.CSVSpec("/e")), RunOptions{State: checkpoint.Options{Dir: t.TempDir()}},
			[]source.Directory{{Path: "/e/1"}, {Path: "/e/2"}, {Path: "/e/3"}, {Path: "/e/new"}})
		p.cluster, p.result.Job = "c", t.TempDir()
		staging := t.TempDir()
		for i := range 3 {
			testcheck.Must(t, p.open(t.Context(), i, func(_ context.Context, _ int, st *checkpoint.Job) error {
				return errors.Join(st.Record(history.EventPlan, history.PlanRecord{Job: st.ID, Table: "t", Staging: staging}), st.Record(history.EventDone, history.DoneRecord{Result: &result.Result{}}))
			}))
		}
		if c.killed {
			testcheck.Must(t, os.WriteFile(filepath.Join(p.result.Job, restartName), nil, 0o600))
		}
		p.options.State.Restart = c.restart
		looked := 0
		err := p.restart(t.Context(), func(_ context.Context, i int, _ *checkpoint.Job) error {
			if looked++; i == 2 {
				return c.refused
			}
			return nil
		})
		left := 0
		for i := range p.dirs {
			dir, err := p.stateDir(i)
			testcheck.Must(t, err)
			h, err := readHistory(dir)
			if testcheck.Must(t, err); h.Finished {
				left++
			}
		}
		begun, _ := os.ReadDir(p.result.Job)
		if !errors.Is(err, c.refused) || left != c.want || len(begun) > 0 || p.options.State.Restart != (c.refused != nil) || (looked == 3) != (c.restart || c.killed) {
			t.Errorf("%s: %v, %d checkpoints are left, looked at %d, %v", name, err, left, looked, begun)
		}
	}
}
