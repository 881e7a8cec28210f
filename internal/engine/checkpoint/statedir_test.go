package checkpoint

import (
	"path/filepath"
	"testing"

	"bulkload/internal/test/testcheck"
)

// TestStateDir checks that a relative directory of states becomes absolute, as file systems require it.
func TestStateDir(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	here, err := filepath.EvalSymlinks(dir)
	testcheck.Must(t, err)
	for given, want := range map[string]string{"state": filepath.Join(here, "state"), "./a/../b": filepath.Join(here, "b"), "/x/y": "/x/y"} {
		got, err := StateDir(nil, given)
		if real, e := filepath.EvalSymlinks(filepath.Dir(got)); e == nil {
			got = filepath.Join(real, filepath.Base(got))
		}
		if err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", given, got, err, want)
		}
	}
	t.Setenv("BULKLOAD_STATE", "elsewhere")
	if got, err := StateDir(nil, ""); err != nil || !filepath.IsAbs(got) || filepath.Base(got) != "elsewhere" {
		t.Errorf("by the environment: %q, %v", got, err)
	}
}
