package hdfsio

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"bulkload/internal/base/retry"
)

// smallFile is up to which size in bytes an interim file is held until Finish, which then makes, writes and closes it in three
// calls of the NameNode and one connection to a DataNode. The client library makes six calls for that, and one of them has the
// NameNode write to its journal for nothing (updateBlockForPipeline).
const smallFile = 256 << 10

// smallFiles is what the small files of a client share.
type smallFiles struct {
	once   sync.Once
	client string // holder of the leases

	late atomic.Int64 // how long, in ns, DataNodes take to report a block that they have acknowledged

	mu       sync.Mutex
	defaults serverDefaults
	asked    time.Time // when they were asked for

	peers   peers
	buffers sync.Pool // *[]byte, for the bytes of a file and for packets
}

// buffer is an empty one.
func (s *smallFiles) buffer() *[]byte {
	b, _ := s.buffers.Get().(*[]byte)
	if b == nil {
		b = new([]byte)
	}
	*b = (*b)[:0]
	return b
}

func (s *smallFiles) close() { s.peers.close() }

// clientName is the holder of the leases. They end with Finish, long before they would have to be renewed.
func (s *smallFiles) clientName() string {
	s.once.Do(func() { s.client = "bulkload-" + rand.Text() })
	return s.client
}

// interimWriter is a file that is renamed once it is finished. It is not looked for before that, so a small one is made by
// Finish. Whatever goes wrong there is tried once more in the way of large files, which knows what to do about each fault.
type interimWriter struct {
	h    *HDFS
	ctx  context.Context
	name string
	o    CreateOptions

	held  *[]byte     // nil: nothing yet, or not any more
	n     int         // bytes of it
	large *hdfsWriter // once the file is not small any more
	file  *smallInfo  // once it is finished as a small one
	block *givenBlock
	made  bool // the name may be there, without the file
	err   error
	done  bool
}

func (w *interimWriter) Write(p []byte) (int, error) {
	if err := w.check(); err != nil {
		return 0, err
	}
	if w.large == nil && w.n+len(p) <= smallFile {
		if w.held == nil {
			w.held = w.h.small.buffer()
		}
		*w.held = append(*w.held, p...)
		w.n = len(*w.held)
		return len(p), nil
	}
	if err := w.enlarge(); err != nil {
		return 0, err
	}
	return w.large.Write(p)
}

// enlarge writes what is held in the way of large files.
func (w *interimWriter) enlarge() error {
	if w.large != nil {
		return nil
	}
	if w.large, w.err = w.h.createLarge(w.ctx, w.name, w.o); w.err != nil {
		return w.err
	}
	if w.held == nil {
		return nil
	}
	_, err := w.large.Write(*w.held)
	w.letGo()
	return err
}

// letGo gives the bytes of the file up.
func (w *interimWriter) letGo() {
	if w.held != nil {
		w.h.small.buffers.Put(w.held)
		w.held = nil
	}
}

// Finish implements [Writer].
func (w *interimWriter) Finish() error {
	if err := w.check(); err != nil {
		return err
	}
	if w.large == nil && w.n > 0 {
		err := w.finishSmall()
		if err == nil {
			w.done, w.made = true, false
			w.letGo()
			return nil
		}
		if w.ctx.Err() != nil {
			err = context.Cause(w.ctx)
		}
		if w.ctx.Err() != nil || errors.Is(err, ErrRewrite) {
			w.err = &RewriteError{Path: w.name, Offset: int64(w.n), Err: err}
			return w.err
		}
		w.h.o.Log.Warn("a small file is written once more", "path", w.name, "error", err)
	}
	if err := w.enlarge(); err != nil {
		return err
	}
	return w.large.Finish()
}

// Abort implements [Writer].
func (w *interimWriter) Abort() error {
	if w.large != nil {
		return w.large.Abort()
	}
	w.done = true
	w.letGo()
	if !w.made {
		return nil
	}
	w.made = false
	return w.h.removeLeft(w.ctx, w.name)
}

// Info implements [Finished].
func (w *interimWriter) Info() fs.FileInfo {
	switch {
	case w.large != nil:
		return w.large.Info()
	case w.file != nil:
		return *w.file
	}
	return nil
}

func (w *interimWriter) check() error {
	switch {
	case w.err != nil:
		return w.err
	case w.done:
		return &fs.PathError{Op: "write", Path: w.name, Err: fs.ErrClosed}
	case w.ctx.Err() != nil && w.large == nil:
		w.err = &RewriteError{Path: w.name, Offset: int64(w.n), Err: context.Cause(w.ctx)}
		return w.err
	}
	return nil
}

// finishSmall makes the file. An error that is an [ErrRewrite] leaves something of that name behind; after others there is
// nothing.
func (w *interimWriter) finishSmall() error {
	d, err := w.h.serverDefaults(w.ctx)
	if err != nil {
		return err
	}
	block := uint64(w.o.BlockSize)
	if block == 0 {
		block = d.block
	}
	replication := uint64(w.o.Replication)
	if replication == 0 {
		replication = d.replication
	}
	block = (block + checksumChunk - 1) / checksumChunk * checksumChunk
	if block < uint64(w.n) {
		return errors.New("the file has several blocks")
	}
	client := w.h.small.clientName()
	r := appendText(nil, 1, w.name) // CreateRequestProto
	r = appendMessage(r, 2, appendVarint(nil, 1, uint64(octal(w.o.Perm))))
	r = appendText(r, 3, client)
	r = appendVarint(r, 4, 1) // CREATE, which refuses a name that exists
	r = appendVarint(r, 5, 0) // not its parents
	r = appendVarint(r, 6, replication)
	r = appendVarint(r, 7, block)
	answer, sent, err := w.h.ask(w.ctx, "create", r)
	if err != nil {
		if !sent || answered(err) {
			return err
		}
		// Whether a file that is there now is ours cannot be determined.
		if _, e := w.h.stat(w.ctx, "create", w.name); !errors.Is(e, fs.ErrNotExist) {
			return errors.Join(ErrRewrite, err)
		}
		return err
	}
	w.made = true
	status, _ := fieldBytes(answer, 1)
	id := fieldNumber(status, 13)
	if err := w.fill(client, id, d.encrypted); err != nil {
		if w.ctx.Err() == nil && w.block != nil {
			w.h.leaveOut(w.ctx, w.block)
		}
		if e := w.h.removeLeft(w.ctx, w.name); e != nil {
			return errors.Join(ErrRewrite, err, e)
		}
		w.made = false
		return err
	}
	w.file = &smallInfo{name: path.Base(w.name), size: int64(w.n), mode: w.o.Perm, id: id, made: time.UnixMilli(int64(fieldNumber(status, 7)))}
	return nil
}

// fill writes the block of the file that was made, and closes it.
func (w *interimWriter) fill(client string, id uint64, encrypted bool) error {
	r := appendVarint(appendText(appendText(nil, 1, w.name), 2, client), 5, id) // AddBlockRequestProto
	for _, n := range w.h.avoided() {
		r = appendMessage(r, 4, n)
	}
	answer, _, err := w.h.ask(w.ctx, "addBlock", r)
	if err != nil {
		return err
	}
	located, _ := fieldBytes(answer, 1)
	given, ok := parseGivenBlock(answer)
	if !ok {
		return errors.New("the namenode's answer to addBlock is malformed")
	}
	w.block = given
	token, _ := fieldBytes(located, 5)
	if err := w.h.writeBlock(w.ctx, blockWrite{given: given, token: token, client: client, encrypted: encrypted, data: *w.held}); err != nil {
		return err
	}
	return w.complete(client, id)
}

// complete closes the file. The call says which bytes the last block has; the NameNode says yes once as many DataNodes have
// reported so as it wants.
func (w *interimWriter) complete(client string, id uint64) error {
	last := appendVarint(append([]byte(nil), w.block.id...), 4, uint64(w.n)) // ExtendedBlockProto with its length
	r := appendText(appendText(nil, 1, w.name), 2, client)                   // CompleteRequestProto
	r = appendVarint(appendMessage(r, completeLast, last), completeFileID, id)
	pauses := retry.Policy{First: 2 * time.Millisecond, Most: 5 * time.Second, For: w.h.o.CloseTimeout}
	began, asked := time.Now(), time.Now().Add(unreported)
	if err := retry.Sleep(w.ctx, time.Duration(w.h.small.late.Load())); err != nil {
		return err
	}
	for tries := 1; ; tries++ {
		answer, _, err := w.h.ask(w.ctx, "complete", r)
		if err == nil && fieldNumber(answer, 1) == 1 {
			w.h.small.reported(tries)
			return nil
		}
		if err != nil && !transient(err) {
			return err
		}
		if err == nil && time.Now().After(asked) {
			asked = time.Now().Add(unreported)
			if err := w.h.lostBlock(w.ctx, w.block); err != nil {
				return err
			}
		}
		wait, again := pauses.Next(began, tries)
		if !again {
			return errors.Join(errors.New("the namenode has not heard of the block"), err)
		}
		if err := retry.Sleep(w.ctx, wait); err != nil {
			return err
		}
	}
}

// mostLate bounds the wait before the first question whether a block is reported.
const mostLate = 8 * time.Millisecond

// reported learns from how often the NameNode had to be asked how long the next file waits before it asks.
func (s *smallFiles) reported(tries int) {
	late := s.late.Load()
	if tries > 1 {
		late = min(late+int64(time.Millisecond), int64(mostLate))
	} else {
		late -= late / 16
	}
	s.late.Store(late)
}
