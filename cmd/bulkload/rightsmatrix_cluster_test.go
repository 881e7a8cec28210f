package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// TestRightsMatrix runs commands as users with single rights: on a table, a family, a column, a namespace. A user who lacks a right gets the
// statement that grants it, before anything is loaded or created. A user with all rights that a command needs succeeds where HBase's client
// succeeds.
func TestRightsMatrix(t *testing.T) {
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
	// The same rows are loaded repeatedly, some with an older timestamp: a compaction must drop none of them before it is verified.
	adm("create", r.table, "--splits", "k5", "--family", "f,g", "--versions", "100")
	for user, grants := range map[string][]string{
		"c": {r.table + " C"}, "rw": {r.table + " RW"}, "rwc": {r.table + " RWC"}, "a": {r.table + " A"}, "ns-c": {"@" + ns + " C"}, "ns-rwc": {"@" + ns + " RWC"},
		"c-rf": {r.table + " C", r.table + "/f R"}, "c-rfg": {r.table + " C", r.table + "/f R", r.table + "/g R"}, "c-rcol": {r.table + " C", r.table + "/f R", r.table + "/g/w R"},
		"r-cf": {r.table + " R", r.table + "/f C"},
	} {
		for _, g := range grants {
			on, letters, _ := strings.Cut(g, " ")
			adm("grant", on, r.user(user), letters)
		}
	}
	dir := t.TempDir()
	input, job, files := filepath.Join(dir, "in.csv"), filepath.Join(dir, "job.yaml"), filepath.Join(dir, "files")
	testcheck.Must(t, os.WriteFile(input, []byte("id,v,w\nk1,a,b\nk7,c,d\n"), 0o644))
	yaml := "table: " + r.table + "\nfamily: f\nkey: id\ncells:\n  - column: v\n  - {column: w, family: g}\n"
	testcheck.Must(t, os.WriteFile(job, []byte(yaml), 0o644))
	testcheck.Must(t, os.WriteFile(job+".replace", []byte(yaml+"replace: true\n"), 0o644))
	if code, out := r.as(t, "rwc", []string{"build", "--job", job, "--input", input, "--out", files}); code != 0 {
		t.Fatal(out)
	}
	create, read, admin := "grant '{USER}', 'RWC', '"+r.table+"'", "grant '{USER}', 'R', '"+r.table, "grant '{USER}', 'A', '"+r.table+"'"
	readTable, readG, namespace := read+"'", read+"', 'g'", "grant '{USER}', 'C', '@"+ns+"'"
	reading := map[string]string{"c": readTable, "rw": create, "rwc": "", "a": readTable, "ns-c": readTable, "ns-rwc": "", "c-rf": readG, "c-rfg": "", "c-rcol": readG, "r-cf": create}
	run, fresh := []string{"run", "--job", job, "--input", input, "--staging", "{STAGING}"}, ns+":new_{NAME}"
	for _, x := range []struct {
		name  string
		args  []string
		needs map[string]string // by user: the statement in the message, empty if the command succeeds
	}{
		{"check", []string{"check", "--job", job, "--input", input}, reading},
		{"run", run, reading},
		{"run unverified", append(run, "--verify", "off"), map[string]string{"c": "", "rw": create, "a": "", "ns-c": "", "c-rf": "", "r-cf": create}},
		{"load", []string{"load", files, "--table", r.table, "--verify", "full", "--staging", "{STAGING}"}, reading},
		{"snapshot", append(run, "--verify", "off", "--snapshot", "s_{NAME}"), map[string]string{"c": admin, "a": "", "ns-c": admin}},
		{"check replacing", []string{"check", "--job", job + ".replace", "--input", input}, map[string]string{"rwc": admin, "a": readTable, "ns-rwc": admin, "hbase": ""}},
		{"replace", append(run, "--replace"), map[string]string{"rwc": admin, "a": readTable, "hbase": ""}},
		{"replace by a new table", append(run, "--replace", "--into", fresh), map[string]string{"rwc": admin, "a": namespace, "ns-c": admin, "ns-rwc": admin}},
		{"fill a new table", append(run, "--replace", "--max-deletes", "100%", "--into", fresh), map[string]string{"c": namespace, "rwc": namespace, "a": namespace, "ns-c": "", "rw": create}},
		{"create a table", []string{"table", "create", fresh, "--splits", "salt:2"}, map[string]string{"c": namespace, "rwc": namespace, "a": namespace, "ns-c": ""}},
	} {
		for user, statement := range x.needs {
			t.Run(x.name+" as "+user, func(t *testing.T) {
				name := testcheck.Name(t)
				code, out := r.as(t, user, strings.Split(strings.ReplaceAll(strings.Join(x.args, "\n"), "{NAME}", name), "\n"))
				if statement = strings.ReplaceAll(statement, "{USER}", r.user(user)); statement == "" {
					if code != 0 {
						t.Errorf("exit %d: %s", code, out)
					}
					return
				}
				if code != 3 || !strings.Contains(out, statement) || strings.Contains(out, "phase=load") {
					t.Errorf("exit %d, want 3 and %s: %s", code, statement, out)
				}
				if adm("exists", ns+":new_"+name) != "false" {
					t.Error("a table was made")
				}
			})
		}
	}
	// HBase's own client needs the same rights to create a table.
	for user, may := range map[string]bool{"ns-c": true, "rwc": false} {
		a, err := c.AdminSimple(t.Context(), r.user(user))
		testcheck.Must(t, err)
		if _, err := a.Run(t.Context(), "create", ns+":java_"+strings.ReplaceAll(user, "-", "_")); (err == nil) != may {
			t.Errorf("HBase's client as %s: %v", user, err)
		}
	}
}
