package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"bulkload/internal/cli/ui"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/pipeline/build"
	"bulkload/pkg/hdfsio"
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
	stop := new(limitFlags).hold(held, &cluster.Env{Conf: &hdfsio.Conf{}, Log: slog.New(slog.DiscardHandler)}, &w)
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
