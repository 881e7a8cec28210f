package testdfs

import (
	"encoding/binary"
	"io"
	"net"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"bulkload/internal/hadoop/frames"
)

// SplitFrame returns the messages of a frame: four bytes of length, then length-prefixed messages.
func SplitFrame(p []byte) (messages [][]byte, ok bool) {
	if len(p) < 4 || uint64(binary.BigEndian.Uint32(p)) != uint64(len(p)-4) {
		return nil, false
	}
	for p = p[4:]; len(p) > 0; {
		m, n := protowire.ConsumeBytes(p)
		if n < 0 {
			return nil, false
		}
		messages, p = append(messages, m), p[n:]
	}
	return messages, true
}

// JoinFrame returns a frame of messages.
func JoinFrame(messages ...[]byte) []byte {
	p := make([]byte, 4)
	for _, m := range messages {
		p = protowire.AppendBytes(p, m)
	}
	binary.BigEndian.PutUint32(p, uint32(len(p)-4))
	return p
}

// ReadFrame reads a frame with its length prefix.
func ReadFrame(r io.Reader) ([]byte, error) {
	frame := make([]byte, 4)
	if _, err := io.ReadFull(r, frame); err != nil {
		return nil, err
	}
	frame = append(frame, make([]byte, binary.BigEndian.Uint32(frame))...)
	_, err := io.ReadFull(r, frame[4:])
	return frame, err
}

// Call returns the method and the request of a frame with a call; ok is false for a connection context.
func Call(frame []byte) (method string, messages [][]byte, ok bool) {
	messages, _ = SplitFrame(frame)
	if len(messages) != 3 {
		return "", nil, false
	}
	name, _ := frames.Bytes(messages[1], 1)
	return string(name), messages, true
}

// Answer serves a connection with simple authentication: it responds to each call with the result of answer, a message or the class and text of an
// exception. It returns when the client closes the connection, and at once for a client that wants to log in.
func Answer(c net.Conn, answer func(method string, request []byte) (response []byte, class, text string)) {
	const sasl = 0xdf
	head := make([]byte, 7) // "hrpc", version, service class, authentication
	if _, err := io.ReadFull(c, head); err != nil || head[6] == sasl {
		return
	}
	for {
		frame, err := ReadFrame(c)
		if err != nil {
			return
		}
		method, messages, ok := Call(frame)
		if !ok {
			continue // the connection's context
		}
		header := frames.AppendNumber(nil, 1, frames.Number(messages[0], 3)/2) // zigzag of a number that is not negative
		message, class, text := answer(method, messages[2])
		if class == "" {
			message = JoinFrame(frames.AppendNumber(header, 2, 0), message)
		} else {
			message = JoinFrame(frames.AppendBytes(frames.AppendBytes(frames.AppendNumber(header, 2, 1), 4, class), 5, text))
		}
		if _, err := c.Write(message); err != nil {
			return
		}
	}
}

// Without returns a message without one of its fields.
func Without(message []byte, number protowire.Number) (rest []byte) {
	frames.Fields(message, func(field protowire.Number, value uint64, data []byte) {
		switch {
		case field == number:
		case data != nil:
			rest = frames.AppendBytes(rest, field, data)
		default:
			rest = frames.AppendNumber(rest, field, value)
		}
	})
	return rest
}

// change returns a message with a changed field at the end of a path of fields.
func change(m []byte, path []protowire.Number, to func([]byte) []byte) (out []byte) {
	if len(path) == 0 {
		return to(m)
	}
	frames.Fields(m, func(field protowire.Number, value uint64, data []byte) {
		switch {
		case data == nil:
			out = frames.AppendNumber(out, field, value)
		case field == path[0]:
			out = frames.AppendBytes(out, field, change(data, path[1:], to))
		default:
			out = frames.AppendBytes(out, field, data)
		}
	})
	return out
}

// Elsewhere changes the port of the DataNodes in an AddBlockResponseProto (blocks is 0) or in a GetBlockLocationsResponseProto
// (blocks is 2). It also returns the original port of the last one.
func Elsewhere(answer []byte, blocks protowire.Number, at net.Addr) (changed []byte, port uint64) {
	_, text, _ := net.SplitHostPort(at.String())
	number, _ := strconv.ParseUint(text, 10, 16)
	path := []protowire.Number{1, blocks, 3, 1} // LocatedBlocksProto, LocatedBlockProto, DatanodeInfoProto, DatanodeIDProto
	if blocks == 0 {
		path = []protowire.Number{1, 3, 1}
	}
	changed = change(answer, path, func(id []byte) []byte {
		port = frames.Number(id, 4)
		return frames.AppendNumber(Without(id, 4), 4, number)
	})
	return changed, port
}
