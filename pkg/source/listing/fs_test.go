package listing

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// diskFS is the machine's file system.
type diskFS struct{}

func (diskFS) Open(_ context.Context, name string) (fs.File, error)     { return os.Open(name) }
func (diskFS) Stat(_ context.Context, name string) (fs.FileInfo, error) { return os.Stat(name) }
func (diskFS) ReadDir(_ context.Context, name string) ([]fs.FileInfo, error) {
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, err
	}
	var infos []fs.FileInfo
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		infos = append(infos, info)
	}
	slices.Reverse(infos) // the order is not to be relied on
	return infos, nil
}

// disk resolves a path as the local file system does.
func disk(name string) (FS, string, error) {
	abs, err := filepath.Abs(name)
	return diskFS{}, abs, err
}

// writeFile makes a file below a fresh directory and returns its path.
func writeFile(t testing.TB, name string, data []byte) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(p, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// tree makes files below a fresh directory and gives its path.
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
	for _, s := range say {
		if err == nil || !strings.Contains(err.Error(), s) {
			t.Errorf("%s: error %v does not say %q", what, err, s)
		}
	}
}

// wantRefused is wantError for what is no input, which callers know by ErrSelection.
func wantRefused(t *testing.T, what string, err error, say ...string) {
	t.Helper()
	if !errors.Is(err, ErrSelection) {
		t.Errorf("%s: error %v is no ErrSelection", what, err)
	}
	wantError(t, what, err, say...)
}
