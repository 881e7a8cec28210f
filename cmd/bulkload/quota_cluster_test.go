package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// limited is a table with a space quota and a job that has loaded it.
type limited struct {
	*rights
	t     *testing.T
	ns    string
	dir   string // with the input, and HFiles of it
	state string
	job   string
}

func newLimited(t *testing.T) *limited {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a cluster with quotas, which -short leaves out")
	}
	ns := testcheck.Name(t)
	l := &limited{rights: &rights{cluster: testcluster.Own(t, testcluster.Guarded()), table: ns + ":t"}, t: t, ns: ns, dir: t.TempDir(), state: t.TempDir()}
	l.adm("create", l.table, "--splits", "k5")
	l.adm("create", ns+":other", "--splits", "k5")
	testcheck.Must(t, os.WriteFile(l.input(), []byte("id,v\nk1,a\nk7,c\n"), 0o644))
	out := l.does(0, "", "run", "--table", l.table, "--key", "id", "--input", l.input(), "--snapshot", ns+"-before", "--output", "json", "--log-level", "error")
	var job struct{ Job string }
	testcheck.Must(t, json.Unmarshal([]byte(out), &job))
	l.job = filepath.Base(job.Job)
	l.does(0, "", "build", "--table", l.table, "--key", "id", "--input", l.input(), "--out", filepath.Join(l.dir, "files"))
	return l
}

func (l *limited) input() string { return filepath.Join(l.dir, "in.csv") }

func (l *limited) adm(args ...string) string {
	l.t.Helper()
	out, err := l.cluster.AdminT(l.t).Run(l.t.Context(), args...)
	testcheck.Must(l.t, err)
	return out
}

// does runs a command, and checks its exit code and what it says.
func (l *limited) does(code int, says string, args ...string) string {
	l.t.Helper()
	if args[0] != "build" && args[0] != "check" {
		args = append(args, "--state", l.state)
	}
	got, out := l.as(l.t, "hbase", args)
	if got != code || !strings.Contains(out, says) {
		l.t.Errorf("%s: exit %d, want %d and %q: %s", strings.Join(args, " "), got, code, says, out)
	}
	return out
}

// useUp sets a quota that is used up, and waits until HBase has reported it in the row of the table.
func (l *limited) useUp(on, policy, report string) {
	l.t.Helper()
	l.adm("quota", on, "10", policy)
	testcheck.Eventually(l.t, time.Minute, "a report of a violated quota", func() (bool, any) {
		rows := l.adm("scan", "hbase:quota")
		return strings.Contains(rows, "t."+l.table+"\tu:p\t") && strings.Contains(rows, report), rows
	})
}

// refused runs every command that loads the table: each names the quota before it writes.
func (l *limited) refused(quota, to string) {
	l.t.Helper()
	says := "the space quota of " + quota + " is used up"
	l.does(3, says, "check", "--table", l.table, "--key", "id", "--input", l.input())
	l.does(3, says, "undo", "--job", l.job)
	l.does(3, says, "load", filepath.Join(l.dir, "files"), "--table", l.table)
	l.does(3, says, "compare", l.ns+":other", l.table, "--repair-b")
	l.does(3, says, "rekey", "--from", l.ns+":other", "--to", to, "--key", "v")
	if out := l.does(0, l.job, "status"); strings.Contains(out, "undo") {
		l.t.Errorf("status: %s", out)
	}
}

// TestQuotaUsedUp refuses commands that would load a table whose space quota is used up, before anything is written. A snapshot is restored whatever
// the quota says, unless HBase has disabled the table.
func TestQuotaUsedUp(t *testing.T) {
	t.Parallel()
	l := newLimited(t)
	l.useUp(l.table, "NO_INSERTS", `\x08\x04\x10\x01`)
	l.refused("table "+l.table, l.table)
	l.useUp(l.table, "NO_WRITES_COMPACTIONS", `\x08\x02\x10\x01`)
	l.refused("table "+l.table, l.table)
	l.does(0, "", "undo", "--job", l.job, "--by", "snapshot", "--into", l.ns+":made")
	l.does(0, "", "undo", "--job", l.job, "--by", "snapshot")
}

// TestQuotaDisables names the quota by which HBase has disabled a table, which can not be enabled.
func TestQuotaDisables(t *testing.T) {
	t.Parallel()
	l := newLimited(t)
	l.useUp(l.table, "DISABLE", `\x08\x01\x10\x01`)
	l.refused("table "+l.table, l.table)
	l.does(3, "the space quota of table "+l.table, "undo", "--job", l.job, "--by", "snapshot")
}

// TestQuotaOfNamespace finds the quota of a namespace, which also holds for a table that does not exist yet.
func TestQuotaOfNamespace(t *testing.T) {
	t.Parallel()
	l := newLimited(t)
	l.useUp("@"+l.ns, "NO_WRITES", `\x08\x03\x10\x01`)
	l.refused("namespace "+l.ns, l.ns+":new")
	l.does(3, "the space quota of namespace "+l.ns, "run", "--table", l.table, "--key", "id", "--input", l.input(), "--replace", "--into", l.ns+":new")
	if l.adm("exists", l.ns+":new") != "false" {
		t.Error("a table was made")
	}
}
