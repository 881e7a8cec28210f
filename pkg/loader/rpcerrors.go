package loader

import (
	"errors"

	"bulkload/internal/hadoop/hbaserpc"
	"bulkload/internal/hadoop/registry"
)

// RemoteError is an exception of a region server or of the master: its Java class, the first line of its message with texts about rows removed, and
// its whole text. Errors of this package that result from one wrap it.
type RemoteError = hbaserpc.RemoteError

// ConnectionError is a connection to a server that could not be made or that broke before an answer arrived. It says whether a part of the request
// may have been sent.
type ConnectionError = hbaserpc.ConnectionError

var (
	// ErrClosed is returned by calls on a closed Cluster.
	ErrClosed = hbaserpc.ErrClosed
	// ErrSecured is the error of a cluster that requires a login while the configuration has none.
	ErrSecured = hbaserpc.ErrSecured
)

// repeatable reports whether a call that is idempotent, or has no effects, may be made again.
func repeatable(err error) bool { return unserved(err) || hbaserpc.Repeatable(err) }

// passing reports whether the error of an idempotent call may pass, so that the call is to be made again.
func passing(err error) bool { return unserved(err) || hbaserpc.Passing(err) }

// unserved reports whether no server had what was to be called. Usually one takes it over.
func unserved(err error) bool {
	return errors.Is(err, errNotAssigned) || errors.Is(err, registry.ErrNoMaster)
}

// Unavailable reports whether an error says that the cluster is unreachable or not in service, as during a restart: the same call may
// succeed later, without any repair by its caller.
func Unavailable(err error) bool {
	_, ok := errors.AsType[*registry.LookupError](err)
	return ok || repeatable(err) || hbaserpc.Threw(err, "SafeModeException") // of HDFS, below HBase
}
