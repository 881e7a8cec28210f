package arch

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"bulkload/internal/test/testcheck"
)

// TestSetLicence sets one licence and then another for a small module: Go files have the identifier once, before
// everything else.
func TestSetLicence(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script, err := os.ReadFile(filepath.Join(root, "scripts", "set-licence"))
	testcheck.Must(t, err)
	testcheck.Must(t, os.Mkdir(filepath.Join(dir, "scripts"), 0o755))
	testcheck.Must(t, os.WriteFile(filepath.Join(dir, "scripts", "set-licence"), script, 0o755))
	const doc, tagged = "// Package a is one.\npackage a\n", "//go:build linux\n\npackage a\n"
	for name, text := range map[string]string{"a.go": doc, "b.go": tagged, "README.md": "no Go\n", "MIT.txt": "Permission\n\n", "Apache.txt": "Apache\n"} {
		testcheck.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("git: %v %s", err, out)
		}
	}
	set := func(args ...string) error {
		cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "scripts", "set-licence"), args...)
		cmd.Dir = dir
		return cmd.Run()
	}
	for _, c := range []struct{ id, file, text string }{{"MIT", "MIT.txt", "Permission\n"}, {"Apache-2.0", "Apache.txt", "Apache\n"}} {
		testcheck.Must(t, set(c.id, c.file))
		for name, want := range map[string]string{"a.go": "// SPDX-License-Identifier: " + c.id + "\n\n" + doc, "b.go": "// SPDX-License-Identifier: " + c.id + "\n\n" + tagged,
			"README.md": "no Go\n", "LICENSE": c.text} {
			if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != want {
				t.Errorf("%s: %s is %q, want %q, %v", c.id, name, b, want, err)
			}
		}
	}
	for _, args := range [][]string{{"MIT"}, {"M I T", "MIT.txt"}, {"MIT", "none.txt"}} {
		if set(args...) == nil {
			t.Errorf("%q is taken", args)
		}
	}
}
