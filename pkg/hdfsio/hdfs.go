package hdfsio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/colinmarc/hdfs/v2"

	"bulkload/internal/hadoop/dfs"
)

// HDFSOptions are the options of an [HDFS] client.
type HDFSOptions struct {
	// Addresses are the NameNodes, host:port, tried in turn. Required. [Conf.HDFSOptions] sets it.
	Addresses []string
	// User is the acting user. Required.
	User string
	// UseDatanodeHostname connects to DataNodes by host name instead of the address that the NameNode reports.
	UseDatanodeHostname bool
	// MaxIdle is the number of idle NameNode connections of the client library that are kept open, for 2 s. Default 16.
	MaxIdle int
	// DialTimeout limits one TCP connect. Default 20 s.
	DialTimeout time.Duration
	// IOTimeout limits every single read and write on a connection, and thus the response of a NameNode and the
	// acknowledgement of a packet by a DataNode. Default 60 s.
	IOTimeout time.Duration
	// RetryTimeout limits how long a repeatable operation is retried while no NameNode can be reached or it is in safe
	// mode. It should outlast a failover. Default 2 min.
	RetryTimeout time.Duration
	// CloseTimeout limits how long Finish waits until enough DataNodes have reported the last block to the NameNode. Default
	// 2 min.
	CloseTimeout time.Duration
	// Security holds the settings for a secured cluster, nil for one with simple authentication.
	Security *Security
	// Keys are the settings for requests for data keys of files in encryption zones.
	Keys Keys
	// Umask has the rights that [Masked] takes away. [Conf.HDFSOptions] sets it.
	Umask fs.FileMode
	// Log gets a line for each retry. Default: none.
	Log *slog.Logger
}

func (o HDFSOptions) withDefaults() HDFSOptions {
	o.MaxIdle = cmp.Or(o.MaxIdle, 16)
	o.DialTimeout = cmp.Or(o.DialTimeout, 20*time.Second)
	o.IOTimeout = cmp.Or(o.IOTimeout, time.Minute)
	o.RetryTimeout = cmp.Or(o.RetryTimeout, 2*time.Minute)
	o.CloseTimeout = cmp.Or(o.CloseTimeout, 2*time.Minute)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

// HDFS is a Hadoop file system. Package dfs reads and writes files; the client library makes the other calls, one at a time
// on a connection: each operation uses its own connection, and idle ones are kept for reuse.
type HDFS struct {
	options HDFSOptions
	dfs     *dfs.Client

	mu     sync.Mutex
	free   []*session  // idle, the longest first
	expiry *time.Timer // closes the sessions that are idle for long; nil if there are none
	closed bool
	avoid  map[string]avoidedNode // DataNodes, by UUID
	open   map[*hdfsFile]struct{} // for reading
	plain  map[string]time.Time   // directories checked to have no erasure coding policy, with the time of the check

	expiring sync.WaitGroup // for expiry

	buffers sync.Pool // *[]byte, for the bytes of small files
	keys    keyServers
	near    favored
	late    atomic.Int64 // time, in ns, that DataNodes take to report a block that they have acknowledged
}

var _ interface {
	FS
	PolicySetter
} = (*HDFS)(nil)

// NewHDFS returns a client without connecting. The caller must close it.
func NewHDFS(o HDFSOptions) (*HDFS, error) {
	if len(o.Addresses) == 0 {
		return nil, errors.New("hdfs: no NameNode address")
	}
	if o.User == "" {
		return nil, errors.New("hdfs: no user")
	}
	o = o.withDefaults()
	d := dfs.Options{Addresses: o.Addresses, User: o.User, UseDatanodeHostname: o.UseDatanodeHostname, DialTimeout: o.DialTimeout, IOTimeout: o.IOTimeout}
	if s := o.Security; s != nil {
		d.Login, d.Data, d.DataKey = s.rpc(), s.Data, keyData
	}
	return &HDFS{options: o, dfs: dfs.New(d)}, nil
}

// Close closes the idle connections. Connections in use are closed with their files.
func (h *HDFS) Close() error {
	h.mu.Lock()
	free := h.free
	h.free, h.closed = nil, true
	if h.expiry != nil && h.expiry.Stop() {
		h.expiring.Done()
	}
	h.mu.Unlock()
	closeAll(free)
	h.expiring.Wait()
	h.dfs.Close()
	h.keys.close()
	return nil
}

// Stat implements [FS].
func (h *HDFS) Stat(ctx context.Context, name string) (fs.FileInfo, error) {
	info, err := h.stat(ctx, "stat", name)
	if err != nil {
		return nil, err
	}
	return info, nil
}

func (h *HDFS) stat(ctx context.Context, op, name string) (info hdfsInfo, err error) {
	err = h.about(ctx, op, name, func(name string) (err error) {
		info, err = h.statOnce(ctx, name)
		return err
	})
	return info, err
}

// statOnce describes a file by one call.
func (h *HDFS) statOnce(ctx context.Context, name string) (info hdfsInfo, err error) {
	err = h.once(ctx, func(c *hdfs.Client) error {
		fi, err := c.Stat(name)
		if err == nil {
			info = newHDFSInfo(fi)
		}
		return err
	})
	return info, err
}

// ReadDir implements [FS].
func (h *HDFS) ReadDir(ctx context.Context, name string) ([]fs.FileInfo, error) {
	info, err := h.stat(ctx, "readdir", name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: syscall.ENOTDIR}
	}
	var infos []fs.FileInfo
	err = h.retry(ctx, "readdir", name, func(c *hdfs.Client) error {
		list, err := c.ReadDir(path.Clean(name))
		infos = make([]fs.FileInfo, len(list))
		for i, fi := range list {
			infos[i] = newHDFSInfo(fi)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(infos, func(a, b fs.FileInfo) int { return cmp.Compare(a.Name(), b.Name()) })
	return infos, nil
}

// Remove implements [FS].
func (h *HDFS) Remove(ctx context.Context, name string) error {
	name, err := cleanName("remove", name)
	if err != nil {
		return err
	}
	tries := 0
	err = h.retry(ctx, "remove", name, func(c *hdfs.Client) error {
		tries++
		return c.Remove(name)
	})
	if tries > 1 && errors.Is(err, fs.ErrNotExist) {
		return nil // removed by an attempt whose answer was lost
	}
	return err
}

// RemoveAll implements [FS].
func (h *HDFS) RemoveAll(ctx context.Context, name string) error {
	return h.about(ctx, "remove", name, func(name string) error {
		return h.once(ctx, func(c *hdfs.Client) error { return c.RemoveAll(name) })
	})
}

// MkdirAll implements [FS]. The NameNode adds user write and execute to parents that it creates.
func (h *HDFS) MkdirAll(ctx context.Context, name string, perm fs.FileMode) error {
	return h.mkdir(ctx, name, perm, (*hdfs.Client).MkdirAll)
}

// Mkdir implements [FS].
func (h *HDFS) Mkdir(ctx context.Context, name string, perm fs.FileMode) error {
	return h.mkdir(ctx, name, perm, (*hdfs.Client).Mkdir)
}

func (h *HDFS) mkdir(ctx context.Context, name string, perm fs.FileMode, make func(*hdfs.Client, string, os.FileMode) error) error {
	name, err := cleanName("mkdir", name)
	if err != nil {
		return err
	}
	err = h.retry(ctx, "mkdir", name, func(c *hdfs.Client) error { return make(c, name, octal(perm)) })
	if errors.Is(err, fs.ErrExist) {
		// It was created concurrently, or it is a file.
		if info, e := h.stat(ctx, "mkdir", name); e == nil && info.IsDir() {
			return nil
		}
		return &fs.PathError{Op: "mkdir", Path: name, Err: syscall.ENOTDIR}
	}
	return err
}

// Chmod implements [FS].
func (h *HDFS) Chmod(ctx context.Context, name string, perm fs.FileMode) error {
	return h.about(ctx, "chmod", name, func(name string) error {
		return h.once(ctx, func(c *hdfs.Client) error { return c.Chmod(name, octal(perm)) })
	})
}

// UserRights returns the rights of users named in the ACL of a file or directory, each as the three bits of read (4), write (2) and execute
// (1) after the ACL's mask is applied. It is empty if there is no ACL, or if the ACL names no user. It costs a call only if there is an
// ACL. For a named user other than the owner, no other bits of the mode count.
func (h *HDFS) UserRights(ctx context.Context, name string, info fs.FileInfo) (rights map[string]fs.FileMode, err error) {
	const hasACL = 0x01 // of HdfsFileStatusProto.Flags, Hadoop 3
	st, ok := info.Sys().(*hdfs.FileStatus)
	if !ok || st.GetFlags()&hasACL == 0 {
		return nil, nil
	}
	err = h.about(ctx, "acl", name, func(name string) (err error) {
		rights, err = h.dfs.NamedUsers(ctx, name)
		return err
	})
	return rights, err
}

// SetStoragePolicy implements [PolicySetter].
func (h *HDFS) SetStoragePolicy(ctx context.Context, name, policy string) error {
	return h.about(ctx, "set storage policy", name, func(name string) error { return h.dfs.SetStoragePolicy(ctx, name, policy) })
}

// ErrNoChecksum is matched by errors of a file system without checksums from which a whole file's CRC-32C can be
// computed: DataNodes before Hadoop 3.1.1, checksums other than CRC-32C.
var ErrNoChecksum = dfs.ErrNoChecksum

// CRC32C returns the CRC-32C of a file's bytes, computed from the checksums that DataNodes store with its blocks, and the
// number of bytes that it covers. No data are read, so it is not verified that the data still match the checksums, as a read
// would. One replica of each block is queried. If the error is ErrNoChecksum, the file has to be read.
func (h *HDFS) CRC32C(ctx context.Context, name string) (sum uint32, size int64, err error) {
	info, err := h.stat(ctx, "checksum", name)
	if err != nil {
		return 0, 0, err
	}
	err = info.supported("checksum", name)
	if p, coded := info.coding(); coded && err == nil {
		err = fmt.Errorf("it is erasure coded (%s)", p.Name)
	}
	if err != nil {
		return 0, 0, &fs.PathError{Op: "checksum", Path: name, Err: fmt.Errorf("%w: %w", ErrNoChecksum, err)}
	}
	if info.encryption() != nil {
		return 0, 0, &fs.PathError{Op: "checksum", Path: name, Err: fmt.Errorf("%w: DataNodes have the checksums of its encrypted bytes", ErrNoChecksum)}
	}
	err = h.repeat(ctx, "checksum", name, func() error {
		sum, err = h.dfs.Checksum(ctx, name, info.Size())
		return err
	})
	return sum, info.Size(), err
}

// BeingWritten reports whether a file is open for writing: created or opened for append by a client that has not closed it,
// and whose lease has not been recovered. For such a file, Stat and ReadDir return the length without the block that is
// being written (0 while that is the first) or, if the file is being appended to, the previous length; and a modification
// time from before its writer closes it. No DataNode is queried.
func (h *HDFS) BeingWritten(ctx context.Context, name string) (open bool, err error) {
	err = h.about(ctx, "open", name, func(name string) error {
		l, err := h.dfs.Locate(ctx, name, 0, 0)
		open = l.Open
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		if info, e := h.stat(ctx, "open", name); e == nil && info.IsDir() {
			return false, nil
		}
	}
	return open, err
}
