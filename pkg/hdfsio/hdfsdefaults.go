package hdfsio

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"bulkload/internal/hadoop/frames"
)

// defaultsWatch takes out of the answer to getServerDefaults that data is encrypted: the client library would see to it by
// itself, and misread what comes back (version 2.4.0). Here it is the affair of package datatransfer.
type defaultsWatch struct {
	mu        sync.Mutex
	asked     bool
	encrypted bool

	ready []byte // of an answer that was changed, and not read yet: the reader's
}

// encrypts says what the last answer said.
func (w *defaultsWatch) encrypts() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.encrypted
}

// request looks at what is sent, one whole call.
func (w *defaultsWatch) request(p []byte) {
	messages, _ := splitFrame(p)
	if len(messages) != 3 {
		return
	}
	if name, ok := fieldBytes(messages[1], 1); ok && string(name) == "getServerDefaults" {
		w.mu.Lock()
		w.asked = true
		w.mu.Unlock()
	}
}

// read reads from a connection. The answer to getServerDefaults is read as a whole and changed first: there is one call on a
// connection at a time.
func (s *session) read(c *conn, p []byte) (int, error) {
	w := &s.defaults
	if c.dataNode {
		return c.Conn.Read(p)
	}
	w.mu.Lock()
	asked := w.asked
	w.asked = false
	w.mu.Unlock()
	if asked {
		frame, err := readFrame(c.Conn)
		if err != nil {
			return 0, err
		}
		var encrypted bool
		w.ready, encrypted = withoutEncryption(frame)
		w.mu.Lock()
		w.encrypted = encrypted
		w.mu.Unlock()
	}
	if len(w.ready) == 0 {
		return c.Conn.Read(p)
	}
	n := copy(p, w.ready)
	w.ready = w.ready[n:]
	return n, nil
}

func readFrame(r io.Reader) ([]byte, error) {
	frame := make([]byte, 4)
	if _, err := io.ReadFull(r, frame); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(frame)
	if n > mostAnswer {
		return nil, &frames.Error{Size: n, Why: fmt.Sprintf("is longer than %d", mostAnswer)}
	}
	frame = append(frame, make([]byte, n)...)
	_, err := io.ReadFull(r, frame[4:])
	return frame, err
}

// withoutEncryption clears encryptDataTransfer of a GetServerDefaultsResponseProto: field 6 of the FsServerDefaultsProto that
// is its field 1.
func withoutEncryption(frame []byte) (changed []byte, encrypted bool) {
	const field = 6
	messages, ok := splitFrame(frame)
	if !ok || len(messages) != 2 {
		return frame, false // an exception
	}
	defaults, ok := fieldBytes(messages[1], 1)
	if !ok {
		return frame, false
	}
	frames.Fields(defaults, func(f protowire.Number, number uint64, data []byte) {
		if f == field && data == nil {
			encrypted = number != 0
		}
	})
	if !encrypted {
		return frame, false
	}
	// Of a field that comes twice the last counts.
	clear := protowire.AppendVarint(protowire.AppendTag(append([]byte{}, defaults...), field, protowire.VarintType), 0)
	return joinFrame(messages[0], protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), clear)), true
}
