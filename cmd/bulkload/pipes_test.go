package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/cli/ending"
	"bulkload/internal/test/testcheck"
)

// TestStopWhileAPipeIsAwaited checks that a signal ends a command that waits for the writer of a named pipe, or for what the writer sends.
func TestStopWhileAPipeIsAwaited(t *testing.T) {
	dir := t.TempDir()
	input := testcheck.WriteFile(t, "in.csv", []byte("id\n1\n"))
	for i, args := range []string{
		"run --job PIPE", "build --config PIPE", "build --plan PIPE --share 1/2 --out OUT", "build --inputs-from PIPE --key id --out OUT --splits m",
		"table advise --plan PIPE --table t --key id", "plan --input IN --key id --splits @PIPE --out OUT",
	} {
		for _, writer := range []bool{false, true} {
			pipe := filepath.Join(dir, fmt.Sprintf("pipe%d%v", i, writer))
			testcheck.Must(t, syscall.Mkfifo(pipe, 0o600))
			if writer {
				w, err := os.OpenFile(pipe, os.O_RDWR, 0)
				testcheck.Must(t, err)
				defer w.Close()
			}
			stop := errors.New("stopped")
			ctx, cancel := context.WithCancelCause(t.Context())
			ended := make(chan error, 1)
			go func() {
				g := &globals{out: &ending.Output{Writer: io.Discard}}
				_, err := execute(ctx, g, strings.Fields(strings.NewReplacer("PIPE", pipe, "IN", input, "OUT", dir+"/out").Replace(args)))
				ended <- err
			}()
			cancel(stop)
			testcheck.Eventually(t, time.Minute, "the end of "+args, func() (bool, any) { return len(ended) > 0, nil })
			if err := <-ended; !errors.Is(err, stop) && !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", args, err)
			}
		}
	}
}

// TestResultWithoutReader checks that a build whose standard output nothing reads writes its result file, and is ended by SIGPIPE without an error text.
func TestResultWithoutReader(t *testing.T) {
	result := os.Getenv("BULKLOAD_TEST_UNREAD")
	if result != "" {
		dir := filepath.Dir(result)
		os.Exit(run([]string{"build", "--key", "id", "--input", filepath.Join(dir, "in.csv"), "--out", filepath.Join(dir, "out"), "--result-file", result}))
	}
	result = filepath.Join(t.TempDir(), "result.json")
	testcheck.Must(t, os.WriteFile(filepath.Join(filepath.Dir(result), "in.csv"), []byte("id,v\n1,x\n"), 0o600))
	r, w, err := os.Pipe()
	testcheck.Must(t, errors.Join(err, r.Close()))
	defer w.Close()
	var log strings.Builder
	cmd := exec.Command(os.Args[0], "-test.run=^TestResultWithoutReader$")
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), "BULKLOAD_TEST_UNREAD="+result, "TMPDIR="+t.TempDir()), w, &log
	err = cmd.Run()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGPIPE || strings.Contains(log.String(), "broken pipe") {
		t.Errorf("%v: %s", err, &log)
	}
	line, err := os.ReadFile(result)
	testcheck.Must(t, err)
	if fields, err := checkResult(line); err != nil || fields["status"] != "done" || fields["exit_code"] != 0.0 {
		t.Errorf("%v: %s", err, line)
	}
}

// TestLogWithoutReader checks that a build goes to its end, and has its exit code, after the reader of its log has ended.
func TestLogWithoutReader(t *testing.T) {
	dir := os.Getenv("BULKLOAD_TEST_UNLOGGED")
	if dir != "" {
		os.Exit(run([]string{"build", "--log-level", "debug", "--key", "id", "--input", filepath.Join(dir, "in.csv"), "--out", filepath.Join(dir, "out")}))
	}
	dir = t.TempDir()
	testcheck.Must(t, os.WriteFile(filepath.Join(dir, "in.csv"), []byte("id,v\n1,x\n"), 0o600))
	r, w, err := os.Pipe()
	testcheck.Must(t, errors.Join(err, r.Close()))
	defer w.Close()
	cmd := exec.Command(os.Args[0], "-test.run=^TestLogWithoutReader$")
	cmd.Env, cmd.Stderr = append(os.Environ(), "BULKLOAD_TEST_UNLOGGED="+dir, "TMPDIR="+t.TempDir()), w
	if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), "1 row") {
		t.Errorf("%v: %s", err, out)
	}
}
