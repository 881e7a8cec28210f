package callers

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
)

// TestSystemdUnits checks the units with systemd, with the program at the path that they name.
func TestSystemdUnits(t *testing.T) {
	if testing.Short() {
		t.Skip("needs systemd and the built program")
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	dir := t.TempDir()
	for _, name := range []string{"bulkload@.service", "bulkload@.timer"} {
		b, err := os.ReadFile(root + "/examples/systemd/" + name)
		if err != nil {
			t.Fatal(err)
		}
		unit := strings.ReplaceAll(string(b), "/usr/local/bin/bulkload", filepath.Join(program(t), "bulkload"))
		// There are no manual pages here; verify looks for them with man.
		unit = regexp.MustCompile(`(?m)^Documentation=.*\n`).ReplaceAllString(unit, "")
		if err := os.WriteFile(filepath.Join(dir, name), []byte(unit), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// The additional settings of a secured cluster.
	secured, err := os.ReadFile(root + "/examples/systemd/secured.conf")
	if err != nil {
		t.Fatal(err)
	}
	dropIn := filepath.Join(dir, "bulkload@.service.d")
	if err := errors.Join(os.Mkdir(dropIn, 0o755), os.WriteFile(filepath.Join(dropIn, "secured.conf"), secured, 0o644)); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (string, error) {
		out, err := exec.CommandContext(t.Context(), analyze, args...).CombinedOutput()
		return string(out), err
	}
	for _, name := range []string{"bulkload@.service", "bulkload@.timer"} {
		out, err := run("verify", "--man=no", filepath.Join(dir, name))
		// Units of the machine that verify also loads may have errors of their own.
		if err != nil || strings.Contains(out, "bulkload") {
			t.Errorf("verify %s: %v: %s", name, err, out)
		}
	}
	timer, err := os.ReadFile(filepath.Join(dir, "bulkload@.timer"))
	if err != nil {
		t.Fatal(err)
	}
	calendar := regexp.MustCompile(`(?m)^OnCalendar=(.*)$`).FindSubmatch(timer)
	if calendar == nil {
		t.Fatal("the timer has no OnCalendar")
	}
	out, err := run("calendar", "--iterations=2", string(calendar[1]))
	if err != nil || strings.Count(out, "18:30:00 UTC") != 2 { // half past two in Shanghai
		t.Errorf("calendar %s: %v: %s", calendar[1], err, out)
	}
	// 0 is the least exposed, 10 the most; above 2 a setting that confines the service is missing.
	out, err = run("security", "--offline=true", "--threshold=20", "--no-pager", filepath.Join(dir, "bulkload@.service"))
	if lines := strings.Split(strings.TrimSpace(out), "\n"); err != nil {
		t.Errorf("security: %v: %s", err, out)
	} else {
		t.Log(lines[len(lines)-1])
	}
}

// TestZones checks that the examples start a night and count its date in one time zone: otherwise yesterday may be another day than the night's.
func TestZones(t *testing.T) {
	for _, c := range []struct{ starts, counts, in string }{
		{"systemd/bulkload@.timer", "systemd/bulkload@.service", `(?m)^OnCalendar=.* (\S+/\S+)$|^Environment=TZ=(\S+)$`},
		{"kubernetes/cronjob.yaml", "kubernetes/cronjob.yaml", `(?m)^  timeZone: (\S+)$|--time-zone=(\S+)`},
		{"airflow/nightly_bash.py", "airflow/nightly_bash.py", `tz="(.*?)"|in_timezone\('(.*?)'\)`},
		{"airflow/nightly_operator.py", "airflow/nightly_operator.py", `tz="(.*?)"|in_timezone\('(.*?)'\)`},
		{"airflow/shares_bash.py", "airflow/shares_bash.py", `tz="(.*?)"|in_timezone\('(.*?)'\)`},
	} {
		zone := func(file string, group int) string {
			b, err := os.ReadFile(root + "/examples/" + file)
			testcheck.Must(t, err)
			for _, m := range regexp.MustCompile(c.in).FindAllStringSubmatch(string(b), -1) {
				if m[group] != "" {
					return m[group]
				}
			}
			return ""
		}
		if starts, counts := zone(c.starts, 1), zone(c.counts, 2); starts == "" || starts != counts {
			t.Errorf("%s starts in %q, %s counts days in %q", c.starts, starts, c.counts, counts)
		}
	}
}
