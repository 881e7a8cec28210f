package ending

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"syscall"

	"bulkload/internal/cli/settings"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/result"
)

// Exit codes of commands that have not failed. A failure has the exit code of its kind.
const (
	done     = 0
	already  = 99
	bySignal = 128 // plus the signal's number: 129 for SIGHUP, 130 for SIGINT, 143 for SIGTERM
)

// Exit is one row of the table of exit codes.
type Exit struct {
	Code    int
	Meaning string
	Next    string // what the caller does next
}

// Exits returns the list of all exit codes, which help exit-codes, man pages and docs/commands.md print. Failures are
// in fail/kinds.go.
func Exits() []Exit {
	list := []Exit{
		{done, "done", "no action is needed"},
		{already, "nothing to do, the job was done before (with --skip-exit-code)", "no action is needed"},
		{bySignal + 1, "stopped by SIGHUP: its terminal was closed (nohup prevents it)", "the same command resumes the job"},
		{bySignal + 2, "stopped by SIGINT", "the same command resumes the job"},
		{bySignal + 6, "ended by SIGABRT: a defect of the program, whose trace is on standard error", "report the trace; the same command resumes the job"},
		{bySignal + 15, "stopped by SIGTERM", "the same command resumes the job"},
	}
	for _, k := range fail.Kinds() {
		meaning, next := k.Meaning()
		list = append(list, Exit{k.ExitCode(), settings.Spoken(meaning), next})
	}
	slices.SortFunc(list, func(a, b Exit) int { return a.Code - b.Code })
	return list
}

// ErrAlready is the error of a run whose job was done before.
var ErrAlready = errors.New("the job was done before")

// Signal is the signal that stopped a command, as the cause of its context.
type Signal syscall.Signal

func (s Signal) Error() string { return syscall.Signal(s).String() }

// Is makes a stop by a signal match context.Canceled.
func (s Signal) Is(target error) bool { return target == context.Canceled }

// CodeOf returns the exit code of a command that ended with an error. If a signal stopped the command, the code is
// that of the signal.
func CodeOf(ctx context.Context, err error) int {
	if s, ok := errors.AsType[Signal](context.Cause(ctx)); ok && errors.Is(err, context.Canceled) {
		return bySignal + int(s)
	}
	if errors.Is(err, ErrAlready) {
		return already
	}
	return fail.KindOf(err).ExitCode()
}

// NotStop returns the errors of a stopped command that the stop did not cause: those of its clean-up, which are joined to the error of the stop.
func NotStop(err error) []error {
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, context.Canceled):
		return []error{err}
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return NotStop(e.Unwrap())
	case interface{ Unwrap() []error }:
		var list []error
		for _, one := range e.Unwrap() {
			list = append(list, NotStop(one)...)
		}
		if errors.Join(e.Unwrap()...).Error() == err.Error() { // else the parts are one message
			return list
		}
	}
	return nil
}

// Stopped reports whether an exit code stands for a stop by a signal.
func Stopped(code int) bool { return code > bySignal }

// statusOf returns the status of a command that has ended.
func statusOf(code int, r *result.Result) string {
	switch {
	case code == already, code == done && r != nil && r.Already:
		return "already"
	case code == done:
		return "done"
	case code == fail.Busy.ExitCode():
		return "busy"
	case Stopped(code):
		return stopped
	}
	return "failed"
}

// stopped replaces the kind of a failure in results where a signal stopped the command.
const stopped = "stopped"

// kindOfCode returns the name of the failure kind that an exit code stands for, or "" if the code is not a failure.
func kindOfCode(code int) string {
	if Stopped(code) {
		return stopped
	}
	if k, ok := fail.KindOfExit(code); ok {
		return k.String()
	}
	return ""
}

// Output is the standard output of a command. It keeps the first error of a write, because texts are printed without checks: a
// full disk must not end in exit code 0. Not safe for concurrent use.
type Output struct {
	io.Writer
	err error
}

// Write implements [io.Writer].
func (o *Output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if err != nil && o.err == nil {
		o.err = fmt.Errorf("write the output: %w", err)
	}
	return n, err
}

// Err returns the error of the first write that failed.
func (o *Output) Err() error { return o.err }
