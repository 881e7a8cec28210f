package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"bulkload": main})
}

// TestScripts runs the program like a user, and checks its output and exit codes. With the race detector, which makes the start of a program four
// times as expensive, it runs only the scripts in which the command's own goroutines work: they write the report, the result, rejected records, and
// telemetry.
func TestScripts(t *testing.T) {
	root := jobtest.Absolute(t, "../..")
	scripts, err := filepath.Glob("testdata/*.txtar")
	testcheck.Must(t, err)
	if race.On && race.Reduced(t) {
		scripts = nil
		for _, name := range []string{"build", "reading", "rejects", "result", "streams", "telemetry"} {
			scripts = append(scripts, filepath.Join("testdata", name+".txtar"))
		}
	}
	testscript.Run(t, testscript.Params{
		Files: scripts,
		Setup: func(e *testscript.Env) error {
			e.Setenv("ROOT", root)
			e.Setenv("NL", "\n")
			e.Setenv("HADOOP_CONF_DIR", "")
			e.Setenv("HBASE_CONF_DIR", "")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exitcode":    exitcode,
			"mistake":     mistake,
			"validresult": validresult,
		},
	})
}

// clusterConf returns the configuration of the cluster that [testcluster.EnvConf] names, else of one that lasts as
// long as the test.
func clusterConf(t *testing.T) string {
	t.Helper()
	if conf := os.Getenv(testcluster.EnvConf); conf != "" {
		return conf
	}
	return testcluster.Own(t, testcluster.Options{}).ConfDir()
}

// TestClusterScripts runs the program on the test cluster, with a table for each script.
func TestClusterScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the test cluster, which -short leaves out")
	}
	conf := clusterConf(t)
	root := jobtest.Absolute(t, "../..")
	// Scripts kill the program after a record of its journal, which requires a program built with this tag.
	bin := filepath.Dir(jobtest.Program(t))
	testscript.Run(t, testscript.Params{
		Dir: "testdata/cluster",
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", bin+string(filepath.ListSeparator)+e.Getenv("PATH"))
			name := "script" + testcheck.Name(t)
			e.Setenv("HADOOP_CONF_DIR", conf)
			e.Setenv("HBASE_CONF_DIR", conf)
			e.Setenv("ROOT", root)
			e.Setenv("NAME", name)
			e.Setenv("TABLE", "test:"+name)
			e.Defer(func() { dropTable(t, conf, name) })
			e.Defer(func() { dropTable(t, conf, name+"_like") })
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exitcode":    exitcode,
			"mistake":     mistake,
			"nextpage":    nextpage,
			"validresult": validresult,
			"lockedby":    lockedby,
			"droptable": func(ts *testscript.TestScript, _ bool, suffix []string) {
				dropTable(t, conf, ts.Getenv("NAME")+strings.Join(suffix, ""))
			},
		},
	})
}

func dropTable(t *testing.T, dir, name string) {
	conf, err := hdfsio.LoadConf(func(key string) (string, bool) { return dir, key == "HADOOP_CONF_DIR" || key == "HBASE_CONF_DIR" })
	if err != nil {
		t.Error(err)
		return
	}
	ctx := context.WithoutCancel(t.Context())
	c, err := loader.Dial(ctx, loader.Config{Quorum: conf.Quorum(), Root: conf.Znode(), EffectiveUser: "hbase"}, nil)
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	if err := c.DeleteTable(ctx, loader.TableName{Namespace: "test", Qualifier: name}); err != nil && !errors.Is(err, loader.ErrTableNotFound) {
		t.Error(err)
	}
}

// nextpage sets PAGE to the token that the last command ended with.
func nextpage(ts *testscript.TestScript, neg bool, args []string) {
	_, token, ok := strings.Cut(ts.ReadFile("stderr"), "--page ")
	if neg || len(args) > 0 || !ok {
		ts.Fatalf("usage: nextpage, behind a command that ended with a page token")
	}
	ts.Setenv("PAGE", strings.TrimSpace(token))
}

// exitcode CODE COMMAND… runs a command and checks its exit code.
func exitcode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exitcode CODE COMMAND…")
	}
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		e, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		code = e.ExitCode()
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code is %d, want %s", code, args[0])
	}
}

// lockedby DIR CODE COMMAND… runs a command while the lock of a job's directory is held.
func lockedby(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: lockedby DIR CODE COMMAND…")
	}
	dirs, err := filepath.Glob(ts.MkAbs(args[0]))
	if err != nil || len(dirs) != 1 {
		ts.Fatalf("%s is %q, %v", args[0], dirs, err)
	}
	f, err := os.OpenFile(filepath.Join(dirs[0], "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	ts.Check(err)
	defer f.Close()
	ts.Check(unix.Flock(int(f.Fd()), unix.LOCK_EX))
	exitcode(ts, false, args[1:])
}
