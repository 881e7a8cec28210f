package hdfsio

import (
	"log/slog"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testdfs"
)

// fakeHDFS is a NameNode with one file, for faults that a real one does not show.
type fakeHDFS struct {
	listener net.Listener
	size     int
	blocks   []fakeBlock
	secret   bool                                  // data are encrypted
	refuse   func(method string, calls int) string // the class of an exception for the method's call of this number; nil, "": none

	mu    sync.Mutex
	id    uint64         // of the file
	calls map[string]int // by method
	open  int            // connections
}

type fakeBlock struct {
	data  []byte
	nodes []*fakeDataNode
}

// serveFake returns an HDFS with one file, which has every name.
func serveFake(t testing.TB, blocks ...fakeBlock) *HDFS {
	t.Helper()
	h, _ := newFakeHDFS(t, blocks...)
	return h
}

func newFakeHDFS(t testing.TB, blocks ...fakeBlock) (*HDFS, *fakeHDFS) {
	t.Helper()
	f := &fakeHDFS{blocks: blocks, id: 4711, calls: map[string]int{}}
	for i, b := range blocks {
		f.size += len(b.data)
		for _, n := range b.nodes {
			n.blocks[uint64(i)] = b.data
		}
	}
	f.listener = testcheck.Serve(t, f.serve)
	h, err := NewHDFS(HDFSOptions{Addresses: []string{f.listener.Addr().String()}, User: "u", IOTimeout: time.Minute,
		Log: slog.New(slog.DiscardHandler)})
	testcheck.Must(t, err)
	return h, f
}

func (f *fakeHDFS) serve(c net.Conn) {
	f.mu.Lock()
	f.open++
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.open--
		f.mu.Unlock()
	}()
	testdfs.Answer(c, func(method string, _ []byte) ([]byte, string, string) {
		response, class := f.answer(method)
		return response, class, "refused"
	})
}

// refusing sets refuse.
func (f *fakeHDFS) refusing(refuse func(method string, calls int) string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refuse = refuse
}

// count returns the number of calls of a method.
func (f *fakeHDFS) count(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[method]
}

// answer returns the answer to a call, or the class of an exception.
func (f *fakeHDFS) answer(method string) (answer []byte, class string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[method]++
	if f.refuse != nil {
		class = f.refuse(method, f.calls[method])
	}
	return f.response(method), class
}

func (f *fakeHDFS) response(method string) []byte {
	var m []byte
	switch method {
	case "getFileInfo":
		m = frames.AppendBytes(frames.AppendNumber(m, 1, 2), 2, []byte("file"))
		m = frames.AppendBytes(frames.AppendNumber(m, 3, uint64(f.size)), 4, frames.AppendNumber(nil, 1, 0o644))
		m = frames.AppendBytes(frames.AppendBytes(m, 5, []byte("u")), 6, []byte("g"))
		return frames.AppendBytes(nil, 1, frames.AppendNumber(frames.AppendNumber(frames.AppendNumber(m, 7, 1), 8, 1), 13, f.id))
	case "getServerDefaults":
		for field, v := range []uint64{1: 1 << 20, 2: 512, 3: 65536, 4: 1, 5: 4096} {
			if field > 0 {
				m = frames.AppendNumber(m, protowire.Number(field), v)
			}
		}
		return frames.AppendBytes(nil, 1, frames.AppendNumber(m, 6, protowire.EncodeBool(f.secret)))
	case "getDelegationToken":
		return frames.AppendBytes(nil, 1, frames.AppendEach(m, "identifier", "password", "HDFS_DELEGATION_TOKEN", ""))
	case "addBlock":
		return frames.AppendBytes(nil, 1, f.located(0, 0))
	case "getBlockLocations":
		m = frames.AppendNumber(m, 1, uint64(f.size))
		at := 0
		for i, b := range f.blocks {
			m = frames.AppendBytes(m, 2, f.located(i, at))
			at += len(b.data)
		}
		return frames.AppendBytes(nil, 1, frames.AppendNumber(frames.AppendNumber(m, 3, 0), 5, 1))
	}
	return nil
}

// located returns the LocatedBlockProto of a block, which begins at an offset of the file.
func (f *fakeHDFS) located(i, at int) []byte {
	b := f.blocks[i]
	id := frames.AppendNumber(frames.AppendNumber(frames.AppendBytes(nil, 1, []byte("pool")), 2, uint64(i)), 3, 1001)
	located := frames.AppendNumber(frames.AppendBytes(nil, 1, frames.AppendNumber(id, 4, uint64(len(b.data)))), 2, uint64(at))
	for _, n := range b.nodes {
		located = frames.AppendBytes(located, 3, n.info())
	}
	token := frames.AppendBytes(frames.AppendBytes(frames.AppendBytes(frames.AppendBytes(nil, 1, ""), 2, ""), 3, ""), 4, "")
	return frames.AppendBytes(frames.AppendNumber(located, 4, 0), 5, token)
}

// fakeDataNode serves blocks like a DataNode, unless spoil changes its responses.
type fakeDataNode struct {
	listener net.Listener
	blocks   map[uint64][]byte
	shape    testdfs.Shape
	spoil    func(answer []byte, req testdfs.Read) []byte // nil: unchanged

	mu    sync.Mutex
	reads int
}

func newFakeDataNode(t testing.TB, s testdfs.Shape, spoil func([]byte, testdfs.Read) []byte) *fakeDataNode {
	n := &fakeDataNode{blocks: map[uint64][]byte{}, shape: s, spoil: spoil}
	n.listener = testcheck.Serve(t, n.serve)
	return n
}

func (n *fakeDataNode) info() []byte {
	_, port, _ := net.SplitHostPort(n.listener.Addr().String())
	number, _ := strconv.ParseUint(port, 10, 16)
	id := frames.AppendBytes(frames.AppendBytes(frames.AppendBytes(nil, 1, []byte("127.0.0.1")), 2, []byte("localhost")), 3, []byte(port))
	return frames.AppendBytes(nil, 1, frames.AppendNumber(frames.AppendNumber(frames.AppendNumber(id, 4, number), 5, 1), 6, 1))
}

func (n *fakeDataNode) serve(c net.Conn) {
	op, message, err := testdfs.TakeOperation(c)
	if err != nil || op != testdfs.ReadBlock {
		return
	}
	n.mu.Lock()
	n.reads++
	n.mu.Unlock()
	req := testdfs.ParseRead(message)
	a := n.shape.Answer(n.blocks[req.Block], req)
	if n.spoil != nil {
		a = n.spoil(a, req)
	}
	_, _ = c.Write(a)
}
