package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"bulkload/pkg/job"
)

// TestExitCode: every kind of failure has a row of its own in the table, however deep it is wrapped.
func TestExitCode(t *testing.T) {
	want := map[job.Kind]int{job.KindUnexpected: 1, job.KindConfig: 2, job.KindCheck: 3, job.KindBadRows: 4, job.KindInput: 5,
		job.KindHDFS: 6, job.KindLoad: 7, job.KindVerify: 8, job.KindBusy: 75}
	for kind := job.KindUnexpected; kind <= job.KindBusy; kind++ {
		err := fmt.Errorf("step: %w", &job.Error{Kind: kind, Err: errors.New("it broke")})
		if got := exitCode(err); got != want[kind] {
			t.Errorf("kind %d ends with %d, want %d", kind, got, want[kind])
		}
	}
	for _, c := range []struct {
		err  error
		want int
	}{
		{usageError{errors.New("no flag")}, 2},
		{errors.New(`unknown command "x" for "bulkload"`), 2},
		{fmt.Errorf("run: %w", errAlready), 99},
		{context.Canceled, 1},
		{errors.New("no kind"), 1},
	} {
		if got := exitCode(c.err); got != c.want {
			t.Errorf("%v ends with %d, want %d", c.err, got, c.want)
		}
	}
}

// TestExitTable: codes rise, and each row says what it means and what to do.
func TestExitTable(t *testing.T) {
	last := -1
	for _, s := range exitTable {
		if s.code <= last {
			t.Errorf("%d stands behind %d", s.code, last)
		}
		last = s.code
		if s.meaning == "" || s.next == "" {
			t.Errorf("%d has no meaning, or says not what to do", s.code)
		}
		if !strings.Contains(exitHelp, fmt.Sprintf("\n  %-4d %s", s.code, s.meaning)) {
			t.Errorf("the help text lacks %d", s.code)
		}
	}
}
