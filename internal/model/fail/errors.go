package fail

import (
	"errors"

	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// Kind says in which way a job failed, so that a caller, a person or an
// orchestrator, knows what to do next.
type Kind uint8

// Kinds of failure.
const (
	Unexpected Kind = iota
	Config          // the job file, a flag or a setting is wrong
	Check           // the table or the cluster is not fit for the job
	BadRows         // more bad records or duplicates than allowed, or an expectation is not met
	Input           // inputs are missing, unreadable or have changed
	HDFS            // writing or reading the target file system
	Load            // HBase was out of reach, or did not take the files, which are kept
	Verify          // the table does not hold what was written
	Busy            // another process works on the same job
	State           // what the job has done could not be kept
)

// An Error is a failure with its kind. Its message is that of Err.
type Error struct {
	Kind Kind
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the outermost [Error] in err. A full local disk is
// [HDFS] wherever it showed.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	if DiskFull(err) {
		return HDFS
	}
	return Unexpected
}

// With marks an error with a kind unless it has one. A full local disk has
// its own, whatever was being done, and so has an input with a
// block that is damaged or a key that is out of reach: it is there, and is read again when that is repaired.
func With(k Kind, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	if DiskFull(err) {
		k, err = HDFS, ExplainFull(err)
	}
	if _, ok := errors.AsType[*hdfsio.BlockError](err); ok && k == Input {
		k = HDFS
	}
	if _, ok := errors.AsType[*hdfsio.FeatureError](err); ok && k == HDFS {
		k = Check // no retry helps
	}
	if e, ok := errors.AsType[*hdfsio.KeyError](err); ok && k == HDFS && e.Final() {
		k = Check // until the key or the right is there
	} else if ok && k == Input && !e.Final() {
		k = HDFS // until the KMS is there
	}
	if _, ok := errors.AsType[*loader.DeniedError](err); ok && k == Load {
		k = Check // until the right is granted
	}
	return &Error{Kind: k, Err: err}
}

// Usage marks what the caller of the program got wrong, whatever kind the error has: the outermost kind counts.
func Usage(err error) error { return &Error{Kind: Config, Err: err} }

// Errorf is [With] of an error that keeps the settings among args, as [setting.Errorf] does.
func Errorf(k Kind, format string, args ...any) error {
	return With(k, setting.Errorf(format, args...))
}
