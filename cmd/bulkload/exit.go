package main

import (
	"errors"
	"fmt"
	"strings"

	"bulkload/pkg/fail"
)

// Exit codes of commands that have not failed. Failures have that of their kind; exitTable says what all mean.
const (
	exitDone    = 0
	exitAlready = 99
	exitSignal  = 128 // plus the signal's number: 130 for SIGINT, 143 for SIGTERM
)

// exitStatus is one row of the table of exit codes.
type exitStatus struct {
	code    int
	meaning string
	next    string // what its caller does then
}

// failed is the row of a kind of failure.
func failed(k fail.Kind, meaning, next string) exitStatus {
	return exitStatus{k.ExitCode(), meaning, next}
}

// exitTable is the one list of exit codes: help texts, man pages and docs/commands.md print it.
var exitTable = [...]exitStatus{
	{code: exitDone, meaning: "done", next: "nothing"},
	failed(fail.Unexpected, "unexpected failure", "read the message; the same command resumes the job"),
	failed(fail.Config, "usage, job file or setting wrong", "fix the input or settings; retrying will not help"),
	failed(fail.Check, "the table or the cluster is not fit for the job", "fix what the message names; `bulkload check` lists all findings"),
	failed(fail.BadRows, "more bad records or duplicates than allowed", "fix the export, or allow them; retrying will not help"),
	failed(fail.Input, "input missing or unreadable", "wait for the export, or fix its path"),
	failed(fail.HDFS, "HDFS or the local disk refused a write or a read", "retry: the same command resumes the job"),
	failed(fail.Load, "HBase was out of reach, or did not take the files, which are kept", "retry: the same command resumes the job"),
	failed(fail.Verify, "the table does not hold what was written", "find out who deleted or overwrote rows, before anything else is loaded"),
	failed(fail.State, "the table of jobs' state (--state hbase:TABLE) was out of reach", "retry: the same command resumes the job"),
	failed(fail.Busy, "another process is running this job: try again later", "wait, or leave it to the other process"),
	{code: exitAlready, meaning: "nothing to do, the job was done before (with --skip-exit-code)", next: "nothing"},
	{code: exitSignal + 2, meaning: "stopped by SIGINT", next: "the same command resumes the job"},
	{code: exitSignal + 15, meaning: "stopped by SIGTERM", next: "the same command resumes the job"},
}

// exitHelp is the part of every command's help that lists them.
var exitHelp = exitText(exitTable[:])

// exitHeading is the line above the list, by which the documentation finds it in a help text.
const exitHeading = "Exit status:"

func exitText(table []exitStatus) string {
	var b strings.Builder
	b.WriteString("\n" + exitHeading)
	for _, s := range table {
		fmt.Fprintf(&b, "\n  %-4d %s", s.code, s.meaning)
	}
	return b.String()
}

// usageError marks what the caller of the program got wrong.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// errAlready ends a run that had nothing to do.
var errAlready = errors.New("the job was done before")

func exitCode(err error) int {
	if errors.Is(err, errAlready) {
		return exitAlready
	}
	if _, ok := errors.AsType[usageError](err); ok || strings.HasPrefix(err.Error(), unknownCommand) {
		return fail.Config.ExitCode()
	}
	return fail.KindOf(err).ExitCode()
}
