package loader

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/hadoop/hbaserpc"
)

// reaction is the client's reaction to a server's exception.
type reaction int

// The reactions. For a load, relocate, backOff and giveUp mean that the server did nothing; unclear means that it may have acted.
const (
	unclear  reaction = iota
	relocate          // the region is elsewhere or not open yet: look it up again
	backOff           // the server is busy: try again later
	giveUp            // the same call will fail again
)

// RemoteError is an exception of a region server or of the master. Errors of this package that result from one wrap it.
type RemoteError struct {
	Class   string // full Java class name
	Message string // its first line, with texts about rows removed
	Trace   string // the whole text

	rows error // nil: Message is whole
}

// Unwrap returns the text with its row data, for callers that may show it.
func (e *RemoteError) Unwrap() error { return e.rows }

func (e *RemoteError) Error() string {
	if e.Message == "" {
		return e.Class
	}
	return e.Class + ": " + e.Message
}

// shortClass returns the class without its package.
func (e *RemoteError) shortClass() string { return e.Class[strings.LastIndexByte(e.Class, '.')+1:] }

// The reaction to each exception class, by its short name: packages have changed between versions. UnknownRegionException is of the master: a
// region that was split or merged, whose rows are in others.
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
	short := e.shortClass()
	switch {
	case slices.Contains(relocating, short):
		return relocate
	case slices.Contains(busy, short), e.uninitialized():
		return backOff
	case slices.Contains(final, short):
		return giveUp
	}
	return unclear
}

// uninitialized reports whether a master answered before its initialization: HMaster of 2.6.4 serves calls while its fields are null.
func (e *RemoteError) uninitialized() bool {
	return strings.HasPrefix(e.Message, `Cannot invoke "org.apache.hadoop.hbase.master.`) && strings.HasSuffix(e.Message, ` is null`) && strings.Contains(e.Message, ` because "this.`)
}

// ConnectionError is a connection that could not be made or that broke before an answer arrived.
type ConnectionError struct {
	Addr string // host:port of the master or a region server
	// Sent says that at least a part of the request may have been sent.
	Sent bool
	Err  error
}

func (e *ConnectionError) Error() string {
	if host := unknownHost(e); host != "" {
		return fmt.Sprintf("connection to %s: this machine cannot resolve the host name %s: add it to DNS or /etc/hosts", e.Addr, host)
	}
	return fmt.Sprintf("connection to %s: %v", e.Addr, e.Err)
}

// silence is the cause of a connect or a call that took too long, and matches [os.ErrDeadlineExceeded], the error of a connection whose server
// has been silent for too long.
type silence string

func (s silence) Error() string        { return string(s) }
func (s silence) Is(target error) bool { return target == os.ErrDeadlineExceeded }

// unknownHost returns the host name that name servers do not know, empty if the error has another cause.
func unknownHost(err error) string {
	if e, ok := errors.AsType[*net.DNSError](err); ok && e.IsNotFound {
		return e.Name
	}
	return ""
}

func (e *ConnectionError) Unwrap() error { return e.Err }

// javaMark begins gohbase's text for an exception, which contains the class. gohbase offers no other access to it.
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

// repeatable reports whether a call that is idempotent, or has no effects, may be made again.
func repeatable(err error) bool {
	if re, ok := errors.AsType[*RemoteError](err); ok {
		return re.reaction() == relocate || re.reaction() == backOff
	}
	if errors.Is(err, errNotAssigned) || errors.Is(err, errNoMaster) {
		return true
	}
	if _, ok := errors.AsType[*frames.Error](err); ok {
		return false // the next answer would be the same
	}
	if _, ok := errors.AsType[*hbaserpc.LoginError](err); ok {
		return false
	}
	_, ok := errors.AsType[*ConnectionError](err)
	return ok
}

// Unavailable reports whether an error says that the cluster is unreachable or not in service, as during a restart: the same call may
// succeed later, without any repair by its caller.
func Unavailable(err error) bool {
	_, ok := errors.AsType[*lookupError](err)
	return ok || repeatable(err) || isJava(err, "SafeModeException") // of HDFS, below HBase
}

// isJava reports whether err is an exception with this short class name.
func isJava(err error, short string) bool {
	re, ok := errors.AsType[*RemoteError](err)
	return ok && re.shortClass() == short
}
