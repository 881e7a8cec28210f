package loader

import "errors"

// repeatable reports whether a call that is idempotent, or has no effects, may be made again.
func repeatable(err error) bool { return unserved(err) || rpcRepeatable(err) }

// passing reports whether the error of an idempotent call may pass, so that the call is to be made again.
func passing(err error) bool { return unserved(err) || rpcPassing(err) }

// unserved reports whether no server had what was to be called. Usually one takes it over.
func unserved(err error) bool { return errors.Is(err, errNotAssigned) || errors.Is(err, errNoMaster) }

// Unavailable reports whether an error says that the cluster is unreachable or not in service, as during a restart: the same call may
// succeed later, without any repair by its caller.
func Unavailable(err error) bool {
	_, ok := errors.AsType[*lookupError](err)
	return ok || repeatable(err) || threw(err, "SafeModeException") // of HDFS, below HBase
}
