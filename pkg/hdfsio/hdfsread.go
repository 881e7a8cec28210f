package hdfsio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"sync"
	"syscall"
	"time"

	"bulkload/internal/base/retry"

	"github.com/colinmarc/hdfs/v2"
)

// readAttempts is how often a read is begun again without a byte of progress. Each attempt already tries every replica.
const readAttempts = 6

// damagedAttempts is the same for a block that no DataNode has sent in good bytes: a bad disk stays bad, bytes that
// were damaged on their way are not so again.
const damagedAttempts = 3

// mostSkip is how far ahead a stream reads on rather than connect again.
const mostSkip = 64 << 10

// Open implements [FS]. A read that fails is begun again where it stopped. A file that cannot be read right gives a [FeatureError].
func (h *HDFS) Open(ctx context.Context, name string) (fs.File, error) {
	name, err := cleanName("open", name)
	if err != nil {
		return nil, err
	}
	info, err := h.stat(ctx, "open", name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		if err := info.supported("open", name); err != nil {
			return nil, err
		}
	}
	f := &hdfsFile{
		name: name, info: info,
		seq: hdfsStream{h: h, ctx: ctx, name: name, info: info},
		at:  hdfsStream{h: h, ctx: ctx, name: name, info: info},
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open == nil {
		h.open = make(map[*hdfsFile]struct{})
	}
	h.open[f] = struct{}{}
	return f, nil
}

// hdfsFile has one stream for Read and one for ReadAt, each connected when first used.
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
	f.at.seek(off)
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
	f.seq.h.forget(f)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seq.close()
	f.at.close()
	return nil
}

var _ io.ReaderAt = (*hdfsFile)(nil)

// hdfsStream reads forward from a place.
type hdfsStream struct {
	h    *HDFS
	ctx  context.Context
	name string
	info hdfsInfo

	s      *session
	stop   func() bool
	f      *hdfs.FileReader
	pos    int64 // of f
	off    int64 // of the next read
	most   int   // bytes of one read of f
	closed bool
}

func (r *hdfsStream) seek(off int64) { r.off = off }

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
	p = p[:min(int64(len(p)), r.info.Size()-r.off)] // a file that has grown may give more
	pauses := retry.Policy{First: 250 * time.Millisecond, Most: 4 * time.Second}
	for attempt := 1; ; attempt++ {
		n, err := r.readOnce(p)
		if n > 0 {
			r.off += int64(n)
			return n, nil
		}
		if err == nil {
			err = io.ErrNoProgress
		}
		if err == io.EOF {
			err = io.ErrUnexpectedEOF // the file has more bytes than this
		}
		err = r.blame(err)
		r.drop(false)
		if r.ctx.Err() != nil {
			return 0, &fs.PathError{Op: "read", Path: r.name, Err: context.Cause(r.ctx)}
		}
		if blockError(err) != nil && attempt >= damagedAttempts {
			return 0, pathError("read", r.name, fmt.Errorf("at byte %d no datanode has good bytes: %w (`hdfs fsck %s -files -blocks -locations` says where its replicas are; "+
				"remove the damaged ones if there is a good one, else put the file there again)", r.off, err, r.name))
		}
		if answered(err) || errors.Is(err, errReplaced) || attempt == readAttempts {
			return 0, pathError("read", r.name, fmt.Errorf("at byte %d: %w", r.off, err))
		}
		r.h.o.Log.Warn("hdfs read is repeated", "path", r.name, "offset", r.off, "try", attempt, "error", err)
		if err := pauses.Sleep(r.ctx, attempt); err != nil {
			return 0, &fs.PathError{Op: "read", Path: r.name, Err: err}
		}
	}
}

var errReplaced = errors.New("the file was replaced while it was read")

func (r *hdfsStream) readOnce(p []byte) (int, error) {
	if r.f == nil {
		if err := r.open(); err != nil {
			return 0, err
		}
	}
	if r.pos != r.off {
		if err := r.move(); err != nil {
			return 0, err
		}
	}
	n, err := r.f.Read(p[:min(len(p), r.most)])
	r.pos += int64(n)
	return n, err
}

// move brings f to where the next read is. The library's Seek would skip a short way within a block itself, and lose
// count of it: the next DataNode would be asked for bytes that are before the place.
func (r *hdfsStream) move() error {
	if skip := r.off - r.pos; skip > 0 && skip <= mostSkip {
		n, err := io.CopyN(io.Discard, readsMost{r.f, r.most}, skip)
		r.pos += n
		return err
	}
	_, err := r.f.Seek(r.off, io.SeekStart)
	r.pos = r.off
	return err
}

// readsMost reads few bytes at a time.
type readsMost struct {
	r    io.Reader
	most int
}

func (r readsMost) Read(p []byte) (int, error) { return r.r.Read(p[:min(len(p), r.most)]) }

// blame adds to the last error of a read that a DataNode before it sent a damaged block.
func (r *hdfsStream) blame(err error) error {
	if r.s == nil || blockError(err) != nil {
		return err
	}
	if e := blockError(r.s.dataNodeError()); e != nil {
		return fmt.Errorf("%w; before that %w", err, e)
	}
	return err
}

func (r *hdfsStream) open() error {
	s, stop, err := r.h.acquire(r.ctx)
	if err != nil {
		return err
	}
	f, err := s.client.Open(r.name)
	if err != nil {
		r.h.release(s, stop, answered(err))
		return err
	}
	r.s, r.stop, r.f, r.pos, r.most = s, stop, f, 0, math.MaxInt
	now := newHDFSInfo(f.Stat())
	was, _ := r.info.FileID()
	if is, _ := now.FileID(); is != was || now.Size() < r.info.Size() {
		return errReplaced
	}
	if r.off > 0 {
		if _, err := f.Seek(r.off, io.SeekStart); err != nil {
			return err
		}
		r.pos = r.off
	}
	defaults, err := s.client.ServerDefaults()
	if err == nil && defaults.EncryptDataTransfer {
		// blockConn cannot look into it. In reads that are shorter than what has a checksum, the library compares it before
		// it hands the bytes out.
		r.most = max(min(defaults.BytesPerChecksum, checksumChunk)-1, 1)
	}
	return err
}

// drop gives the session back; one that saw an error is not used again.
func (r *hdfsStream) drop(sound bool) {
	if r.f != nil {
		_ = r.f.Close() // reading: nothing to lose
		r.h.release(r.s, r.stop, sound)
	}
	r.s, r.stop, r.f = nil, nil, nil
}

func (r *hdfsStream) close() {
	r.drop(true)
	r.closed = true
}
