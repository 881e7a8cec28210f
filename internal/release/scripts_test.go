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
[ "$1" != try-restart ] || exit 1 # the service is broken
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

// run runs a script of the packages with arguments of dpkg or rpm, and returns the calls of the stand-ins.
func (s *systemdTree) run(name string, args ...string) string {
	s.t.Helper()
	b, err := packaging.ReadFile("packaging/" + name)
	if err != nil {
		s.t.Fatal(err)
	}
	script := strings.NewReplacer(" /etc/", " "+s.root+"/etc/", " /run/", " "+s.root+"/run/").Replace(string(b))
	cmd := exec.CommandContext(s.t.Context(), "sh", append([]string{"-c", script, name}, args...)...)
	cmd.Env = []string{"ROOT=" + s.root, "PATH=" + s.root + "/bin:/usr/bin:/bin"}
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		s.t.Errorf("%s %q: %v: %s", name, args, err, out)
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

// TestInstallationKeepsModes checks that the directory of the configuration gets its group and mode at the first installation only, so that an upgrade
// keeps what the administrator has set, and that an upgrade needs neither the files nor a service that starts. rpm resets its own files at each upgrade, so they get theirs again.
func TestInstallationKeepsModes(t *testing.T) {
	const own, jobs, environment = "chmod 0750 ROOT/etc/bulkload\n", "chmod 0750 ROOT/etc/bulkload/jobs\n", "chmod 0640 ROOT/etc/bulkload/environment\n"
	for _, c := range []struct {
		args string // dpkg's and rpm's words
		gone string // what the administrator has removed
		want string
	}{
		{"configure ", "", own + jobs + environment}, {"1", "", own + jobs + environment},
		{"configure 0.1.0", "", ""}, {"configure 0.1.0", "environment", ""}, {"abort-upgrade 0.2.0", "", ""},
		{"2", "", jobs + environment}, {"2", "environment", jobs}, {"configure ", "jobs", own + environment},
	} {
		s := newSystemdTree(t)
		if err := os.MkdirAll(filepath.Join(s.root, "etc/bulkload/jobs"), 0o755); err != nil {
			t.Fatal(err)
		}
		files := map[string]string{"etc/bulkload/environment": "", "bin/getent": "#!/bin/sh\n", "bin/install": "#!/bin/sh\n"}
		files["bin/chmod"] = "#!/bin/sh\n" + `echo "chmod $*" >>"$ROOT/calls"; shift; exec ls -d "$@" >/dev/null` + "\n"
		files["bin/chgrp"] = "#!/bin/sh\n" + `shift; exec ls -d "$@" >/dev/null` + "\n"
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(s.root, name), []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if c.gone != "" {
			if err := os.RemoveAll(filepath.Join(s.root, "etc/bulkload", c.gone)); err != nil {
				t.Fatal(err)
			}
		}
		got := ""
		for line := range strings.Lines(s.run("postinstall.sh", strings.Split(c.args, " ")...)) {
			if strings.HasPrefix(line, "chmod ") {
				got += strings.ReplaceAll(line, s.root, "ROOT")
			}
		}
		if got != c.want {
			t.Errorf("%q without %q: %q, want %q", c.args, c.gone, got, c.want)
		}
	}
}

// TestCronFits checks that the user of cron's example is the one that the packages make, whose job files and state it may read and write.
func TestCronFits(t *testing.T) {
	b, err := packaging.ReadFile("packaging/sysusers.conf")
	if err != nil {
		t.Fatal(err)
	}
	user := strings.Fields(string(b)) // u NAME - "NAME" HOME
	crontab := string(read(t, "../../examples/cron/bulkload"))
	if !strings.Contains(crontab, "\nBULKLOAD_STATE="+user[4]+"\n") {
		t.Errorf("the state is not in %s", user[4])
	}
	for _, text := range []string{crontab, string(read(t, "../../docs/operations.md"))} {
		jobs := 0
		for line := range strings.Lines(text) {
			fields := strings.Fields(line)
			if len(fields) < 7 || fields[6] != "bulkload" || strings.HasPrefix(line, "#") {
				continue
			}
			if jobs++; fields[5] != user[1] || !strings.Contains(line, " --job /etc/bulkload/") {
				t.Error(line)
			}
		}
		if jobs == 0 {
			t.Error("no line runs a job")
		}
	}
}
