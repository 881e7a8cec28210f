package testcheck

import (
	"bytes"
	"context"
	"fmt"
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

// Path returns the absolute path of a file or directory of the module, for tests of any package.
func Path(t testing.TB, below ...string) string {
	t.Helper()
	root, err := Root()
	Must(t, err)
	return filepath.Join(append([]string{root}, below...)...)
}

// Root returns the directory of the module that contains the working directory. A nested module has another name.
func Root() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		b, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if line, _, _ := bytes.Cut(b, []byte("\n")); err == nil && !bytes.Contains(line, []byte("/internal/")) && bytes.HasPrefix(line, []byte("module ")) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not in the module", wd)
		}
	}
}
