package hdfsio

import (
	"encoding/binary"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/test/testcheck"
)

// between stands between a client and a NameNode. It carries one call of a connection at a time.
type between struct {
	mu    sync.Mutex
	calls []string // methods, in order

	// ask may end the connection in place of a call, answer in place of an answer, by saying false. Nil: nothing.
	ask    func(method string, request []byte) bool
	answer func(method string, request, answer []byte) ([]byte, bool)
}

// made takes the methods of the calls so far.
func (b *between) made() (calls []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	calls, b.calls = b.calls, nil
	return calls
}

// through is a client of the file system of h by way of b.
func through(t *testing.T, h *HDFS, b *between) *HDFS {
	t.Helper()
	l := testcheck.Serve(t, func(client net.Conn) {
		server, err := net.Dial("tcp", h.o.Addresses[0])
		if err != nil {
			t.Error(err)
			return
		}
		defer server.Close()
		if _, err := io.CopyN(server, client, 7); err != nil { // "hrpc", version, service class, authentication
			return
		}
		for b.carry(client, server) {
		}
	})
	o := h.o
	o.Addresses = []string{l.Addr().String()}
	fsys, err := NewHDFS(o)
	testcheck.Must(t, err)
	t.Cleanup(func() { testcheck.Must(t, fsys.Close()) })
	return fsys
}

// carry carries a call and its answer.
func (b *between) carry(client, server net.Conn) bool {
	request, err := readFrame(client)
	if err != nil {
		return false
	}
	messages, _ := splitFrame(request)
	if len(messages) != 3 { // the connection's context, which has no answer
		_, err := server.Write(request)
		return err == nil
	}
	name, _ := fieldBytes(messages[1], 1)
	method := string(name)
	b.mu.Lock()
	if method != "renewLease" {
		b.calls = append(b.calls, method)
	}
	b.mu.Unlock()
	if b.ask != nil && !b.ask(method, messages[2]) {
		return false
	}
	if _, err := server.Write(request); err != nil {
		return false
	}
	answer, err := readFrame(server)
	if err != nil {
		return false
	}
	if parts, _ := splitFrame(answer); b.answer != nil && len(parts) == 2 {
		body, ok := b.answer(method, messages[2], parts[1])
		if !ok {
			return false
		}
		answer = joinFrame(parts[0], body)
	}
	_, err = client.Write(answer)
	return err == nil
}

// ours reports whether a call is one past the client library.
func ours(request []byte) bool { return strings.Contains(string(request), "bulkload-") }

// elsewhere has the DataNodes of an AddBlockResponseProto or a GetBlockLocationsResponseProto be at another port.
func elsewhere(answer []byte, blocks protowire.Number, at net.Addr) []byte {
	_, port, _ := net.SplitHostPort(at.String())
	number, _ := strconv.ParseUint(port, 10, 16)
	inside := func(message []byte, path ...protowire.Number) []byte {
		var change func(m []byte, path []protowire.Number) []byte
		change = func(m []byte, path []protowire.Number) []byte {
			if len(path) == 0 {
				return appendNumber(without(m, 4), 4, number) // of a DatanodeIDProto
			}
			var out []byte
			frames.Fields(m, func(field protowire.Number, value uint64, data []byte) {
				switch {
				case data == nil:
					out = appendNumber(out, field, value)
				case field == path[0]:
					out = appendField(out, field, change(data, path[1:]))
				default:
					out = appendField(out, field, data)
				}
			})
			return out
		}
		return change(message, path)
	}
	if blocks == 0 {
		return inside(answer, 1, 3, 1) // LocatedBlockProto, DatanodeInfoProto, DatanodeIDProto
	}
	return inside(answer, 1, blocks, 3, 1)
}

// answerStatus is a BlockOpResponseProto of a status, after its length.
func answerStatus(status uint64) []byte {
	return protowire.AppendBytes(nil, appendNumber(nil, 1, status))
}

// acknowledge is a PipelineAckProto after its length.
func acknowledge(seqno int64, replies ...uint64) []byte {
	m := appendNumber(nil, 1, protowire.EncodeZigZag(seqno))
	for _, r := range replies {
		m = appendNumber(m, 2, r)
	}
	return protowire.AppendBytes(nil, m)
}

// takeOperation reads a request to a DataNode.
func takeOperation(c net.Conn) (op byte, ok bool) {
	var head [3]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return 0, false
	}
	n, err := binary.ReadUvarint(byteReader{c})
	if err != nil {
		return 0, false
	}
	_, err = io.CopyN(io.Discard, c, int64(n))
	return head[2], err == nil
}
