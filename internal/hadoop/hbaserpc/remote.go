package hbaserpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"bulkload/internal/hadoop/frames"
)

// Reaction is the client's reaction to a server's exception.
type Reaction int

// The reactions. For a load, Relocate, BackOff and GiveUp mean that the server did nothing; unclear means that it may have acted.
const (
	unclear  Reaction = iota
	Relocate          // the region is elsewhere or not open yet: look it up again
	BackOff           // the server is busy: try again later
	GiveUp            // the same call will fail again
)

// RemoteError is an exception of a region server or of the master. Errors that result from one wrap it.
type RemoteError struct {
	Class   string // full Java class name
	Message string // its first line, with texts about rows removed

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

// ReactionTo returns the reaction to an exception, unclear for another error.
func ReactionTo(err error) Reaction {
	re, ok := errors.AsType[*RemoteError](err)
	switch {
	case !ok:
		return unclear
	case Threw(re, relocating...):
		return Relocate
	case Threw(re, busy...), re.uninitialized():
		return BackOff
	case Threw(re, final...), strings.HasPrefix(re.Message, "No enum constant "): // the second one is a plain IOException in 2.5
		return GiveUp
	}
	return unclear
}

// uninitialized reports whether a master answered before its initialization: HMaster of 2.6.4 serves calls while its fields are null.
func (e *RemoteError) uninitialized() bool {
	return strings.HasPrefix(e.Message, `Cannot invoke "org.apache.hadoop.hbase.master.`) && strings.HasSuffix(e.Message, ` is null`) && strings.Contains(e.Message, ` because "this.`)
}

// SnapshotsOff reports whether the master takes no snapshots, since hbase.snapshot.enabled is false. Its UnsupportedOperationException arrives as an
// IOException with this text (SnapshotManager.checkSnapshotSupport, 2.4 to 3.0).
func SnapshotsOff(err error) bool {
	re, ok := errors.AsType[*RemoteError](err)
	return ok && strings.HasPrefix(re.Message, "To use snapshots, ")
}

// ConnectionError is a connection that could not be made or that broke before an answer arrived.
type ConnectionError struct {
	Addr string // host:port of the master or a region server
	// Sent says that at least a part of the request may have been sent.
	Sent bool
	Err  error
}

func (e *ConnectionError) Error() string {
	if host := UnknownHost(e); host != "" {
		return fmt.Sprintf("connection to %s: this machine cannot resolve the host name %s: add it to DNS or /etc/hosts", e.Addr, host)
	}
	return fmt.Sprintf("connection to %s: %v", e.Addr, e.Err)
}

// silence is the cause of a connect or a call that took too long, and matches [os.ErrDeadlineExceeded], the error of a connection whose server
// has been silent for too long.
type silence string

func (s silence) Error() string        { return string(s) }
func (s silence) Is(target error) bool { return target == os.ErrDeadlineExceeded }

// WithLimit returns a context whose calls have a time in common. The cause of its end matches [os.ErrDeadlineExceeded].
func WithLimit(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, silence("no answer within "+limit.String()))
}

// UnknownHost returns the host name that name servers do not know, empty if the error has another cause.
func UnknownHost(err error) string {
	if e, ok := errors.AsType[*net.DNSError](err); ok && e.IsNotFound {
		return e.Name
	}
	return ""
}

// Unwrap returns the cause. That a server closed the connection is not [io.EOF], which would end what is read over it, but [io.ErrUnexpectedEOF].
func (e *ConnectionError) Unwrap() error {
	if e.Err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return e.Err
}

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
	return NewRemoteError(class, strings.TrimSpace(strings.TrimPrefix(line, class+":"))), true
}

// Repeatable reports whether a call that is idempotent, or has no effects, may be made again.
func Repeatable(err error) bool {
	if _, ok := errors.AsType[*RemoteError](err); ok {
		return ReactionTo(err) == Relocate || ReactionTo(err) == BackOff
	}
	if _, ok := errors.AsType[*frames.Error](err); ok {
		return false // the next answer would be the same
	}
	if _, ok := errors.AsType[*LoginError](err); ok {
		return false
	}
	_, ok := errors.AsType[*ConnectionError](err)
	return ok
}

// Threw reports whether err is an exception of a server with one of these classes, named without their packages.
func Threw(err error, short ...string) bool {
	re, ok := errors.AsType[*RemoteError](err)
	return ok && slices.Contains(short, re.shortClass())
}

// hidden replaces row data in a server's text.
const hidden = "***"

// Patterns of row data in a server's text: the first row of a region, in its name; the text after a word for a row or a key, such as
// firstKey=Optional[row/f:q/1/Put/vlen=1/seqid=0] of a file that is read (HFileReaderImpl, 2.6) or row='x' of a wrong region
// (HRegion.checkRow); and a cell anywhere (KeyValue.keyToString).
var (
	regionName = regexp.MustCompile(`(?s)([\w.:-]+),.+?,(\d{10,}(?:_\d+)?\.[0-9a-f]{32}\.)`)
	aboutRow   = regexp.MustCompile(`(?s)(\b(?:\w*(?:Row|Key|Cell)|row|key|cell|cur)s?(?:\(\))?(?:\s*[=:'"\[({]|\s)).*`)
	cellText   = regexp.MustCompile(`(?s)/(?:vlen=|seqid=|mvcc=|Put\b|Delete|Minimum|Maximum|LATEST_TIMESTAMP|OLDEST_TIMESTAMP)`)
)

// WithoutFirstRows returns a text in which the names of regions have no first row.
func WithoutFirstRows(text string) string {
	return regionName.ReplaceAllString(text, "$1,"+hidden+",$2")
}

// withoutRows returns a server's text without row data. A text that still contains a cell is hidden whole: the beginning of its row cannot
// be found.
func withoutRows(text string) string {
	text = WithoutFirstRows(text)
	if at := aboutRow.FindStringSubmatchIndex(text); at != nil {
		text = text[:at[3]] + hidden
	}
	if cellText.MatchString(text) {
		return hidden
	}
	return text
}

// NewRemoteError returns an exception with a text without row data; callers that may show rows can unwrap the whole text.
func NewRemoteError(class, text string) *RemoteError {
	e := &RemoteError{Class: class, Message: withoutRows(text)}
	if e.Message != text {
		e.rows = &rowsSaid{text}
	}
	return e
}

// rowsSaid is a server's text with its row data.
type rowsSaid struct{ text string }

func (e *rowsSaid) Error() string { return fmt.Sprintf("a text of %d bytes", len(e.text)) }

// Data returns the text, for callers that may show it.
func (e *rowsSaid) Data() []byte { return []byte(strings.ToValidUTF8(e.text, "?")) }

// doNotRetry lists the exceptions that HBase's own client does not repeat, by short name: the subclasses of DoNotRetryIOException of HBase 2.6,
// as far as they are not among the final ones, and those with which HDFS denies access.
var doNotRetry = []string{
	"AccessControlException", "AuthorizationException", "BadAuthException", "ConcurrentTableModificationException",
	"ConnectionImplementation$LocalConnectionClosedException", "CoprocessorException", "CorruptHFileException",
	"CorruptedSnapshotException", "DoNotRetryRegionException", "EmptyServiceNameException", "ExportSnapshotException",
	"FailedSanityCheckException", "HBaseSnapshotException", "InvalidLabelException", "LabelAlreadyExistsException", "LeaseException",
	"MasterStoppedException", "MergeRegionException", "NoServerForRegionException", "NotAllMetaRegionsOnlineException",
	"OperationTimeoutExceededException", "OutOfOrderScannerNextException", "ReplicationPeerNotFoundException",
	"RequestTooBigException", "RestoreSnapshotException", "RowTooBigException", "ScannerResetException", "ServerTooBusyException",
	"SnapshotCreationException", "SnapshotDoesNotExistException", "SnapshotExistsException", "SnapshotTTLExpiredException",
	"StoppedRpcClientException", "ThrottlingException", "UnknownRegionException", "UnknownScannerException",
	"UnknownServiceException", "UnknownSnapshotException", "UnsupportedCellCodecException",
	"UnsupportedCompressionCodecException", "UnsupportedCryptoException", "WrongVersionException",
}

// Passing reports whether the error of an idempotent call may pass, so that the call is to be made again: it is repeatable, or an exception that
// HBase's own client repeats, such as an IOException of a region server whose HDFS does not answer. Of a call that is not idempotent, as a load,
// such an exception does not say whether the server has acted.
//
// UnknownRegionException, of the master alone (2.6), does not pass: the region was split or merged, and its name does not come back. The
// region of a load is looked up again by its rows.
func Passing(err error) bool {
	re, ok := errors.AsType[*RemoteError](err)
	switch {
	case !ok:
		return Repeatable(err)
	case Threw(re, doNotRetry...), SnapshotsOff(re):
		return false
	case ReactionTo(re) == unclear:
		return strings.HasPrefix(re.Class, "java.io.") || strings.HasPrefix(re.Class, "org.apache.hadoop.")
	}
	return Repeatable(err)
}
