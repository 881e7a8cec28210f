package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// TestRightsOfRestore checks that a user who took the snapshot needs ADMIN on the table to restore it, and on the namespace for a new table; another
// user does not see the snapshot. Each gets the error before the table is disabled, and HBase agrees where the right is granted.
func TestRightsOfRestore(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs a cluster with access control, which -short leaves out")
	}
	c := testcluster.Own(t, testcluster.Guarded())
	ns := testcheck.Name(t)
	r := &rights{cluster: c, table: ns + ":t", users: strings.ToLower(ns) + "-"}
	adm := func(args ...string) string {
		t.Helper()
		out, err := c.AdminT(t).Run(t.Context(), args...)
		testcheck.Must(t, err)
		return out
	}
	adm("create", r.table)
	adm("grant", r.table, r.user("a"), "A")
	adm("grant", r.table, r.user("other"), "RWCA")
	empty := adm("digest", r.table)
	input, state := filepath.Join(t.TempDir(), "in.csv"), t.TempDir()
	testcheck.Must(t, os.WriteFile(input, []byte("id,v\nk1,a\nk7,c\n"), 0o644))
	code, out := r.as(t, "a", []string{"run", "--table", r.table, "--key", "id", "--input", input, "--staging", "{STAGING}", "--verify", "off", "--state", state, "--snapshot", ns + "-before", "--output", "json", "--log-level", "error"})
	if code != 0 {
		t.Fatal(out)
	}
	var job struct{ Job string }
	testcheck.Must(t, json.Unmarshal([]byte(out), &job))
	loaded := adm("digest", r.table)
	undo := []string{"undo", "--job", filepath.Base(job.Job), "--state", state, "--by", "snapshot"}
	refused := func(user string, code int, says string, more ...string) {
		t.Helper()
		got, out := r.as(t, user, append(undo, more...))
		if got != code || !strings.Contains(out, says) || adm("digest", r.table) != loaded {
			t.Errorf("%s: exit %d, want %d and %s: %s", user, got, code, says, out)
		}
	}
	refused("other", 5, "this user may not see it")
	refused("a", 3, "grant '"+r.user("a")+"', 'R', '"+r.table+"'", "--verify", "range")
	refused("a", 3, "grant '"+r.user("a")+"', 'A', '@"+ns+"'", "--into", ns+":new")
	adm("grant", r.table, r.user("a"), "RW")
	refused("a", 3, "grant '"+r.user("a")+"', 'A', '"+r.table+"'")
	adm("grant", r.table, r.user("a"), "A")
	adm("grant", "@"+ns, r.user("a"), "A")
	if code, out := r.as(t, "a", append(undo, "--into", ns+":new")); code != 0 || adm("digest", ns+":new") != empty {
		t.Errorf("into a new table: exit %d: %s", code, out)
	}
	if code, out := r.as(t, "a", undo); code != 0 || adm("digest", r.table) != empty {
		t.Errorf("in place: exit %d: %s", code, out)
	}
}
