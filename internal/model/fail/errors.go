package fail

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"syscall"

	"bulkload/internal/hadoop/hadooprpc"
	"bulkload/internal/hadoop/hbaserpc"
	"bulkload/internal/objectstore"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// Kind classifies how a job failed, so that a caller, a person or an orchestrator, knows what to do next.
type Kind uint8

// Kinds of failure.
const (
	Unexpected Kind = iota
	Config          // the job file, a flag or a setting is wrong
	Check           // the table or the cluster is not fit for the job
	BadRows         // more bad records or duplicates than allowed, or an expectation is not met
	Input           // inputs are missing, unreadable or have changed
	HDFS            // writing to a file system or reading from it failed
	Load            // HBase was out of reach, or refused the files, which are kept
	Verify          // the table does not hold the rows that were written
	Busy            // another process works on the same job
	State           // the record of the job's progress could not be kept
)

// An Error is a failure with its kind. Its message is the message of Err.
type Error struct {
	Kind Kind
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the outermost [Error] in err. A full local disk is [HDFS] wherever it occurred.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	if DiskFull(err) {
		return HDFS
	}
	return Unexpected
}

// With marks an error with the kind k unless it already has a kind. Some errors get another kind than k. A full local disk is always [HDFS]. If k is
// [Input], a damaged block, an encryption key that is temporarily unavailable and a file system that is out of reach are [HDFS] too, because the same
// command can read the input after the repair. A server that requires another login than the configuration provides is [Check]. So is what only an
// operator can correct: with [HDFS] a missing permission, with [Load] also a table that is gone, not in service or without a family.
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
	if errors.Is(err, syscall.ENOMEM) {
		k = Config // the job must be given less memory
	}
	if k != Config && OtherSecurity(err) {
		k = Check // it fails until the configuration fits the cluster
	}
	if _, ok := errors.AsType[*hdfsio.BlockError](err); k == Input && (ok || outOfReach(err)) {
		k = HDFS
	}
	if _, ok := errors.AsType[*hdfsio.FeatureError](err); ok && k == HDFS {
		k = Check // a retry does not help
	}
	if k == HDFS && errors.Is(err, fs.ErrPermission) {
		k = Check // it fails until the permission is granted
	}
	if e, ok := errors.AsType[*hdfsio.KeyError](err); ok && k == HDFS && e.Final() {
		k = Check // it fails until the key or the permission is granted
	} else if ok && k == Input && !e.Final() {
		k = HDFS // it fails until the KMS is available
	}
	if _, ok := errors.AsType[*loader.DeniedError](err); k == Load && (ok || hbaserpc.Threw(err, "AccessDeniedException")) {
		k = Check // it fails until the permission is granted
	}
	if k == Load && (errors.Is(err, loader.ErrSnapshotLinks) || errors.Is(err, loader.ErrNoSnapshots) || errors.Is(err, loader.ErrSnapshotExists)) {
		k = Check // it fails until the table is compacted, HBase takes snapshots, or the one of that name is deleted
	}
	if k == Load && unfit(err) {
		k = Check // it fails until the table is there, enabled and writable, and has the families
	}
	return &Error{Kind: k, Err: err}
}

// unfit reports whether an error is due to a table that is gone, is not in service or lacks a family. One that is just being enabled is
// in service soon.
func unfit(err error) bool {
	state, closed := errors.AsType[*loader.StateError](err)
	_, family := errors.AsType[*loader.FamilyError](err)
	return closed && state.State != loader.Enabling || family || errors.Is(err, loader.ErrTableNotFound) || errors.Is(err, loader.ErrTableDisabled)
}

// outOfReach reports whether an error is due to HDFS or an object store that does not answer or is not in service. A host that does not
// exist is a mistake in its name.
func outOfReach(err error) bool {
	if e, ok := errors.AsType[*net.DNSError](err); ok && e.IsNotFound {
		return false
	}
	_, connection := errors.AsType[*net.OpError](err)
	_, store := errors.AsType[*objectstore.OutOfReachError](err)
	return connection || store || hdfsio.Unavailable(err)
}

// OtherSecurity reports whether an error is due to a cluster that requires another login or another protection than the configuration
// has, or to a login that has expired. Retrying does not resolve it.
func OtherSecurity(err error) bool {
	elsewhere := []error{hdfsio.ErrSecured, hbaserpc.ErrSimple, loader.ErrSecured}
	return hadooprpc.Final(err) || slices.ContainsFunc(elsewhere, func(e error) bool { return errors.Is(err, e) })
}

// Usage marks an error of the program's caller. It overrides the kind that the error has, since the outermost kind counts.
func Usage(err error) error { return &Error{Kind: Config, Err: err} }

// Errorf marks a new error with a kind. Like [setting.Errorf], it keeps the settings among args.
func Errorf(k Kind, format string, args ...any) error {
	return With(k, setting.Errorf(format, args...))
}

// Listing marks the error of listing a directory that is to be written. If there is a file in its place, the command is wrong; any other error is
// a failure of the file system.
func Listing(err error) error {
	if errors.Is(err, syscall.ENOTDIR) {
		return Errorf(Config, "%w: name a directory that is missing or empty", err)
	}
	return With(HDFS, err)
}

// maxData is the maximum number of bytes of a value or key that an error keeps.
const maxData = 256

// DataError is an error about a value or a row key. Its message omits that data, because people who must not read the table can read logs, reports and
// other output files. Some errors of other packages, such as [keygen.ValueError], work in the same way. A caller that may show the data gets it from the
// method Data.
type DataError struct {
	data []byte
	err  error
}

// AboutData returns an error about data. The arguments of its format must not contain the data.
func AboutData(data []byte, format string, args ...any) error {
	return &DataError{bytes.Clone(data[:min(len(data), maxData)]), fmt.Errorf(format, args...)}
}

func (e *DataError) Error() string { return e.err.Error() }
func (e *DataError) Unwrap() error { return e.err }

// Data returns the first bytes of the value or key that the error is about, at most maxData.
func (e *DataError) Data() []byte { return e.data }

// A RejectsError adds the file of rejected records to a job's error about its records.
type RejectsError struct {
	File string // as it was configured
	Err  error
}

func (e *RejectsError) Error() string {
	return fmt.Sprintf("%v (bad records are in %s)", e.Err, e.File)
}
func (e *RejectsError) Unwrap() error { return e.Err }

// WithRejects adds the file to an error of the kind [BadRows]. It returns any other error, or nil, unchanged.
func WithRejects(err error, file string) error {
	if err == nil || KindOf(err) != BadRows {
		return err
	}
	return &RejectsError{File: file, Err: err}
}
