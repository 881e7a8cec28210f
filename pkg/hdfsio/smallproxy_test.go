package hdfsio

import (
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testdfs"

	"google.golang.org/protobuf/encoding/protowire"
)

// between is a proxy between a client and a NameNode. It carries one call of a connection at a time.
type between struct {
	mu    sync.Mutex
	calls []string // methods, in order

	// ask may close the connection instead of a call, answer instead of a response, by returning false. Nil:
	// unchanged.
	ask    func(method string, request []byte) bool
	answer func(method string, request, answer []byte) ([]byte, bool)
}

// made returns the methods of the calls so far, and forgets them.
func (b *between) made() (calls []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	calls, b.calls = b.calls, nil
	return calls
}

// through returns a client of the file system of h that connects through b.
func through(t *testing.T, h *HDFS, b *between) *HDFS {
	t.Helper()
	l := testcheck.Serve(t, func(client net.Conn) {
		server, err := net.Dial("tcp", h.options.Addresses[0])
		if err != nil {
			t.Error(err)
			return
		}
		defer server.Close()
		head := make([]byte, 7) // "hrpc", version, service class, authentication
		if _, err := io.ReadFull(client, head); err != nil {
			return
		}
		if _, err := server.Write(head); err != nil {
			return
		}
		if head[6] != 0 { // whether the server requires a login
			go func() {
				io.Copy(server, client)
				server.Close()
			}()
			io.Copy(client, server)
			return
		}
		for b.carry(client, server) {
		}
	})
	o := h.options
	o.Addresses = []string{l.Addr().String()}
	fsys, err := NewHDFS(o)
	testcheck.Must(t, err)
	t.Cleanup(func() { testcheck.Must(t, fsys.Close()) })
	return fsys
}

// carry forwards a call and its response.
func (b *between) carry(client, server net.Conn) bool {
	request, err := testdfs.ReadFrame(client)
	if err != nil {
		return false
	}
	method, messages, ok := testdfs.Call(request)
	if !ok { // the connection's context, which has no response
		_, err := server.Write(request)
		return err == nil
	}
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
	answer, err := testdfs.ReadFrame(server)
	if err != nil {
		return false
	}
	if parts, _ := testdfs.SplitFrame(answer); b.answer != nil && len(parts) == 2 {
		body, ok := b.answer(method, messages[2], parts[1])
		if !ok {
			return false
		}
		answer = testdfs.JoinFrame(parts[0], body)
	}
	_, err = client.Write(answer)
	return err == nil
}

// ours reports whether a call was made without the client library.
func ours(request []byte) bool { return strings.Contains(string(request), "bulkload-") }

// relay is a proxy between a client and the DataNode of a cluster that has one.
type relay struct {
	between
	port atomic.Uint64 // of the DataNode

	mu    sync.Mutex
	open  []net.Conn
	dials int
}

// relayed returns a client of the file system of h that reaches its DataNode through a relay.
func relayed(t *testing.T, h *HDFS) (*HDFS, *relay) {
	t.Helper()
	r := &relay{}
	l := testcheck.Serve(t, r.serve)
	r.answer = func(method string, _, answer []byte) ([]byte, bool) {
		blocks := protowire.Number(2)
		switch method {
		case "addBlock":
			blocks = 0
		case "getBlockLocations":
		default:
			return answer, true
		}
		answer, port := testdfs.Elsewhere(answer, blocks, l.Addr())
		if port > 0 {
			r.port.Store(port)
		}
		return answer, true
	}
	return through(t, h, &r.between), r
}

func (r *relay) serve(client net.Conn) {
	server, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.FormatUint(r.port.Load(), 10)))
	if err != nil {
		return
	}
	r.mu.Lock()
	r.open = append(r.open, client)
	r.dials++
	r.mu.Unlock()
	go func() {
		io.Copy(client, server)
		client.Close()
	}()
	io.Copy(server, client)
	server.Close()
	r.mu.Lock()
	r.open = slices.DeleteFunc(r.open, func(c net.Conn) bool { return c == client })
	r.mu.Unlock()
}

// count returns the number of open connections, and the number of all connections so far.
func (r *relay) count() (open, dials int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.open), r.dials
}

// cut breaks the open connections.
func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.open {
		c.Close()
	}
}
