package hbaserpc

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"bulkload/internal/hadoop/frames"
)

// tap is a connection that records its first error and the number of bytes written, bounds each write and the silence of the server, and
// checks answers before gohbase reads them.
type tap struct {
	net.Conn
	writeTimeout time.Duration
	silence      time.Duration  // how long the server may be silent while an answer is due
	frames       *frames.Filter // of what is read
	written      atomic.Int64
	broken       chan struct{} // closed at the first failure

	mu  sync.Mutex
	due int // answers
	err error
}

func newTap(nc net.Conn, writeTimeout, silence time.Duration) *tap {
	return &tap{Conn: nc, writeTimeout: writeTimeout, silence: silence, frames: newAnswerFilter(), broken: make(chan struct{})}
}

// SetReadDeadline does nothing. gohbase sets a later deadline with each call, so that a server that is frozen would not be noticed while
// calls keep arriving, and it may set one after the answer, which a later call would meet. The tap counts requests and answers itself.
func (t *tap) SetReadDeadline(time.Time) error { return nil }

// sending notes a request. It does not prolong the wait for earlier answers.
func (t *tap) sending() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.due++; t.due > 1 {
		return nil
	}
	return t.Conn.SetReadDeadline(time.Now().Add(t.silence))
}

// received notes bytes from the server, with the ends of n answers. From here on it may be silent again.
func (t *tap) received(n int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	until := time.Time{}
	if t.due = max(0, t.due-n); t.due > 0 {
		until = time.Now().Add(t.silence)
	}
	return t.Conn.SetReadDeadline(until)
}

// Read hides an error of the deadline, which a connection has that was closed meanwhile: gohbase gets the answer that was read. The next read
// meets the same error.
func (t *tap) Read(p []byte) (int, error) {
	before := t.frames.Whole
	n, err := t.Conn.Read(p)
	if e := t.frames.Pass(p[:n]); e != nil {
		return 0, t.note(e)
	}
	if n > 0 {
		_ = t.note(t.received(t.frames.Whole - before))
	}
	return n, t.note(err)
}

// Write sends the header of the connection, which has no answer, and then a request at a time.
func (t *tap) Write(p []byte) (int, error) {
	if t.written.Load() > 0 {
		if err := t.sending(); err != nil {
			return 0, t.note(err)
		}
	}
	if err := t.Conn.SetWriteDeadline(time.Now().Add(t.writeTimeout)); err != nil {
		return 0, t.note(err)
	}
	n, err := t.Conn.Write(p)
	t.written.Add(int64(n))
	return n, t.note(err)
}

// Close marks the connection unusable, also when gohbase closes it for reasons of its own.
func (t *tap) Close() error {
	t.note(net.ErrClosed)
	return t.Conn.Close()
}

func (t *tap) note(err error) error {
	if err != nil {
		t.mu.Lock()
		if t.err == nil {
			t.err = err
			close(t.broken)
		}
		t.mu.Unlock()
	}
	return err
}

func (t *tap) failure() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// maxAnswer is the longest answer that is read: a scan batch has some megabytes, a cell at most 10 MiB by HBase's default.
const maxAnswer = 256 << 20

// newAnswerFilter returns a filter that checks the answers of a master or a region server, since gohbase trusts each length in them.
func newAnswerFilter() *frames.Filter { return &frames.Filter{Most: maxAnswer, Check: checkAnswer} }

// Fields of RPC.proto.
const (
	headerException = 2 // ResponseHeader.exception
	headerBlock     = 3 // .cell_block_meta
	exceptionClass  = 1 // ExceptionResponse.exception_class_name
	exceptionTrace  = 2 // .stack_trace
	blockLength     = 1 // CellBlockMeta.length
)

// checkAnswer checks the header of an answer, which follows its length.
func checkAnswer(head []byte, size uint32) (need int, why string) {
	from, to, need, why := frames.Delimited(head, 0, size)
	if need > 0 || why != "" {
		return need, why
	}
	if len(head) < to {
		return to, ""
	}
	whole := true
	exception, class, trace, cells := false, false, false, uint32(0)
	inner := func(message []byte, visit func(n protowire.Number, v uint64, b []byte)) {
		whole = frames.Fields(message, visit) && whole
	}
	inner(head[from:to], func(n protowire.Number, _ uint64, b []byte) {
		switch n {
		case headerException:
			exception = true
			inner(b, func(n protowire.Number, _ uint64, b []byte) {
				class, trace = class || n == exceptionClass && b != nil, trace || n == exceptionTrace && b != nil
			})
		case headerBlock:
			inner(b, func(n protowire.Number, v uint64, _ []byte) {
				if n == blockLength {
					cells = uint32(v)
				}
			})
		}
	})
	switch {
	case !whole:
		return 0, "has a header that is damaged"
	case exception && !(class && trace):
		return 0, "reports an exception without its class or its trace"
	case cells > size-uint32(to):
		return 0, "says that its cells are longer than it is"
	}
	return 0, ""
}
