package hdfsio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"sync"
	"syscall"
	"time"

	"bulkload/internal/base/retry"
	"bulkload/internal/hadoop/dfs"
)

// readAttempts is the number of attempts of a read that DataNodes fail without a byte of progress. Each attempt already tries every replica.
const readAttempts = 6

// damagedAttempts is the same for a block that every DataNode has sent damaged: a bad disk stays bad, but
// bytes damaged in transit are not damaged again.
const damagedAttempts = 3

// BlockError reports a block that a DataNode did not send as it was written: a checksum is wrong, or the response does
// not match the request. None of its bytes were returned.
type BlockError = dfs.BlockError

// ErrBlockChecksum is wrapped by a [BlockError] for bytes that differ from the written ones.
var ErrBlockChecksum = dfs.ErrBlockChecksum

// Open implements [FS]. A failed read is resumed where it stopped. A file that cannot be read correctly gives a [FeatureError].
func (h *HDFS) Open(ctx context.Context, name string) (fs.File, error) {
	name, err := cleanName("open", name)
	if err != nil {
		return nil, err
	}
	info, err := h.stat(ctx, "open", name)
	if err != nil {
		return nil, err
	}
	var key *dfs.Cipher
	if !info.IsDir() {
		if err := info.supported("open", name); err != nil {
			return nil, err
		}
		if key, err = h.cipherOf(ctx, "open", name, info.encryption()); err != nil {
			return nil, err
		}
	}
	stream := func() hdfsStream {
		return hdfsStream{hdfs: h, ctx: ctx, name: name, info: info, r: h.reader(name, info), crypt: crypt{key: key}}
	}
	f := &hdfsFile{name: name, info: info, seq: stream(), at: stream()}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open == nil {
		h.open = make(map[*hdfsFile]struct{})
	}
	h.open[f] = struct{}{}
	return f, nil
}

// hdfsFile has one stream for Read and one for ReadAt, each connected on first use.
type hdfsFile struct {
	name string
	info hdfsInfo
	seq  hdfsStream

	mu sync.Mutex // guards at: the parallel ReadAts of one file take turns
	at hdfsStream
}

func (f *hdfsFile) Stat() (fs.FileInfo, error) { return f.info, nil }

func (f *hdfsFile) Read(p []byte) (int, error) { return f.seq.read(p) }

func (f *hdfsFile) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, &fs.PathError{Op: "readat", Path: f.name, Err: errors.New("negative offset")}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at.off = off
	n := 0
	for n < len(p) {
		m, err := f.at.read(p[n:])
		n += m
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// Close closes both streams. It must not be called while a Read or ReadAt is in progress: end the context for that.
func (f *hdfsFile) Close() error {
	f.seq.hdfs.forget(f)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seq.close()
	f.at.close()
	return nil
}

var _ io.ReaderAt = (*hdfsFile)(nil)

// hdfsStream reads forward from a position.
type hdfsStream struct {
	hdfs *HDFS
	ctx  context.Context
	name string
	info hdfsInfo

	r      blocks
	off    int64 // of the next read
	crypt  crypt
	closed bool
}

func (r *hdfsStream) read(p []byte) (int, error) {
	switch {
	case r.closed:
		return 0, &fs.PathError{Op: "read", Path: r.name, Err: fs.ErrClosed}
	case r.info.IsDir():
		return 0, &fs.PathError{Op: "read", Path: r.name, Err: syscall.EISDIR}
	case r.off >= r.info.Size():
		return 0, io.EOF
	case len(p) == 0:
		return 0, nil
	}
	p = p[:min(int64(len(p)), r.info.Size()-r.off)] // a file that has grown may return more
	pauses := retry.Policy{First: 250 * time.Millisecond, Most: 4 * time.Second}
	for attempt := 1; ; attempt++ {
		n, err := r.readBlocks(p)
		if err == nil {
			r.crypt.apply(p[:n], p[:n], r.off)
			r.off += int64(n)
			return n, nil
		}
		if r.ctx.Err() != nil {
			return 0, &fs.PathError{Op: "read", Path: r.name, Err: context.Cause(r.ctx)}
		}
		if e, damaged := errors.AsType[*BlockError](err); damaged && attempt >= damagedAttempts {
			return 0, pathError("read", r.name, fmt.Errorf("at byte %d no datanode has good bytes: %w (remove damaged replicas, which `hdfs fsck %s -files -blocks -locations` lists, or write the file again)", r.off, e, r.name))
		}
		_, ended := errors.AsType[*fs.PathError](err) // waiting for a NameNode
		if ended || !transient(err) || errors.Is(err, dfs.ErrReplaced) || attempt == readAttempts {
			return 0, pathError("read", r.name, fmt.Errorf("at byte %d: %w", r.off, err))
		}
		r.hdfs.options.Log.Warn("hdfs read is repeated", "path", r.name, "offset", r.off, "try", attempt, "error", err)
		if err := pauses.Sleep(r.ctx, attempt); err != nil {
			return 0, &fs.PathError{Op: "read", Path: r.name, Err: err}
		}
	}
}

// readBlocks reads from the blocks. While no NameNode can be reached, or none is active, it repeats that as any other call.
func (r *hdfsStream) readBlocks(p []byte) (int, error) {
	began := time.Now()
	for tries := 0; ; tries++ {
		n, err := r.r.ReadAt(r.ctx, p, r.off)
		if !byNameNode(err) || !transient(err) {
			return n, err
		}
		if err := r.hdfs.pause(r.ctx, began, tries, "read", r.name, err); err != nil {
			return 0, err
		}
	}
}

func (r *hdfsStream) close() {
	r.r.Close()
	r.closed = true
}

// Rest closes unused connections: idle ones, and the DataNode streams of open files between two calls of ReadAt. They are
// reconnected when needed, so a reader that is delayed for hours holds no resources of the cluster meanwhile. Streams of Read,
// and files that are being written, are unaffected.
func (h *HDFS) Rest() {
	h.mu.Lock()
	open := make([]*hdfsFile, 0, len(h.open))
	for f := range h.open {
		open = append(open, f)
	}
	free := h.free
	h.free = nil
	h.mu.Unlock()
	for _, f := range open {
		if f.mu.TryLock() {
			f.at.r.Close()
			f.mu.Unlock()
		}
	}
	closeAll(free)
	h.dfs.Rest()
}

// forget removes a closed file from h.open.
func (h *HDFS) forget(f *hdfsFile) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.open, f)
}

// blocks reads the bytes of a file from its blocks.
type blocks interface {
	ReadAt(ctx context.Context, p []byte, off int64) (int, error)
	Close()
}

// reader returns a reader of a striped or replicated file. It does not connect.
func (h *HDFS) reader(name string, info hdfsInfo) blocks {
	id, _ := info.FileID()
	if p, coded := info.coding(); coded {
		return h.dfs.OpenStriped(name, id, info.Size(), p)
	}
	return h.dfs.Open(name, id, info.Size())
}

// coding returns the erasure coding policy of a file, or the policy of new files in a directory.
func (i hdfsInfo) coding() (p dfs.Policy, coded bool) {
	policy := i.status().GetEcPolicy()
	if policy == nil {
		return p, false
	}
	const replication = 0 // the number of the policy that gives a directory below a coded one replicated files
	schema := policy.GetSchema()
	p = dfs.PolicyOf(policy.GetId(), dfs.Policy{Name: policy.GetName(), Codec: schema.GetCodecName(),
		Data: int(schema.GetDataUnits()), Parity: int(schema.GetParityUnits()), Cell: int64(policy.GetCellSize())})
	return p, policy.GetId() != replication
}

// FeatureError refuses a file or a directory that uses an HDFS feature that this client does not support. The client writes no erasure
// coded files, and reads those of the codecs rs and xor.
type FeatureError struct {
	Op, Path string
	Feature  string // such as "erasure coded (RS-LEGACY-6-3-1024k)"
	Advice   string
}

func (e *FeatureError) Error() string {
	return fmt.Sprintf("%s %s: it is %s, which is not supported: %s", e.Op, e.Path, e.Feature, e.Advice)
}

// supported returns a [FeatureError] for op on name if i describes a file that this client cannot read correctly: one with a policy of
// erasure coding that it does not read.
func (i hdfsInfo) supported(op, name string) error {
	p, coded := i.coding()
	if !coded || p.Supported() {
		return nil
	}
	return &FeatureError{op, name, "erasure coded (" + p.Name + ")", "copy it to a replicated directory (hdfs dfs -cp)"}
}

// codedFrom returns the highest directory from which dir has its policy of erasure coding: a directory that a job has made in it is gone
// when someone reads the message.
func (h *HDFS) codedFrom(ctx context.Context, dir string, policy dfs.Policy) string {
	for dir != "/" {
		above, err := h.stat(ctx, "create", path.Dir(dir))
		if err != nil {
			break
		}
		if p, coded := above.coding(); !coded || p.Name != policy.Name {
			break
		}
		dir = path.Dir(dir)
	}
	return dir
}

// checkTarget refuses directories with an erasure coding policy, see [FeatureError].
func (h *HDFS) checkTarget(ctx context.Context, name string) error {
	dir := path.Dir(name)
	h.mu.Lock()
	seen := h.plain[dir]
	h.mu.Unlock()
	if time.Since(seen) < plainFor {
		return nil
	}
	info, err := h.stat(ctx, "create", dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &fs.PathError{Op: "create", Path: name, Err: syscall.ENOTDIR}
	}
	if p, coded := info.coding(); coded {
		advice := "give it replicas by hdfs ec -setPolicy -replicate -path " + h.codedFrom(ctx, dir, p)
		return &FeatureError{"create", name, "erasure coded (" + p.Name + ")", advice}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.plain, func(_ string, at time.Time) bool { return time.Since(at) >= plainFor })
	if h.plain == nil {
		h.plain = map[string]time.Time{}
	}
	h.plain[dir] = time.Now()
	return nil
}

// plainFor is how long the check of a directory stays valid: many small files are written to one.
const plainFor = time.Second
