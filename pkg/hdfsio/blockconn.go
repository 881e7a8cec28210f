package hdfsio

import (
	"errors"
)

// blockConn is a connection to a DataNode. When a block is read over it, what comes is checked before it is handed out;
// an error closes it, and the library continues with the next DataNode that has the block. The checksum of a block is asked
// for as [HDFS.CRC32C] wants it. Everything else goes through as it is: writing, and what is encrypted.
type blockConn struct {
	*conn

	begin   []byte // of what was written, until it is known what that is
	decided bool
	packets *packetReader // nil unless a block is read
	sum     *sumReader    // nil unless the checksum of a block is asked for
}

// Write implements net.Conn. The library writes a request as a whole, before it reads.
func (c *blockConn) Write(p []byte) (int, error) {
	if !c.decided && c.s.sums.wanted() {
		if request, size, ok := compositeRequest(p); ok {
			c.decided, c.sum = true, &sumReader{to: &c.s.sums, size: size}
			if _, err := c.conn.Write(request); err != nil {
				return 0, err
			}
			return len(p), nil
		}
	}
	if !c.decided {
		c.begin = append(c.begin, p...)
		req, read, whole, err := parseReadRequest(c.begin)
		if err != nil {
			return 0, c.fail(err) // its answer could not be checked
		}
		if whole {
			c.begin, c.decided = nil, true
		}
		if whole && read {
			c.packets = &packetReader{from: c.conn, req: req, dataNode: c.RemoteAddr().String()}
		}
	}
	return c.conn.Write(p)
}

// Read implements net.Conn.
func (c *blockConn) Read(p []byte) (int, error) {
	if c.sum != nil {
		n, err := c.conn.Read(p)
		if e := c.sum.add(p[:n]); e != nil {
			return 0, c.fail(e)
		}
		return n, err
	}
	if c.packets == nil {
		return c.conn.Read(p)
	}
	if err := c.failure(); err != nil {
		return 0, err
	}
	n, err := c.packets.Read(p)
	if err != nil {
		err = c.fail(err)
	}
	return n, err
}

// blockError finds a BlockError in an error.
func blockError(err error) *BlockError {
	e, _ := errors.AsType[*BlockError](err)
	return e
}
