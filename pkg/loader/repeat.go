package loader

import (
	"errors"
	"slices"
	"strings"
)

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

// passing reports whether the error of an idempotent call may pass, so that the call is to be made again: it is repeatable, or an exception that
// HBase's own client repeats, such as an IOException of a region server whose HDFS does not answer. Of a call that is not idempotent, as a load,
// such an exception does not say whether the server has acted.
//
// UnknownRegionException, of the master alone (2.6), does not pass: the region was split or merged, and its name does not come back. The
// region of a load is looked up again by its rows.
func passing(err error) bool {
	re, ok := errors.AsType[*RemoteError](err)
	switch {
	case !ok:
		return repeatable(err)
	case slices.Contains(doNotRetry, re.shortClass()):
		return false
	case re.reaction() == unclear:
		return strings.HasPrefix(re.Class, "java.io.") || strings.HasPrefix(re.Class, "org.apache.hadoop.")
	}
	return repeatable(err)
}
