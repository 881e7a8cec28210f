package journal

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestNewDirectoriesAreSyncedWithTheirParents: each directory that is made has its name in its parent on disk.
func TestNewDirectoriesAreSyncedWithTheirParents(t *testing.T) {
	top := t.TempDir()
	var synced []string
	sync := func(dir string) error {
		synced = append(synced, dir)
		return syncDir(dir)
	}
	dir := filepath.Join(top, "a", "b", "job")
	if err := makeDir(dir, sync); err != nil {
		t.Fatal(err)
	}
	if want := []string{top, filepath.Join(top, "a"), filepath.Join(top, "a", "b")}; !slices.Equal(synced, want) {
		t.Errorf("synced %q, want %q", synced, want)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	if synced = nil; makeDir(dir, sync) != nil || len(synced) != 0 {
		t.Errorf("a directory that is there: synced %q", synced)
	}
	file := filepath.Join(top, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{file, filepath.Join(file, "job")} {
		if err := MakeDir(bad); err == nil {
			t.Errorf("made %s", bad)
		}
	}
}
