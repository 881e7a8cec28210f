package main

import (
	"errors"
	"fmt"
	"strings"

	"bulkload/pkg/fail"
)

// Exit codes; exitTable says what they mean. Any other code is a failure too.
const (
	exitDone       = 0
	exitUnexpected = 1
	exitUsage      = 2
	exitCheck      = 3
	exitBadRows    = 4
	exitInput      = 5
	exitHDFS       = 6
	exitLoad       = 7
	exitVerify     = 8
	exitState      = 9
	exitBusy       = 75
	exitAlready    = 99
	exitSignal     = 128 // plus the signal's number: 130 for SIGINT, 143 for SIGTERM
)

// exitStatus is one row of the table of exit codes.
type exitStatus struct {
	code    int
	kind    fail.Kind // of the failures that end with this code; Unexpected for none
	meaning string
	next    string // what its caller does then
}

// exitTable is the one list of exit codes: failures get theirs from it, help
// texts, man pages and docs/commands.md print it.
var exitTable = [...]exitStatus{
	{code: exitDone, meaning: "done", next: "nothing"},
	{code: exitUnexpected, meaning: "unexpected failure", next: "read the message; the same command resumes the job"},
	{code: exitUsage, kind: fail.Config, meaning: "usage, job file or setting wrong", next: "fix the input or settings; retrying will not help"},
	{code: exitCheck, kind: fail.Check, meaning: "the table or the cluster is not fit for the job", next: "fix what the message names; `bulkload check` lists all findings"},
	{code: exitBadRows, kind: fail.BadRows, meaning: "more bad records or duplicates than allowed", next: "fix the export, or allow them; retrying will not help"},
	{code: exitInput, kind: fail.Input, meaning: "input missing or unreadable", next: "wait for the export, or fix its path"},
	{code: exitHDFS, kind: fail.HDFS, meaning: "HDFS or the local disk refused a write or a read", next: "retry: the same command resumes the job"},
	{code: exitLoad, kind: fail.Load, meaning: "HBase was out of reach, or did not take the files, which are kept", next: "retry: the same command resumes the job"},
	{code: exitVerify, kind: fail.Verify, meaning: "the table does not hold what was written", next: "find out who deleted or overwrote rows, before anything else is loaded"},
	{code: exitState, kind: fail.State, meaning: "the table of jobs' state (--state hbase:TABLE) was out of reach", next: "retry: the same command resumes the job"},
	{code: exitBusy, kind: fail.Busy, meaning: "another process is running this job: try again later", next: "wait, or leave it to the other process"},
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
		return exitUsage
	}
	kind := fail.KindOf(err)
	for _, s := range exitTable {
		if s.kind == kind && kind != fail.Unexpected {
			return s.code
		}
	}
	return exitUnexpected
}
