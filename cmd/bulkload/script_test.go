package main

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"bulkload": main})
}

// TestScripts runs the program as users do: what it prints, where, and its exit codes.
func TestScripts(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Setenv("ROOT", root)
			e.Setenv("HADOOP_CONF_DIR", "")
			e.Setenv("HBASE_CONF_DIR", "")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exitcode": exitcode,
		},
	})
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
