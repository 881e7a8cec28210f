package hdfsio

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"
	"time"

	"bulkload/internal/base/retry"
	"bulkload/internal/hadoop/dfs"
)

// Create implements [FS]. Its Writer renews the file's lease until it is finished or aborted. A Writer may detect a lost DataNode
// late: the error may be returned by a later Write or by Finish. Finish creates an interim file, unless it has become large before.
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
		return &interimWriter{writing: writing{ctx: ctx, name: name}, hdfs: h, options: o}, nil
	}
	w, err := h.create(ctx, name, o)
	if err != nil {
		return nil, err
	}
	return w, nil
}

// create creates the file immediately.
func (h *HDFS) create(ctx context.Context, name string, o CreateOptions) (*hdfsWriter, error) {
	started := time.Now()
	for attempt := 0; ; attempt++ {
		file, sent, err := h.dfs.Create(ctx, name, uint32(octal(o.Perm)), o.BlockSize, int64(o.Replication))
		if err == nil {
			return h.writerOf(ctx, name, o, file)
		}
		if javaClass(err) == beingCreated {
			err = fs.ErrExist
		}
		if !transient(err) {
			return nil, h.denied(ctx, "create", pathError("create", name, err), name)
		}
		if err := h.pause(ctx, started, attempt, "create", name, err); err != nil {
			return nil, err
		}
		// The response may have been lost after the call was executed. Whether a file that exists now is ours cannot be
		// determined, and its lease belongs to a client that is gone.
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

// writerOf returns the writer of a created file. In an encryption zone it requests the file's key; if that fails, it removes the file.
func (h *HDFS) writerOf(ctx context.Context, name string, o CreateOptions, file *dfs.File) (*hdfsWriter, error) {
	w := &hdfsWriter{writing: writing{ctx: ctx, name: name}, hdfs: h, perm: o.Perm, file: file, near: h.near.address(ctx, o.Near)}
	key, err := h.cipherOf(ctx, "create", name, file.Encryption)
	if err != nil {
		return nil, errors.Join(err, w.Abort())
	}
	w.crypt.key = key
	return w, nil
}

// hdfsWriter writes a file block by block.
type hdfsWriter struct {
	writing
	hdfs *HDFS
	perm fs.FileMode
	file *dfs.File
	near string // server for the first replica of a block

	given  dfs.Block        // the block allocated last
	block  *dfs.BlockWriter // writer of given; nil when it is complete
	last   *dfs.Block       // the last complete block, with its length
	blocks int              // number of blocks allocated
	crypt  crypt

	info fs.FileInfo // the file after Finish
}

func (w *hdfsWriter) Info() fs.FileInfo { return w.info }

func (w *hdfsWriter) Write(p []byte) (int, error) {
	if err := w.check(); err != nil {
		return 0, err
	}
	written := 0
	for len(p) > 0 {
		n, err := w.writeOnce(p)
		written += n
		w.n += int64(n)
		if err != nil {
			return written, w.fail(err)
		}
		p = p[n:]
	}
	return written, nil
}

// writeOnce writes as many bytes of p as the current block can take.
func (w *hdfsWriter) writeOnce(p []byte) (int, error) {
	if w.block == nil {
		if err := w.nextBlock(w.askBlock); err != nil {
			return 0, err
		}
	}
	p = p[:min(int64(len(p)), w.file.BlockSize-w.block.Size())]
	n, err := w.block.Write(w.crypt.encrypt(p, w.n))
	if err == nil && w.block.Size() == w.file.BlockSize {
		err = w.endBlock()
	}
	return n, err
}

// nextBlock begins a block. The NameNode may temporarily refuse it until the previous block has been reported, and none may be active.
func (w *hdfsWriter) nextBlock(ask func() error) error {
	pauses := retry.Policy{First: 400 * time.Millisecond, Most: 10 * time.Second, For: 20 * time.Second}
	began, tries := time.Now(), 0
	refused, refusals := began, 0
	for {
		err := ask()
		wait, again := pauses.Next(refused, refusals+1)
		switch {
		case javaClass(err) == notReplicatedYet && again:
			refusals++
			if err := retry.Sleep(w.ctx, wait); err != nil {
				return err
			}
		case byNameNode(err) && transient(err):
			if err := w.hdfs.pause(w.ctx, began, tries, "write", w.name, err); err != nil {
				return err
			}
			tries++
			refused, refusals = time.Now(), 0 // the DataNodes report the previous block to the NameNode that is active now
		default:
			return err
		}
	}
}

// askBlock asks the NameNode for the next block and begins to write it. If no NameNode serves that, it may be repeated. A DataNode that is asked for, and has
// no disk of the storage policy, is not considered again for another type of disk (chooseFavouredNodes in BlockPlacementPolicyDefault of Hadoop 3.4), so
// the block is asked for once more without it.
func (w *hdfsWriter) askBlock() error {
	given, err := w.file.AddBlock(w.ctx, w.last, w.hdfs.avoided(), w.near)
	if remote, ok := errors.AsType[*dfs.RemoteError](err); ok && w.near != "" && strings.Contains(remote.Message(), noPlace) {
		given, err = w.file.AddBlock(w.ctx, w.last, w.hdfs.avoided(), "")
	}
	if err != nil {
		return &dfs.NameNodeError{Err: err}
	}
	w.given = given
	if w.block, err = w.file.WriteBlock(w.ctx, given); err == nil {
		w.blocks++
	}
	return err
}

func (w *hdfsWriter) endBlock() (err error) {
	if w.block != nil {
		w.last, err = w.block.Close()
		w.block = nil
	}
	return err
}

// Finish closes the file and compares its length with the number of bytes written.
func (w *hdfsWriter) Finish() error { return w.finish(false) }

// finish closes the file. If single is set, a file of one block is described without another call, because the call that closes it
// carries its length.
func (w *hdfsWriter) finish(single bool) error {
	if err := w.check(); err != nil {
		return err
	}
	if err := w.endBlock(); err != nil {
		return w.fail(err)
	}
	if err := w.complete(); err != nil {
		return w.fail(err)
	}
	w.file.Release()
	if single && w.blocks == 1 {
		w.done, w.info = true, knownInfo{path.Base(w.name), w.n, w.perm, w.file.ID, w.file.Made}
		return nil
	}
	info, err := w.hdfs.stat(w.ctx, "finish", w.name)
	if err != nil {
		return w.fail(err)
	}
	if info.Size() != w.n {
		return w.fail(lengthError(w.n, info.Size()))
	}
	w.done, w.info = true, info
	return nil
}

// complete asks the NameNode to close the file. The NameNode confirms when enough DataNodes have reported the last block,
// usually within a few milliseconds.
func (w *hdfsWriter) complete() error {
	pauses := retry.Policy{First: 2 * time.Millisecond, Most: 5 * time.Second, For: w.hdfs.options.CloseTimeout}
	began, ask := time.Now(), time.Now().Add(unreported)
	if err := retry.Sleep(w.ctx, time.Duration(w.hdfs.late.Load())); err != nil {
		return err
	}
	for tries := 1; ; tries++ {
		done, err := w.file.Complete(w.ctx, w.last)
		switch {
		case done:
			w.hdfs.reported(tries)
			return nil
		case javaClass(err) == leaseExpired && tries > 1:
			return w.closed(err)
		case err != nil && !transient(err):
			return err
		case err == nil && w.last != nil && time.Now().After(ask):
			ask = time.Now().Add(unreported)
			if err := w.hdfs.lostBlock(w.ctx, w.given); err != nil {
				return err
			}
		}
		wait, again := pauses.Next(began, tries)
		if !again {
			return errors.Join(errors.New("the namenode has not heard of the last block from its datanodes"), err)
		}
		if err := retry.Sleep(w.ctx, wait); err != nil {
			return err
		}
	}
}

// closed returns nil if a close whose response was lost has closed the file, otherwise an error.
func (w *hdfsWriter) closed(err error) error {
	info, e := w.hdfs.stat(w.ctx, "finish", w.name)
	if e != nil {
		return errors.Join(err, e)
	}
	if id, _ := info.FileID(); id != w.file.ID || info.Size() != w.n {
		return err
	}
	return nil
}

// maxLate limits the wait before the first complete call.
const maxLate = 8 * time.Millisecond

// reported adjusts the next file's wait before its first complete call to the number of calls that were needed.
func (h *HDFS) reported(tries int) {
	late := h.late.Load()
	if tries > 1 {
		late = min(late+int64(time.Millisecond), int64(maxLate))
	} else {
		late -= late / 16
	}
	h.late.Store(late)
}

// abortTimeout limits the removal of a file by a stopped job, which may have little time.
const abortTimeout = 4 * time.Second

// Abort removes the file with its own timeout, because cancelled jobs call it.
func (w *hdfsWriter) Abort() error {
	if w.done {
		return nil
	}
	w.done = true
	w.giveUp()
	return w.hdfs.removeLeft(w.ctx, w.name)
}

// removeLeft removes an abandoned file, if it exists.
func (h *HDFS) removeLeft(ctx context.Context, name string) error {
	limit := h.options.IOTimeout
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
	if w.err == nil && !w.done && w.ctx.Err() != nil {
		return w.fail(context.Cause(w.ctx))
	}
	return w.writing.check()
}

func (w *hdfsWriter) fail(err error) error {
	if w.ctx.Err() != nil {
		err = context.Cause(w.ctx) // other errors only follow from it
	}
	if pe, ok := errors.AsType[*fs.PathError](pathError("write", w.name, err)); ok {
		err = pe.Err
	}
	if w.ctx.Err() == nil {
		err = w.diagnose(err)
	}
	w.err = &RewriteError{Path: w.name, Offset: w.n, Err: err}
	w.giveUp()
	return w.err
}

// giveUp ends the current block and the renewal of the lease.
func (w *hdfsWriter) giveUp() {
	if w.block != nil {
		w.block.Abort()
		w.block = nil
	}
	w.file.Release()
}
