package loader

import (
	"encoding/binary"
	"net"

	"google.golang.org/protobuf/encoding/protowire"

	"bulkload/internal/hadoop/frames"
)

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

// zkConn is a connection to ZooKeeper whose answers are checked before the client reads them.
type zkConn struct {
	net.Conn
	frames *frames.Filter
}

// maxZnode is the longest answer of ZooKeeper that is read; jute.maxbuffer is usually 1 MiB.
const maxZnode = 16 << 20

func newZKConn(nc net.Conn) *zkConn {
	first := true
	return &zkConn{nc, &frames.Filter{Most: maxZnode, Check: func(head []byte, size uint32) (int, string) {
		if size < 16 {
			return 0, "is too short for ZooKeeper"
		}
		need := min(20, int(size))
		if len(head) < need {
			return need, ""
		}
		// The answer to the connect has 16 bytes and a password. The others have a header of 16 bytes, with the request's number and an
		// error code; the data requested is that of a znode.
		data := len(head) >= 20 && (first || int32(binary.BigEndian.Uint32(head)) > 0 && binary.BigEndian.Uint32(head[12:]) == 0)
		first = false
		if data {
			if n := int32(binary.BigEndian.Uint32(head[16:])); n > int32(size)-20 {
				return 0, "says that its data are longer than it is"
			}
		}
		return need, ""
	}}}
}

func (c *zkConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if e := c.frames.Pass(p[:n]); e != nil {
		return 0, e
	}
	return n, err
}
