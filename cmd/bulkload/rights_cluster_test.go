package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// TestRights runs commands as users with exactly the rights on a table that docs/security.md lists, and as users who lack one of them:
// these get an error that names the missing right, before anything is changed.
func TestRights(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs a cluster with access control, which -short leaves out")
	}
	r := newRights(t)
	job, input := testcheck.Path(t, "examples", "check.yaml"), jobtest.Export(t, "check.csv")
	load := []string{"run", "--job", job, "--input", input, "--table", r.table, "--staging", "{STAGING}"}
	for _, c := range []struct {
		name, rights string
		args         []string
		needs        map[string]string // missing right in the message, by the rights of the user
	}{
		{"run", "RC", load, map[string]string{"C": "READ", "R": "CREATE"}},
		{"run without verification", "C", append(load, "--verify", "off"), map[string]string{"R": "CREATE"}},
		{"run with a snapshot", "RCA", append(load, "--snapshot", "{NAME}"), map[string]string{"RC": "ADMIN"}},
		{"replace", "RCA", append(load, "--replace"), map[string]string{"RC": "ADMIN"}},
		{"check", "RC", []string{"check", "--job", job, "--input", input, "--table", r.table}, map[string]string{"R": "CREATE", "C": "READ"}},
		{"plan", "C", []string{"plan", "--job", job, "--input", input, "--table", r.table}, map[string]string{"R": "CREATE"}},
		{"get", "R", []string{"get", "--job", job, "--table", r.table, "A208848994"}, map[string]string{"C": "READ"}},
		{"scan", "R", []string{"scan", "--job", job, "--table", r.table, "--limit", "1"}, map[string]string{"C": "READ"}},
		{"export", "A", []string{"export", r.table, "--job", job, "--format", "csv", "--to", "{DIR}/out"}, map[string]string{"RC": "ADMIN"}},
		{"table as input", "RCA", []string{"run", "--job", job, "--input", "hbase:" + r.table, "--table", r.second, "--staging", "{STAGING}"}, map[string]string{"RC": "ADMIN"}},
		{"table read by scans", "RC", []string{"run", "--job", job, "--input", "hbase:" + r.table, "--read-by", "scan", "--table", r.second, "--staging", "{STAGING}"}, map[string]string{"C": "READ"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for rights, needed := range c.needs {
				code, out := r.as(t, rights, c.args)
				if code != 3 || !strings.Contains(out, "needs the right "+needed) || !strings.Contains(out, "grant '"+r.user(rights)+"', '") {
					t.Errorf("with %s: exit %d: %s", rights, code, out)
				}
			}
			if code, out := r.as(t, c.rights, c.args); code != 0 {
				t.Errorf("with %s: exit %d: %s", c.rights, code, out)
			}
		})
	}
}

// rights are two tables, and users with rights on both.
type rights struct {
	cluster              *testcluster.Cluster
	table, second, users string
}

func newRights(t *testing.T) *rights {
	t.Helper()
	c := testcluster.Own(t, testcluster.Guarded())
	env := jobtest.ClusterEnvAs(t, c, "hbase")
	r := &rights{cluster: c, table: jobtest.FreshTable(t, env, 10, nil), second: jobtest.FreshTable(t, env, 10, nil), users: strings.ToLower(testcheck.Name(t)) + "-"}
	for _, letters := range []string{"R", "C", "A", "RC", "RCA"} {
		for _, table := range []string{r.table, r.second} {
			if out, err := c.AdminT(t).Run(t.Context(), "grant", table, r.user(letters), letters); err != nil {
				t.Fatal(out, err)
			}
		}
	}
	return r
}

// user returns the user with these rights.
func (r *rights) user(letters string) string {
	if letters == "hbase" { // the superuser
		return letters
	}
	return r.users + strings.ToLower(letters)
}

// as runs the program as the user with these rights, and returns its exit code and output.
func (r *rights) as(t *testing.T, letters string, args []string) (code int, out string) {
	t.Helper()
	fill := strings.NewReplacer("{NAME}", testcheck.Name(t), "{DIR}", "file://"+t.TempDir(), "{STAGING}", "/tmp/"+testcheck.Name(t))
	var given []string
	for _, a := range args {
		given = append(given, fill.Replace(a))
	}
	cmd := exec.CommandContext(t.Context(), jobtest.Program(t), given...)
	cmd.Env = append(os.Environ(), "HADOOP_USER_NAME="+r.user(letters), "HADOOP_CONF_DIR="+r.cluster.ConfDir(), "HBASE_CONF_DIR="+r.cluster.ConfDir(),
		"BULKLOAD_STATE="+t.TempDir())
	b, _ := cmd.CombinedOutput()
	return cmd.ProcessState.ExitCode(), string(b)
}

// TestStagingDenied runs commands whose staging directory or target on HDFS their user may not write: each is refused with the exit code of a lack
// that a retry does not end, and its message names the directory.
func TestStagingDenied(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs a cluster, which -short leaves out")
	}
	ns, dir := testcheck.Name(t), t.TempDir()
	r := &rights{cluster: testcluster.Own(t, testcluster.Guarded()), table: ns + ":t", second: ns + ":to", users: ns}
	for _, table := range []string{r.table, r.second} {
		admin := r.cluster.AdminT(t)
		_, err := admin.Run(t.Context(), "create", table)
		for _, user := range []string{"owner", "other"} {
			_, granted := admin.Run(t.Context(), "grant", table, r.user(user), "RWCA")
			err = errors.Join(err, granted)
		}
		testcheck.Must(t, err)
	}
	input, built := filepath.Join(dir, "in.csv"), filepath.Join(dir, "built")
	testcheck.Must(t, os.WriteFile(input, []byte("id,v\nk1,a\n"), 0o644))
	load := []string{"run", "--table", r.table, "--key", "id", "--input", input, "--staging", "/tmp/" + ns}
	for _, args := range [][]string{load, {"build", "--table", r.table, "--key", "id", "--input", input, "--out", built}} {
		if code, out := r.as(t, "owner", args); code != 0 {
			t.Fatalf("%q: exit %d: %s", args, code, out)
		}
	}
	shut := "/tmp/" + ns + "-shut"
	testcheck.Must(t, jobtest.UserFS(t, r.cluster, r.user("owner")).MkdirAll(t.Context(), shut, 0o711))
	for _, args := range [][]string{
		{"run", "--table", r.second, "--key", "id", "--input", input, "--staging", shut},
		{"load", built, "--table", r.second, "--staging", shut},
		{"build", "--table", r.second, "--key", "id", "--input", input, "--out", "hdfs://" + shut + "/files"},
		{"rekey", "--from", r.table, "--to", r.second, "--key", "v", "--staging", shut},
		{"compare", r.table, r.second, "--repair-b", "--staging", shut},
		{"export", r.table, "--format", "csv", "--columns", "f:v", "--to", "hdfs://" + shut + "/files"},
	} {
		if code, out := r.as(t, "other", args); code != 3 || !strings.Contains(out, shut+" belongs to "+r.user("owner")) {
			t.Errorf("%q: exit %d: %s", args, code, out)
		}
	}
}
