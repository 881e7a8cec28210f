package main

import (
	"errors"
	"strings"

	"bulkload/pkg/job"
)

// Exit codes, the one table of them; any other code is a failure too.
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
	exitBusy       = 75
	exitAlready    = 99
	exitSignal     = 128 // plus the signal's number: 130 for SIGINT, 143 for SIGTERM
)

// exitHelp is the part of every command's help that lists them.
const exitHelp = `
Exit status:
  0    done
  1    unexpected failure
  2    usage, job file or setting wrong
  3    the table or the cluster is not fit for the job
  4    more bad records or duplicates than allowed
  5    input missing or unreadable
  6    HDFS or the local disk refused a write or a read
  7    HBase did not take the files; they are kept
  8    the table does not hold what was written
  75   another process is running this job: try again later
  99   nothing to do, the job was done before (with --skip-exit-code)
  130  stopped by SIGINT
  143  stopped by SIGTERM`

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
	if _, ok := errors.AsType[usageError](err); ok || strings.HasPrefix(err.Error(), "unknown command") {
		return exitUsage
	}
	switch job.KindOf(err) {
	case job.KindConfig:
		return exitUsage
	case job.KindCheck:
		return exitCheck
	case job.KindBadRows:
		return exitBadRows
	case job.KindInput:
		return exitInput
	case job.KindHDFS:
		return exitHDFS
	case job.KindLoad:
		return exitLoad
	case job.KindVerify:
		return exitVerify
	case job.KindBusy:
		return exitBusy
	}
	return exitUnexpected
}
