package hdfsio

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"bulkload/internal/base/retry"

	"github.com/colinmarc/hdfs/v2"
)

const (
	// writePiece bounds one write to the library, which copies the whole of it before it sends.
	writePiece = 1 << 20
	// checksumChunk is what a block's size must be a multiple of.
	checksumChunk = 512
)

// Create implements [FS]. Its Writer keeps a NameNode connection, whose client holds the lease, until it is finished or
// aborted. A Writer does not notice a lost DataNode at once: the error may come from a later Write or from Finish. An
// interim file is made by Finish, or once it is large.
func (h *HDFS) Create(ctx context.Context, name string, o CreateOptions) (Writer, error) {
	name, err := cleanName("create", name)
	if err != nil {
		return nil, err
	}
	if err := h.checkTarget(ctx, name); err != nil {
		return nil, err
	}
	h.takeBack(ctx)
	o = o.withDefaults()
	if o.Interim {
		return &interimWriter{h: h, ctx: ctx, name: name, o: o}, nil
	}
	w, err := h.createLarge(ctx, name, o)
	if err != nil {
		return nil, err
	}
	return w, nil
}

// createLarge makes the file now.
func (h *HDFS) createLarge(ctx context.Context, name string, o CreateOptions) (*hdfsWriter, error) {
	started := time.Now()
	for attempt := 0; ; attempt++ {
		w, sent, err := h.create(ctx, name, o)
		if err == nil {
			return w, nil
		}
		if !transient(err) {
			return nil, h.denied(ctx, "create", pathError("create", name, err), name)
		}
		if err := h.pause(ctx, started, attempt, "create", name, err); err != nil {
			return nil, err
		}
		// The answer may have been lost after the act. Whether a file that is there now is ours cannot be determined, and its
		// lease belongs to a client that is gone.
		if !sent || answered(err) {
			continue
		}
		if _, e := h.stat(ctx, "create", name); e == nil {
			return nil, &RewriteError{Path: name, Err: err}
		} else if !errors.Is(e, fs.ErrNotExist) {
			return nil, e
		}
	}
}

// create makes one attempt and says whether the request left.
func (h *HDFS) create(ctx context.Context, name string, o CreateOptions) (w *hdfsWriter, sent bool, err error) {
	s, stop, err := h.acquire(ctx)
	if err != nil {
		return nil, false, err
	}
	block, replication := o.BlockSize, o.Replication
	if block == 0 || replication == 0 {
		d, err := s.client.ServerDefaults()
		if err != nil {
			h.release(s, stop, answered(err))
			return nil, false, err
		}
		if block == 0 {
			block = d.BlockSize
		}
		if replication == 0 {
			replication = d.Replication
		}
	}
	block = (block + checksumChunk - 1) / checksumChunk * checksumChunk
	f, err := s.client.CreateFile(name, replication, block, octal(o.Perm))
	if err != nil {
		h.release(s, stop, answered(err))
		return nil, true, err
	}
	return &hdfsWriter{h: h, ctx: ctx, s: s, stop: stop, f: f, name: name, block: block}, true, nil
}

type hdfsWriter struct {
	h    *HDFS
	ctx  context.Context
	s    *session // nil when given back
	stop func() bool
	f    *hdfs.FileWriter
	name string
	n    int64
	err  error
	done bool
	info fs.FileInfo // as Finish has left it

	block int64 // size of one
}

// Info implements [Finished].
func (w *hdfsWriter) Info() fs.FileInfo { return w.info }

func (w *hdfsWriter) Write(p []byte) (int, error) {
	if err := w.check(); err != nil {
		return 0, err
	}
	written := 0
	for len(p) > 0 {
		n, err := w.writeOnce(p[:min(len(p), writePiece)])
		written += n
		w.n += int64(n)
		if err != nil {
			return written, w.fail(err)
		}
		p = p[n:]
	}
	return written, nil
}

// writeOnce writes a piece. The NameNode may refuse the next block until the one before it has been reported; that
// passes.
func (w *hdfsWriter) writeOnce(p []byte) (int, error) {
	done := 0
	pauses := retry.Policy{First: 400 * time.Millisecond, Most: 10 * time.Second, For: 20 * time.Second}
	began := time.Now()
	for tries := 1; ; tries++ {
		n, err := w.f.Write(p[done:])
		done += n
		if e := w.s.dataNodeError(); e != nil {
			return done, e
		}
		wait, again := pauses.Next(began, tries)
		if javaClass(err) != notReplicatedYet || !again {
			return done, err
		}
		if err := retry.Sleep(w.ctx, wait); err != nil {
			return done, err
		}
	}
}

// Finish closes the file and compares its length with what was written.
func (w *hdfsWriter) Finish() error {
	if err := w.check(); err != nil {
		return err
	}
	ask := time.Now().Add(unreported)
	// A NameNode that has not heard of the block yet has so within a few milliseconds as a rule.
	pauses := retry.Policy{First: 2 * time.Millisecond, Most: 5 * time.Second, For: w.h.o.CloseTimeout}
	began := time.Now()
	for tries := 1; ; tries++ {
		err := w.f.Close()
		if e := w.s.dataNodeError(); e != nil {
			return w.fail(e)
		}
		if err == nil {
			break
		}
		if javaClass(err) == leaseExpired {
			break // an attempt whose answer was lost may have closed it: the length decides
		}
		if hdfs.IsErrReplicating(err) && time.Now().After(ask) {
			ask = time.Now().Add(unreported)
			if e := w.h.lostBlock(w.ctx, w.s.blocks.given()); e != nil {
				return w.fail(e)
			}
		}
		passes := hdfs.IsErrReplicating(err) || transient(err) && !ofBlock(err)
		wait, again := pauses.Next(began, tries)
		if !passes || !again {
			return w.fail(err)
		}
		if err := retry.Sleep(w.ctx, wait); err != nil {
			return w.fail(err)
		}
	}
	info, err := w.h.stat(w.ctx, "finish", w.name)
	if err != nil {
		return w.fail(err)
	}
	if info.Size() != w.n {
		return w.fail(lengthError(w.n, info.Size()))
	}
	w.done, w.info = true, info
	w.h.release(w.s, w.stop, true)
	w.s = nil
	return nil
}

// ofBlock reports whether an error is of the block's DataNodes: it will not get all its bytes any more. The client library's
// types of these are internal; a second Close of it would wait for a report of the block that never comes.
func ofBlock(err error) bool {
	return slices.ContainsFunc([]string{"Ack error from datanode", "invalid ack sequence number", "write failed:", "invalid response from datanode"},
		func(start string) bool { return strings.HasPrefix(err.Error(), start) })
}

// abortTimeout bounds the removal of a file by a job that was stopped: it may not have long.
const abortTimeout = 4 * time.Second

// Abort removes the file, in a time of its own: it is what a cancelled job calls.
func (w *hdfsWriter) Abort() error {
	if w.done {
		return nil
	}
	w.done = true
	w.giveUp(fs.ErrClosed)
	return w.h.removeLeft(w.ctx, w.name)
}

// removeLeft removes what there is of a file that was given up.
func (h *HDFS) removeLeft(ctx context.Context, name string) error {
	limit := h.o.IOTimeout
	if ctx.Err() != nil {
		limit = min(limit, abortTimeout)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	if err := h.Remove(ctx, name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (w *hdfsWriter) check() error {
	switch {
	case w.err != nil:
		return w.err
	case w.done:
		return &fs.PathError{Op: "write", Path: w.name, Err: fs.ErrClosed}
	case w.ctx.Err() != nil:
		return w.fail(context.Cause(w.ctx))
	}
	return nil
}

func (w *hdfsWriter) fail(err error) error {
	if w.ctx.Err() != nil {
		err = context.Cause(w.ctx) // the rest only follows from it
	}
	if pe := pathError("write", w.name, err); pe != nil {
		var inner *fs.PathError
		if errors.As(pe, &inner) {
			err = inner.Err
		}
	}
	if w.ctx.Err() == nil {
		err = w.h.diagnose(w.ctx, w.s, w.block, err)
	}
	w.err = &RewriteError{Path: w.name, Offset: w.n, Err: err}
	w.giveUp(err)
	return w.err
}

// giveUp ends the library's writer and the session, which stops renewing the lease.
func (w *hdfsWriter) giveUp(err error) {
	if w.s == nil {
		return
	}
	w.s.cut(err)
	// The connections are cut, so this only ends the writer's goroutines (see conn); its error says nothing new.
	_ = w.f.Close()
	w.h.release(w.s, w.stop, false)
	w.s = nil
}
