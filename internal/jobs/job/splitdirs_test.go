package job

import (
	"path/filepath"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/model/fail"
	"bulkload/internal/test/jobtest"
)

// TestPartsOfNothing checks that an allowed empty input has no directory that fails, and none that was done before.
func TestPartsOfNothing(t *testing.T) {
	s := jobtest.Spec(t, "check")
	s.Inputs, s.AllowEmpty = []string{t.TempDir()}, true
	r, err := RunParts(t.Context(), jobtest.Env(t), jobtest.Resolve(t, s), RunOptions{State: checkpoint.Options{Dir: filepath.Join(t.TempDir(), "state")}})
	if fail.KindOf(err) != fail.Config || r == nil || len(r.Parts) != 0 { // no cluster is configured
		t.Errorf("%+v, %v", r, err)
	}
	r, err = RunParts(t.Context(), jobtest.Env(t), jobtest.Resolve(t, s), RunOptions{})
	if err != nil || r == nil || r.Already {
		t.Errorf("%+v, %v", r, err)
	}
}
