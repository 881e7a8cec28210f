package listing

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"bulkload/internal/test/testcheck"
)

// disk resolves a path as the local file system does.
func disk(name string) (FS, string, error) {
	abs, err := filepath.Abs(name)
	return testcheck.Disk{}, abs, err
}

// writeFile creates a file in a new directory and returns its path.
func writeFile(t testing.TB, name string, data []byte) string {
	t.Helper()
	return testcheck.WriteFile(t, name, data)
}

// tree writes files and returns their directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// openError lists inputs below a directory.
func openError(t *testing.T, o Options, dir string, inputs ...string) error {
	t.Helper()
	var names []string
	for _, in := range inputs {
		names = append(names, dir+"/"+in)
	}
	_, _, err := List(t.Context(), disk, names, &o)
	return err
}

func wantError(t *testing.T, what string, err error, say ...string) {
	t.Helper()
	testcheck.Says(t, what, err, say...)
}

// wantRefused is wantError for invalid inputs, whose errors are ErrSelection.
func wantRefused(t *testing.T, what string, err error, say ...string) {
	t.Helper()
	if !errors.Is(err, ErrSelection) {
		t.Errorf("%s: error %v is not an ErrSelection", what, err)
	}
	wantError(t, what, err, say...)
}
