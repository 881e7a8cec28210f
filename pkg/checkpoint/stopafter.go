//go:build stopafter

package checkpoint

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// stopAfter kills the process after a record, for tests of what follows a
// crash: BULKLOAD_TEST_STOP_AFTER is an event, or event:n for the n-th of them. It
// is in programs that are built with the tag stopafter only.
type stopAfter struct {
	event string
	left  int
}

func newStopAfter() stopAfter {
	event, n, _ := strings.Cut(os.Getenv("BULKLOAD_TEST_STOP_AFTER"), ":")
	left, err := strconv.Atoi(n)
	if err != nil {
		left = 1
	}
	return stopAfter{event, left}
}

func (s *stopAfter) seen(event string) {
	if s.event != event {
		return
	}
	if s.left--; s.left == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}
