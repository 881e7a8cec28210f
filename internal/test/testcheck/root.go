package testcheck

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

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
