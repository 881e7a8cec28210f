package loader

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/hadoop/hbaserpc"
)

// reaction is how the client has to handle a server's exception.
type reaction int

// The reactions. For a load, relocate, backOff and giveUp mean that nothing was done; unclear means that it may have been.
const (
	unclear  reaction = iota
	relocate          // the region is elsewhere or not open yet: look it up again
	backOff           // the server is busy: come again later
	giveUp            // the same call will fail again
)

// RemoteError is an exception of a region server or of the master. Errors of this package that come from one wrap it.
type RemoteError struct {
	Class   string // full Java class name
	Message string // its first line, without what it says of rows
	Trace   string // all of it

	rows error // nil: Message is whole
}

// Unwrap gives what the text says of rows, for callers that may show it.
func (e *RemoteError) Unwrap() error { return e.rows }

func (e *RemoteError) Error() string {
	if e.Message == "" {
		return e.Class
	}
	return e.Class + ": " + e.Message
}

// short returns the class without its package.
func (e *RemoteError) short() string { return e.Class[strings.LastIndexByte(e.Class, '.')+1:] }

// The reaction to each exception class, by its short name: packages have changed between versions.
var (
	relocating = []string{
		"NotServingRegionException", "RegionMovedException", "RegionServerStoppedException", "RegionServerAbortedException",
		"ServerNotRunningYetException", "RegionOpeningException", "UnknownRegionException",
	}
	busy = []string{
		"CallQueueTooBigException", "CallDroppedException", "RegionTooBusyException", "RpcThrottlingException",
		"PleaseHoldException", "MasterNotRunningException", "RetryImmediatelyException",
	}
	final = []string{
		"AccessDeniedException", "SpaceLimitingException", "QuotaExceededException", "DoNotRetryIOException",
		"NoSuchColumnFamilyException", "TableNotFoundException", "TableExistsException", "TableNotEnabledException",
		"TableNotDisabledException", "NamespaceNotFoundException", "NamespaceExistException", "UnknownProtocolException",
		"FatalConnectionException", "IllegalArgumentException", "ConstraintException", "InvalidFamilyOperationException",
	}
)

// reaction classifies the exception.
func (e *RemoteError) reaction() reaction {
	short := e.short()
	switch {
	case slices.Contains(relocating, short):
		return relocate
	case slices.Contains(busy, short), e.unmade():
		return backOff
	case slices.Contains(final, short):
		return giveUp
	}
	return unclear
}

// unmade says that a master answered before it had made what it answers from: HMaster of 2.6.4 serves calls while its fields are null.
func (e *RemoteError) unmade() bool {
	return strings.HasPrefix(e.Message, `Cannot invoke "org.apache.hadoop.hbase.master.`) && strings.HasSuffix(e.Message, ` is null`) && strings.Contains(e.Message, ` because "this.`)
}

// ConnectionError is a connection that could not be made or that broke before an answer came.
type ConnectionError struct {
	Addr string // host:port of the master or a region server
	// Sent says that at least a part of the request may have left.
	Sent bool
	Err  error
}

func (e *ConnectionError) Error() string {
	if host := unknownHost(e); host != "" {
		return fmt.Sprintf("connection to %s: this machine cannot resolve the host name %s: add it to DNS or /etc/hosts", e.Addr, host)
	}
	return fmt.Sprintf("connection to %s: %v", e.Addr, e.Err)
}

// unknownHost returns the host name that name servers answer they do not have, empty where that is not what went wrong.
func unknownHost(err error) string {
	if e, ok := errors.AsType[*net.DNSError](err); ok && e.IsNotFound {
		return e.Name
	}
	return ""
}

func (e *ConnectionError) Unwrap() error { return e.Err }

// javaMark begins gohbase's text for an exception, which has the class in its middle. There is no other way to it.
const javaMark = "HBase Java exception "

// parseRemote finds the exception in a gohbase error.
func parseRemote(err error) (*RemoteError, bool) {
	text := err.Error()
	at := strings.Index(text, javaMark)
	if at < 0 {
		return nil, false
	}
	class, trace, _ := strings.Cut(text[at+len(javaMark):], ":\n")
	line, _, _ := strings.Cut(trace, "\n")
	return remoteError(class, strings.TrimSpace(strings.TrimPrefix(line, class+":")), trace), true
}

// repeatable reports whether a call without effects, or with effects that bear repeating, may be made again.
func repeatable(err error) bool {
	if re, ok := errors.AsType[*RemoteError](err); ok {
		return re.reaction() == relocate || re.reaction() == backOff
	}
	if errors.Is(err, errNotAssigned) || errors.Is(err, errNoMaster) {
		return true
	}
	if _, ok := errors.AsType[*frames.Error](err); ok {
		return false // the next answer would be no other
	}
	if _, ok := errors.AsType[*hbaserpc.LoginError](err); ok {
		return false
	}
	_, ok := errors.AsType[*ConnectionError](err)
	return ok
}

// Unavailable reports whether an error reports a cluster that is out of reach or not in service, as while it is started
// again: the same call may succeed later, with nothing repaired by its caller.
func Unavailable(err error) bool {
	_, ok := errors.AsType[*lookupError](err)
	return ok || repeatable(err)
}

// isJava reports whether err is an exception with this short class name.
func isJava(err error, short string) bool {
	re, ok := errors.AsType[*RemoteError](err)
	return ok && re.short() == short
}
