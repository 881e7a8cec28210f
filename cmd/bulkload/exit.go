package main

import (
	"errors"
	"slices"

	"bulkload/internal/cli/settings"
	"bulkload/internal/model/fail"
)

// Exit codes of commands that have not failed. Failures have that of their kind.
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

// exitTable is the one list of exit codes: help exit-codes, man pages and docs/commands.md print it. Failures are in fail/kinds.go.
var exitTable = exits()

func exits() []exitStatus {
	list := []exitStatus{
		{exitDone, "done", "nothing"},
		{exitAlready, "nothing to do, the job was done before (with --skip-exit-code)", "nothing"},
		{exitSignal + 2, "stopped by SIGINT", "the same command resumes the job"},
		{exitSignal + 15, "stopped by SIGTERM", "the same command resumes the job"},
	}
	for _, k := range fail.Kinds() {
		meaning, next := k.Meaning()
		list = append(list, exitStatus{k.ExitCode(), settings.Spoken(meaning), next})
	}
	slices.SortFunc(list, func(a, b exitStatus) int { return a.code - b.code })
	return list
}

// errAlready ends a run that had nothing to do.
var errAlready = errors.New("the job was done before")

func exitCode(err error) int {
	if errors.Is(err, errAlready) {
		return exitAlready
	}
	return fail.KindOf(err).ExitCode()
}
