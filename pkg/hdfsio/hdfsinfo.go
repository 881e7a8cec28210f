package hdfsio

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"bulkload/internal/hadoop/dfs"
	"bulkload/internal/hadoop/hadooprpc"
	"bulkload/internal/hadoop/kms"

	"github.com/colinmarc/hdfs/v2"
)

// The special permission bits of HDFS and unix; fs.FileMode uses other bits for them.
const (
	octalSticky = 0o1000
	octalSetgid = 0o2000
	octalSetuid = 0o4000
)

// octal converts a mode to HDFS's bits. The client sends it unchanged.
func octal(mode fs.FileMode) os.FileMode {
	bits := mode.Perm()
	if mode&fs.ModeSticky != 0 {
		bits |= octalSticky
	}
	return bits
}

// hdfsInfo is a file's description with Go's mode bits.
type hdfsInfo struct {
	*hdfs.FileInfo
}

func newHDFSInfo(fi os.FileInfo) hdfsInfo {
	info, _ := fi.(*hdfs.FileInfo)
	return hdfsInfo{info}
}

func (i hdfsInfo) Mode() fs.FileMode {
	raw := i.FileInfo.Mode()
	mode := raw.Perm() | raw&fs.ModeDir
	if raw&octalSticky != 0 {
		mode |= fs.ModeSticky
	}
	if raw&octalSetgid != 0 {
		mode |= fs.ModeSetgid
	}
	if raw&octalSetuid != 0 {
		mode |= fs.ModeSetuid
	}
	return mode
}

// FileID returns the inode number.
func (i hdfsInfo) FileID() (uint64, bool) {
	st := i.status()
	return st.GetFileId(), st != nil && st.FileId != nil
}

// status returns the NameNode's description, nil if there is none: its methods then return zero values.
func (i hdfsInfo) status() *hdfs.FileStatus {
	st, _ := i.Sys().(*hdfs.FileStatus)
	return st
}

const safeMode = "org.apache.hadoop.hdfs.server.namenode.SafeModeException"

// Classes of transient NameNode exceptions. While a NameNode is starting or failing over, the same call succeeds later.
var passing = []string{
	safeMode,
	"org.apache.hadoop.ipc.RetriableException",
	"org.apache.hadoop.ipc.StandbyException",
	observing,
}

// observing is the response of an observer NameNode to a call that only the active one serves: the library does not try the next
// NameNode.
const observing = "org.apache.hadoop.ipc.ObserverRetryOnActiveException"

// noNewKey is part of a NameNode's message when it cannot get a new data key from the KMS.
const noNewKey = "Exception while contacting value generator"

const (
	notReplicatedYet = "org.apache.hadoop.hdfs.server.namenode.NotReplicatedYetException"
	leaseExpired     = "org.apache.hadoop.hdfs.server.namenode.LeaseExpiredException"
	beingCreated     = "org.apache.hadoop.hdfs.protocol.AlreadyBeingCreatedException"
)

// javaClass returns the class of the NameNode's exception, or "".
func javaClass(err error) string {
	var remote hdfs.Error
	if errors.As(err, &remote) {
		return remote.Exception()
	}
	return ""
}

// answered reports whether err is a response of the NameNode: then the connection is good and the operation was decided.
func answered(err error) bool {
	class := javaClass(err)
	return err == nil || class != "" && class != observing || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) ||
		errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrInvalid) || errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, ErrQuota)
}

// transient reports whether the same call may succeed later: there was no response, or one that asks to retry.
func transient(err error) bool {
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return false // this machine's own limit
	}
	if hadooprpc.Final(err) || errors.Is(err, ErrNoChecksum) || kms.Final(err) || errors.Is(err, errNoKeyServer) {
		return false
	}
	if !answered(err) {
		return true
	}
	var remote hdfs.Error
	if errors.As(err, &remote) && strings.Contains(remote.Message(), noNewKey) {
		return true
	}
	return slices.Contains(passing, javaClass(err))
}

// byNameNode reports whether a NameNode failed reading or writing a block, not a DataNode.
func byNameNode(err error) bool {
	_, is := errors.AsType[*dfs.NameNodeError](err)
	return is
}

// Unavailable reports whether an error says that HDFS was not in service, as in safe mode, during a failover, or without a DataNode that
// takes blocks: the same call may succeed later, without any repair by its caller.
func Unavailable(err error) bool {
	return slices.Contains(passing, javaClass(err)) || noDataNode(err) && !errors.Is(err, ErrNoSpace)
}

// noDataNode reports whether a NameNode found no DataNode for a block. BlockManager.chooseTarget4NewBlock of Hadoop 3 has no class of its own for
// this.
func noDataNode(err error) bool {
	return javaClass(err) == "java.io.IOException" && strings.Contains(err.Error(), noPlace)
}

// noPlace is in the message of a NameNode that found no DataNode for a block.
const noPlace = "could only be written to"

// SafeMode reports whether the NameNode is in safe mode: it then refuses every change.
func (h *HDFS) SafeMode(ctx context.Context) (on bool, err error) {
	err = h.repeat(ctx, "safemode", "/", func() error {
		on, err = h.dfs.SafeMode(ctx)
		return err
	})
	return on, err
}

// safeModeError is the response of a NameNode in safe mode.
type safeModeError struct{ error }

func (e safeModeError) Unwrap() error { return e.error }
func (safeModeError) Error() string {
	return "the NameNode is in safe mode: wait for its end, or end it with hdfs dfsadmin -safemode leave"
}

// pathError adds the file's name and the NameNode's message to an error. The client library keeps only the exception's class.
func pathError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	var remote hdfs.Error
	if errors.As(err, &remote) {
		line, _, _ := strings.Cut(remote.Message(), "\n")
		switch remote.Exception() {
		case "org.apache.hadoop.security.AccessControlException":
			err = fmt.Errorf("%w: %s", fs.ErrPermission, line)
		case "org.apache.hadoop.hdfs.protocol.DSQuotaExceededException":
			err = fmt.Errorf("%w: %s (free space below that directory, or raise its quota with hdfs dfsadmin -setSpaceQuota)", ErrQuota, line)
		case "org.apache.hadoop.hdfs.protocol.NSQuotaExceededException":
			err = fmt.Errorf("%w: %s (remove files below that directory, or raise its quota with hdfs dfsadmin -setQuota)", ErrQuota, line)
		case safeMode:
			err = safeModeError{err}
		default:
			err = fmt.Errorf("%w: %s", err, line)
		}
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}
