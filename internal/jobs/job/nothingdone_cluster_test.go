package job

import (
	"os"
	"path/filepath"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcluster"
)

// TestRefusedRunLeavesNoState checks that a run that is refused before its first record leaves nothing for status to list, and nothing that clean
// could never remove.
func TestRefusedRunLeavesNoState(t *testing.T) {
	t.Parallel()
	env := jobtest.ClusterEnv(t, testcluster.Shared(t))
	table := jobtest.FreshTable(t, env, 2, nil)
	in := filepath.Join(t.TempDir(), "in.csv")
	if err := os.WriteFile(in, []byte("id,v\n1,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	state := t.TempDir()
	for what, s := range map[string]spec.Spec{
		"a column that is not there":    {Table: table, Key: "idd"},
		"a table that does not exist":   {Table: table + "x", Key: "id"},
		"a family that the table lacks": {Table: table, Key: "id", Family: "nope"},
	} {
		s.Inputs = []string{in}
		r, err := Run(t.Context(), env, jobtest.Resolve(t, s), RunOptions{State: checkpoint.Options{Dir: state}})
		if kind := fail.KindOf(err); kind != fail.Config && kind != fail.Check {
			t.Errorf("%s: %v", what, err)
		}
		if r != nil && r.Job != "" {
			t.Errorf("%s: the result names %s", what, r.Job)
		}
	}
	if list, err := os.ReadDir(state); err != nil || len(list) > 0 {
		t.Errorf("left are %v, %v", list, err)
	}
}
