package release

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A systemdTree is a root directory with enabled units, and a stand-in for systemctl.
type systemdTree struct {
	t    *testing.T
	root string
}

// newSystemdTree enables the units. Its systemctl records its arguments, and disables as the real one does: by the unit's name, never by a pattern.
func newSystemdTree(t *testing.T, enabled ...string) *systemdTree {
	t.Helper()
	s := &systemdTree{t, t.TempDir()}
	for _, dir := range []string{"run/systemd/system", "bin"} {
		if err := os.MkdirAll(filepath.Join(s.root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range enabled {
		link := filepath.Join(s.root, "etc/systemd/system", name)
		if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("/usr/lib/systemd/system/"+filepath.Base(name), link); err != nil {
			t.Fatal(err)
		}
	}
	const systemctl = `#!/bin/sh
echo "$*" >>"$ROOT/calls"
if [ "$1" = disable ]; then
  for unit; do
    case "$unit" in
    *'*'*) echo "Glob pattern passed to disable, but globs are not supported for this." >&2 ;;
    bulkload*) rm -f "$ROOT"/etc/systemd/system/*.wants/"$unit" ;;
    esac
  done
fi
`
	if err := os.WriteFile(filepath.Join(s.root, "bin/systemctl"), []byte(systemctl), 0o755); err != nil {
		t.Fatal(err)
	}
	return s
}

// run runs a script of the packages with an argument of dpkg or rpm, and returns the calls of systemctl.
func (s *systemdTree) run(name, arg string) string {
	s.t.Helper()
	b, err := packaging.ReadFile("packaging/" + name)
	if err != nil {
		s.t.Fatal(err)
	}
	script := strings.NewReplacer(" /etc/", " "+s.root+"/etc/", " /run/", " "+s.root+"/run/").Replace(string(b))
	cmd := exec.CommandContext(s.t.Context(), "sh", "-c", script, name, arg)
	cmd.Env = []string{"ROOT=" + s.root, "PATH=" + s.root + "/bin:/usr/bin:/bin"}
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		s.t.Errorf("%s %s: %v: %s", name, arg, err, out)
	}
	calls, err := os.ReadFile(filepath.Join(s.root, "calls"))
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	return string(calls)
}

// TestRemovalDisablesTimers checks that the removal of a package, and no upgrade, stops all timers of jobs and disables them by their names.
func TestRemovalDisablesTimers(t *testing.T) {
	const check, other = "timers.target.wants/bulkload@check.timer", "multi-user.target.wants/bulkload@a\\x2db.timer"
	for _, c := range []struct {
		arg     string // dpkg's and rpm's words
		removes bool
	}{{"remove", true}, {"0", true}, {"upgrade", false}, {"1", false}} {
		s := newSystemdTree(t, check, other, "timers.target.wants/apt.timer")
		calls := s.run("preremove.sh", c.arg)
		if stopped := strings.Contains(calls, "stop bulkload@*.timer\n"); stopped != c.removes {
			t.Errorf("%s: %s", c.arg, calls)
		}
		for name, goes := range map[string]bool{check: c.removes, other: c.removes, "timers.target.wants/apt.timer": false} {
			if _, err := os.Lstat(filepath.Join(s.root, "etc/systemd/system", name)); os.IsNotExist(err) != goes {
				t.Errorf("%s: %s: %v after %s", c.arg, name, err, calls)
			}
		}
	}
	if calls := newSystemdTree(t).run("preremove.sh", "remove"); strings.Count(calls, "disable") != 1 {
		t.Errorf("without timers: %s", calls)
	}
}
