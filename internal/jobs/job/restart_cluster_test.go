package job

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/journal"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// restarts is a job that is done, which is restarted where something that it needs is missing.
type restarts struct {
	*testing.T
	state string
	admin *testcluster.Admin
}

// do has the admin client do something.
func (r *restarts) do(args ...string) {
	r.Helper()
	_, err := r.admin.Run(r.Context(), args...)
	testcheck.Must(r, err)
}

// keeps looks at an error of a restart, after which the journal is as it was.
func (r *restarts) keeps(done *result.Result, restart func() error, kind fail.Kind, says string) {
	r.Helper()
	name := filepath.Join(done.Job, journal.FileName)
	before, err := os.ReadFile(name)
	testcheck.Must(r, err)
	if err := restart(); fail.KindOf(err) != kind || !strings.Contains(err.Error(), says) {
		r.Errorf("kind %d, %v, want %q", fail.KindOf(err), err, says)
	}
	if after, err := os.ReadFile(name); err != nil || string(after) != string(before) {
		r.Errorf("%s: the journal is %s, %v; it was %s", says, after, err, before)
	}
}

// TestRestartLooksFirst checks that a restart keeps the journal if the table or the input is missing, the input has other columns, or a check before the
// job refuses it: without the journal the load could not be undone.
func TestRestartLooksFirst(t *testing.T) {
	t.Parallel()
	servers := testcluster.Shared(t)
	env, r := jobtest.ClusterEnv(t, servers), &restarts{t, t.TempDir(), servers.AdminT(t)}
	table := jobtest.FreshTable(t, env, 2, nil)
	text := []byte("id,v\n1,2\n")
	in := filepath.Join(t.TempDir(), "in.csv")
	testcheck.Must(t, os.WriteFile(in, text, 0o600))
	run := func(restart bool, input string, stdin *os.File) (*result.Result, error) {
		s := jobtest.Resolve(t, spec.Spec{Table: table, Key: "id", Inputs: []string{input}})
		return Run(t.Context(), env, s, RunOptions{State: checkpoint.Options{Dir: r.state, Restart: restart}, WorkOptions: build.WorkOptions{Stdin: stdin}})
	}
	fromFile, err := run(false, in, nil)
	testcheck.Must(t, err)
	from, to, err := os.Pipe()
	testcheck.Must(t, err)
	_, err = to.Write(text)
	testcheck.Must(t, err)
	testcheck.Must(t, to.Close())
	fromPipe, err := run(false, "-", from)
	testcheck.Must(t, err)
	dir := t.TempDir()
	_, err = build.Directory(t.Context(), env, jobtest.Resolve(t, spec.Spec{Table: table, Key: "id", Inputs: []string{in}}), jobtest.Family, nil, dir, build.WorkOptions{})
	testcheck.Must(t, err)
	load := func(restart bool) (*result.Result, error) {
		return LoadDir(t.Context(), env, table, dir, LoadOptions{RunOptions: RunOptions{State: checkpoint.Options{Dir: r.state, Restart: restart}}, Verify: "full"})
	}
	loaded, err := load(false)
	testcheck.Must(t, err)

	again := func() error { _, err := run(true, in, nil); return err }
	testcheck.Must(t, os.WriteFile(in, []byte("other,v\n1,2\n"), 0o600))
	r.keeps(fromFile, again, fail.Config, "id")
	testcheck.Must(t, os.WriteFile(in, text, 0o600))
	absent := filepath.Join(t.TempDir(), "absent")
	r.keeps(fromFile, func() error {
		s := jobtest.Resolve(t, spec.Spec{Table: table, Key: "id", Inputs: []string{in}})
		_, err := Run(t.Context(), env, s, RunOptions{State: checkpoint.Options{Dir: r.state, Restart: true}, WorkOptions: build.WorkOptions{SpillDir: absent}})
		return err
	}, fail.Check, absent)
	testcheck.Must(t, os.Rename(in, in+".away"))
	r.keeps(fromFile, again, fail.Input, "in.csv")
	testcheck.Must(t, os.Rename(in+".away", in))
	null, err := os.Open(os.DevNull)
	testcheck.Must(t, err)
	r.keeps(fromPipe, func() error { _, err := run(true, "-", null); return err }, fail.Input, "standard input has no data")
	testcheck.Must(t, null.Close())
	for _, change := range []string{"disable", "drop"} {
		r.do(change, table)
		says := map[string]string{"disable": "DISABLED", "drop": "does not exist"}[change]
		r.keeps(fromFile, again, fail.Check, says)
		r.keeps(loaded, func() error { _, err := load(true); return err }, fail.Check, says)
	}
	r.do("create", table)
	if d, err := run(true, in, nil); err != nil || d.Already {
		t.Errorf("with all of it: %+v, %v", d, err)
	}
}
