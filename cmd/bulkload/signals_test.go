package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/cli/session"
	"bulkload/internal/cli/ui"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/pipeline/build"
	"bulkload/pkg/hdfsio"

	"github.com/spf13/cobra"
)

// TestPauseSignalsAfterAStopAreIgnored checks that the signals of pausing do not kill a run that is stopping and
// recording its end.
func TestPauseSignalsAfterAStopAreIgnored(t *testing.T) {
	if os.Getenv("BULKLOAD_TEST_STOPPING") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestPauseSignalsAfterAStopAreIgnored$")
		cmd.Env = append(os.Environ(), "BULKLOAD_TEST_STOPPING=1")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "still here") {
			t.Fatalf("%v: %s", err, out)
		}
		return
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	held, end := context.WithCancel(ctx)
	defer end()
	var w build.WorkOptions
	cmd := &cobra.Command{}
	cmd.SetContext(held)
	stop := new(limitFlags).hold(cmd, &cluster.Env{Conf: &hdfsio.Conf{}, Log: slog.New(slog.DiscardHandler)}, &w)
	stopOnSignal(cancel, &ui.Console{File: os.Stderr})
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	stop()
	for range 3 {
		for _, s := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGUSR2} {
			if err := syscall.Kill(os.Getpid(), s); err != nil {
				t.Fatal(err)
			}
		}
	}
	fmt.Println("still here")
}

// TestPanicHasACodeOfItsOwn ends the program as Go's runtime ends it after a panic: by SIGABRT, with a trace, and not by the exit code of wrong settings.
func TestPanicHasACodeOfItsOwn(t *testing.T) {
	if os.Getenv("BULKLOAD_TEST_PANIC") != "" {
		abortOnPanic()
		go panic("broken by the test")
		select {}
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestPanicHasACodeOfItsOwn$")
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "BULKLOAD_TEST_PANIC=1", "GOTRACEBACK=")
	out, err := cmd.CombinedOutput()
	e, ok := errors.AsType[*exec.ExitError](err)
	if !ok || !strings.Contains(string(out), "panic: broken by the test") {
		t.Fatalf("%v: %s", err, out)
	}
	if s := e.Sys().(syscall.WaitStatus); s.Signal() != syscall.SIGABRT || s.CoreDump() {
		t.Errorf("it ended with %v", e)
	}
}

// TestStopWhileNobodyReads checks that a signal stops a run whose standard error accepts nothing.
func TestStopWhileNobodyReads(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := w.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	for err == nil { // until it is full
		_, err = w.Write(make([]byte, 4096))
	}
	if err := w.SetWriteDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	stopOnSignal(cancel, &ui.Console{File: w})
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("it waits for a reader of standard error")
	}
}

// TestStopWhileStandardInputWaits checks that a stop ends a command that waits for more of its standard input.
func TestStopWhileStandardInputWaits(t *testing.T) {
	for _, args := range [][]string{{"key", "--spec", "id", "--columns", "id"}, {"hfile", "write", filepath.Join(t.TempDir(), "file")}} {
		ctx, cancel := context.WithCancelCause(t.Context())
		in, out := io.Pipe()
		root := newRootCmd(&globals{Program: session.Program{Console: &ui.Console{File: os.Stderr}}})
		root.SetArgs(args)
		root.SetIn(in)
		ended := make(chan error, 1)
		go func() {
			_, err := root.ExecuteContextC(ctx)
			ended <- err
		}()
		if _, err := out.Write([]byte("x")); err != nil { // is taken as the command reads
			t.Fatal(err)
		}
		cancel(context.Canceled)
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// heedHangups has the children of the test stop at a SIGHUP, also if the test was started by nohup.
func heedHangups(t *testing.T) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP) // a caught signal has its default effect in a child, an ignored one is ignored
	t.Cleanup(func() { signal.Stop(c) })
}

// TestHangup checks that SIGHUP stops a run, also if it is sent twice, that it does not under nohup, and that a service receives it instead.
func TestHangup(t *testing.T) {
	mode := os.Getenv("BULKLOAD_TEST_HANGUP")
	if mode == "" {
		heedHangups(t)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		for mode, want := range map[string]string{"stop": "hangup", "nohup": "terminated", "service": "reloads"} {
			cmd := exec.CommandContext(ctx, "sh", "-c", `if [ "$BULKLOAD_TEST_HANGUP" = nohup ]; then trap "" HUP; fi; exec "$0" -test.run='^TestHangup$'`, os.Args[0])
			cmd.Env = append(os.Environ(), "BULKLOAD_TEST_HANGUP="+mode)
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
				t.Errorf("%s: %v: %s", mode, err, out)
			}
		}
		return
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	stopOnSignal(cancel, &ui.Console{File: os.Stderr})
	reloaded := make(chan struct{}, 2)
	if mode == "service" {
		defer onHangup(ctx, func() { reloaded <- struct{}{} })()
	}
	for range 2 {
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	switch mode {
	case "service":
		<-reloaded
		if ctx.Err() == nil {
			fmt.Println("reloads")
		}
		return
	case "nohup":
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	<-ctx.Done()
	fmt.Println(context.Cause(ctx)) // the first signal that was received
}
