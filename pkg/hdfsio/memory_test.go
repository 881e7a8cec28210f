package hdfsio

import (
	"errors"
	"io/fs"
	"testing"
)

// TestMemoryKeepsItsRoot checks that the root is neither removed nor renamed, as on HDFS: without it no directory could be made.
func TestMemoryKeepsItsRoot(t *testing.T) {
	ctx, m := t.Context(), NewMemory()
	for name, err := range map[string]error{"remove": m.Remove(ctx, "/"), "remove all": m.RemoveAll(ctx, "/"), "rename": m.Rename(ctx, "/", "/x")} {
		if !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := m.Stat(ctx, "/"); err != nil {
		t.Fatal(err)
	}
	if err := m.MkdirAll(ctx, "/a/b", 0o755); err != nil {
		t.Error(err)
	}
	if err := m.RemoveAll(ctx, "/a"); err != nil {
		t.Error(err)
	}
}
