package testcheck

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Disk is the local file system in the form that package source reads. Its listings are not in the order of names.
type Disk struct{}

// Open opens a file.
func (Disk) Open(_ context.Context, name string) (fs.File, error) { return os.Open(name) }

// Stat describes a file or directory.
func (Disk) Stat(_ context.Context, name string) (fs.FileInfo, error) { return os.Stat(name) }

// ReadDir lists a directory.
func (Disk) ReadDir(_ context.Context, name string) ([]fs.FileInfo, error) {
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
	slices.Reverse(infos) // so that no caller relies on the order
	return infos, nil
}

// WriteFile writes a file below a fresh directory and returns its path.
func WriteFile(t testing.TB, name string, data []byte) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), name)
	Must(t, os.WriteFile(p, data, 0o600))
	return p
}

// Says fails the test for each text that an error does not contain; what names the case.
func Says(t testing.TB, what string, err error, texts ...string) {
	t.Helper()
	for _, s := range texts {
		if err == nil || !strings.Contains(err.Error(), s) {
			t.Errorf("%s: error %v does not say %q", what, err, s)
		}
	}
}
