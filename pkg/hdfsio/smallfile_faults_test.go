package hdfsio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"testing"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testdfs"
)

// A smallFault is a fault in the short protocol of small files.
type smallFault struct {
	name    string
	fault   *between
	rewrite bool // the file is abandoned: whether an existing one is ours cannot be determined
}

// TestSmallFaults checks that after a fault in the short protocol the file is written or read like a large one,
// or abandoned.
func TestSmallFaults(t *testing.T) {
	h, dir := clusterFS(t, "")
	data := noise(70_000)
	for _, f := range slices.Concat(callFaults(), pipelineFaults(t), blockFaults(t, data)) {
		t.Run(f.name, func(t *testing.T) { f.survive(t, h, dir, data) })
	}
}

// survive writes a small file with the fault and reads it.
func (f smallFault) survive(t *testing.T, h *HDFS, dir string, data []byte) {
	fsys := through(t, h, f.fault)
	name := fmt.Sprintf("%s/%x", dir, f.name)
	w, err := fsys.Create(t.Context(), name, CreateOptions{Interim: true, BlockSize: 1 << 20})
	testcheck.Must(t, err)
	_, err = w.Write(data)
	testcheck.Must(t, err)
	err = w.Finish()
	if f.rewrite {
		if !errors.Is(err, ErrRewrite) {
			t.Fatalf("finish: %v", err)
		}
		testcheck.Must(t, w.Abort())
		return
	}
	testcheck.Must(t, err)
	if !bytes.Equal(reread(t, w), data) || !bytes.Equal(readFile(t, h, name), data) {
		t.Fatal("the file came back changed")
	}
	info, err := h.Stat(t.Context(), name)
	testcheck.Must(t, err)
	is, _ := FileID(info)
	if id, _ := FileID(w.(Finished).Info()); id != is {
		t.Error("the writer takes another file for its own")
	}
}

// callFaults returns faults of NameNode calls.
func callFaults() []smallFault {
	return []smallFault{
		{"create is not asked for", cut("create"), false},
		{"the answer to create is lost", lost("create"), true},
		{"addBlock is not asked for", cut("addBlock"), false},
		{"the answer to addBlock is lost", lost("addBlock"), false},
		{"the answer to addBlock is none", answers("addBlock", []byte("\xff")), false},
		{"the answer to addBlock is empty", answers("addBlock", nil), false},
		{"complete is not asked for", cut("complete"), false},
		{"the answer to complete is lost", lost("complete"), false},
		{"complete says not yet", answers("complete", frames.AppendNumber(nil, 1, 0)), false},
		{"the answer to the defaults is none", noDefaults(), false},
		{"getBlockLocations is not asked for", cut("getBlockLocations"), false},
	}
}

// pipelineFaults returns faults of a DataNode that a file is written to.
func pipelineFaults(t *testing.T) []smallFault {
	written := func(serve func(c net.Conn)) *between { return writtenTo(t, serve) }
	return []smallFault{
		{"the DataNode ends the connection", written(func(net.Conn) {}), false},
		{"the DataNode refuses the block", written(func(c net.Conn) {
			if _, _, err := testdfs.TakeOperation(c); err == nil {
				c.Write(testdfs.Status(5))
			}
		}), false},
		{"the DataNode does not answer in form", written(func(c net.Conn) {
			if _, _, err := testdfs.TakeOperation(c); err == nil {
				c.Write([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"))
			}
		}), false},
		{"the DataNode acknowledges another packet", written(func(c net.Conn) {
			if _, _, err := testdfs.TakeOperation(c); err == nil {
				c.Write(append(testdfs.Status(0), testdfs.Acknowledge(7, 0)...))
				io.Copy(io.Discard, c)
			}
		}), false},
		{"the DataNode cannot write a packet", written(func(c net.Conn) {
			if _, _, err := testdfs.TakeOperation(c); err == nil {
				c.Write(append(testdfs.Status(0), testdfs.Acknowledge(0, 1)...))
				io.Copy(io.Discard, c)
			}
		}), false},
		{"the DataNode acknowledges for nobody", written(func(c net.Conn) {
			if _, _, err := testdfs.TakeOperation(c); err == nil {
				c.Write(append(testdfs.Status(0), testdfs.Acknowledge(0)...))
				io.Copy(io.Discard, c)
			}
		}), false},
	}
}

// blockFaults returns faults of a DataNode that data is read from.
func blockFaults(t *testing.T, data []byte) []smallFault {
	read := func(serve func(c net.Conn)) *between { return readFrom(t, serve) }
	return []smallFault{
		{"the block is not where it is said", read(func(net.Conn) {}), false},
		{"the block is damaged", read(func(c net.Conn) {
			if _, _, err := testdfs.TakeOperation(c); err != nil {
				return
			}
			s := testdfs.UsualShape
			s.Damage = 100
			c.Write(s.Answer(data, testdfs.Read{End: int64(len(data))}))
		}), false},
		{"the block is too short", read(func(c net.Conn) {
			if _, _, err := testdfs.TakeOperation(c); err != nil {
				return
			}
			c.Write(testdfs.UsualShape.Answer(data[:1024], testdfs.Read{End: 1024}))
		}), false},
	}
}

// firstCall returns a function that is true for our first call of a method.
func firstCall(method string) func(string, []byte) bool {
	var seen atomic.Bool
	return func(m string, request []byte) bool { return m == method && ours(request) && !seen.Swap(true) }
}

// listener returns the address of a server that starts to listen when it is first called.
func listener(t *testing.T, serve func(c net.Conn)) func() net.Addr {
	var l net.Listener
	return func() net.Addr {
		if l == nil {
			l = testcheck.Serve(t, serve)
		}
		return l.Addr()
	}
}

// writtenTo redirects the write of our first block to a server.
func writtenTo(t *testing.T, serve func(c net.Conn)) *between {
	at, hit := listener(t, serve), firstCall("addBlock")
	return &between{answer: func(m string, request, answer []byte) ([]byte, bool) {
		if hit(m, request) {
			changed, _ := testdfs.Elsewhere(answer, 0, at())
			return changed, true
		}
		return answer, true
	}}
}

// readFrom redirects the read of the first block to a server.
func readFrom(t *testing.T, serve func(c net.Conn)) *between {
	at := listener(t, serve)
	var seen atomic.Bool
	return &between{answer: func(m string, _, answer []byte) ([]byte, bool) {
		if m == "getBlockLocations" && !seen.Swap(true) {
			changed, _ := testdfs.Elsewhere(answer, 2, at())
			return changed, true
		}
		return answer, true
	}}
}

// lost drops the response to the first call of a method.
func lost(method string) *between {
	hit := firstCall(method)
	return &between{answer: func(m string, request, answer []byte) ([]byte, bool) { return answer, !hit(m, request) }}
}

// cut closes the connection before the first call of a method.
func cut(method string) *between {
	hit := firstCall(method)
	return &between{ask: func(m string, request []byte) bool { return !hit(m, request) }}
}

// answers replaces the response to the first call of a method.
func answers(method string, answer []byte) *between {
	hit := firstCall(method)
	return &between{answer: func(m string, request, was []byte) ([]byte, bool) {
		if hit(m, request) {
			return answer, true
		}
		return was, true
	}}
}

// noDefaults replaces the response to the first getServerDefaults by an invalid one.
func noDefaults() *between {
	var seen atomic.Bool
	return &between{answer: func(m string, _, answer []byte) ([]byte, bool) {
		if m == "getServerDefaults" && !seen.Swap(true) {
			return []byte("\xff"), true
		}
		return answer, true
	}}
}
