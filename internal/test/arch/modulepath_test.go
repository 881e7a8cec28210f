package arch

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSetModulePath gives a copy of the module another path. Afterwards every import resolves to a package, and no
// import has the old path.
func TestSetModulePath(t *testing.T) {
	const path = "git.example.org/data-team/bulkload.v2"
	dir := t.TempDir()
	list, err := exec.CommandContext(t.Context(), "git", "-C", root, "ls-files", "-z").Output()
	if err != nil {
		t.Skip("not a git checkout:", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		if strings.HasPrefix(name, "testdata/") { // which is large, and refers to no package
			continue
		}
		b, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, args, err, out)
		}
		return string(bytes.TrimSpace(out))
	}
	run("git", "init", "-q")
	run("git", "add", "-A")
	run("scripts/set-module-path", path)
	if got := run("go", "list", "-m"); got != path {
		t.Errorf("the module is %s", got)
	}
	old := modulePath(t, root)
	for _, imported := range strings.Fields(run("go", "list", "-deps", "-test", "./...")) {
		if strings.HasPrefix(imported, old+"/") {
			t.Errorf("%s is imported", imported)
		}
	}
	if out, err := exec.CommandContext(t.Context(), filepath.Join(dir, "scripts", "set-module-path"), "not a path").CombinedOutput(); err == nil {
		t.Errorf("a path with blanks is taken: %s", out)
	}
}
