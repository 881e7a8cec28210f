//go:build stopafter

package checkpoint

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"bulkload/internal/engine/history"
	"bulkload/internal/engine/journal"
)

// stopAfter kills the process after a record, for tests of crashes. BULKLOAD_TEST_STOP_AFTER is an event, or event:n for its n-th occurrence. With
// event:n:freeze the process stops instead, until SIGCONT; with event:n:hold only its job stops, while the process keeps sending signs of life. It
// exists only in programs that are built with the tag stopafter. These also compare, after each record, the history of the process with its journal.
type stopAfter struct {
	event string
	left  int
	how   string
}

func newStopAfter() stopAfter {
	event, rest, _ := strings.Cut(os.Getenv("BULKLOAD_TEST_STOP_AFTER"), ":")
	if event != "" && !slices.ContainsFunc(history.Events(), func(i history.EventInfo) bool { return string(i.Event) == event }) {
		fmt.Fprintf(os.Stderr, "BULKLOAD_TEST_STOP_AFTER: no journal has an event %q\n", event)
		os.Exit(otherState)
	}
	n, how, _ := strings.Cut(rest, ":")
	left, err := strconv.Atoi(n)
	if err != nil {
		left = 1
	}
	return stopAfter{event, left, how}
}

func (s *stopAfter) seen(st *Job, r journal.Record) {
	if st.Log != nil {
		if err := st.Differences(st.Dir); err != nil {
			fmt.Fprintf(os.Stderr, "after record %d (%s): %v\n", r.Seq, r.Event, err)
			os.Exit(otherState)
		}
	}
	if s.event != r.Event {
		return
	}
	if s.left--; s.left != 0 {
		return
	}
	switch s.how {
	case "freeze":
		_ = os.Unsetenv("BULKLOAD_TEST_STOP_AFTER") // once: compare opens a second job, whose records count from one
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	case "hold":
		select {} // the caller holds the lock of all records
	default:
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// otherState is the exit code if the history differs from the journal, or if a test names no event. No command ends with it.
const otherState = 97
