//go:build stopafter

package checkpoint

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"bulkload/internal/engine/journal"
)

// stopAfter kills the process after a record, for tests of the recovery from a
// crash: BULKLOAD_TEST_STOP_AFTER is an event, or event:n for the n-th of them.
// With event:n:freeze the process stands still instead, until SIGCONT; with event:n:hold
// its job does, while the process gives signs of life. It is in programs that are built with the tag stopafter only. These also hold, after
// each record, what the process knows to what the journal says.
type stopAfter struct {
	event string
	left  int
	how   string
}

func newStopAfter() stopAfter {
	event, rest, _ := strings.Cut(os.Getenv("BULKLOAD_TEST_STOP_AFTER"), ":")
	if event != "" && !slices.ContainsFunc(eventInfos(), func(i eventInfo) bool { return string(i.Event) == event }) {
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
	if err := st.asJournal(); err != nil {
		fmt.Fprintf(os.Stderr, "after record %d (%s): %v\n", r.Seq, r.Event, err)
		os.Exit(otherState)
	}
	if s.event != r.Event {
		return
	}
	if s.left--; s.left != 0 {
		return
	}
	switch s.how {
	case "freeze":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	case "hold":
		select {} // the caller has the lock of all records
	default:
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// otherState is the exit code of a program whose history is not that of its journal, or whose test names no event. No command ends with it.
const otherState = 97
