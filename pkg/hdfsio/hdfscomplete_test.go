package hdfsio

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/test/testcheck"
)

// completeCall is a complete of a file. Last may be nil.
func completeCall(file string, id uint64, last []byte) []byte {
	body := appendField(nil, completeSrc, []byte(file))
	if last != nil {
		body = appendField(body, completeLast, last)
	}
	return testCall("complete", appendNumber(body, completeFileID, id))
}

// TestCompleteWatch lets calls pass as they are, but a repeated complete of the same file.
func TestCompleteWatch(t *testing.T) {
	var w completeWatch
	same := func(call []byte) {
		t.Helper()
		if got := w.request(call); !bytes.Equal(got, call) {
			t.Errorf("%q became %q", call, got)
		}
	}
	same(completeCall("/a", 1, nil)) // empty, or closed before
	same(completeCall("/a", 1, []byte("block")))
	same(testCall("getFileInfo", []byte("x")))
	same(completeCall("/b", 1, nil))
	same(completeCall("/a", 2, nil)) // another file under that name
	same([]byte("hrpc\x09\x00\x00"))
	for range 2 {
		if got, want := w.request(completeCall("/a", 1, nil)), "block"; !bytes.Contains(got, []byte(want)) {
			t.Errorf("a repeated call has no last block: %q", got)
		}
	}
	w.forget()
	same(completeCall("/a", 1, nil))
}

func FuzzCompleteWatch(f *testing.F) {
	f.Add(completeCall("/a", 1, []byte("block")), completeCall("/a", 1, nil))
	f.Add(completeCall("", 1<<63, []byte{}), []byte{0, 0, 0, 2, 1, 0})
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var w completeWatch
		if got := w.request(first); !bytes.Equal(got, first) {
			t.Fatal("the first call was changed")
		}
		before := bytes.Clone(second)
		got := w.request(second)
		if !bytes.Equal(before, second) {
			t.Fatal("the caller's bytes were changed")
		}
		if _, ok := splitFrame(got); !ok && !bytes.Equal(got, second) {
			t.Fatal("a changed call has lost its form")
		}
	})
}

// TestCompleteAgain has a NameNode that answers "not yet" to the first complete of a file of two blocks, without having noted the
// last one's length: it has not seen that. The file is complete all the same.
func TestCompleteAgain(t *testing.T) {
	h, dir := clusterFS(t, "")
	var calls, named atomic.Int64
	proxy := testcheck.Serve(t, func(client net.Conn) {
		server, err := net.Dial("tcp", h.o.Addresses[0])
		if err != nil {
			t.Error(err)
			return
		}
		defer server.Close()
		go func() {
			io.Copy(client, server)
			client.Close()
		}()
		if _, err := io.CopyN(server, client, 7); err != nil { // "hrpc", version, service class, authentication
			return
		}
		for {
			head := make([]byte, 4)
			if _, err := io.ReadFull(client, head); err != nil {
				return
			}
			frame := append(head, make([]byte, binary.BigEndian.Uint32(head))...)
			if _, err := io.ReadFull(client, frame[4:]); err != nil {
				return
			}
			var a heard
			if m := a.call(frame, "complete"); m != nil {
				if _, ok := fieldBytes(m[2], completeLast); ok {
					named.Add(1)
				}
				if calls.Add(1) == 1 {
					frame = joinFrame(m[0], m[1], without(m[2], completeLast))
				}
			}
			if _, err := server.Write(frame); err != nil {
				return
			}
		}
	})
	o := h.o
	o.Addresses, o.CloseTimeout = []string{proxy.Addr().String()}, 20*time.Second
	slow, err := NewHDFS(o)
	testcheck.Must(t, err)
	t.Cleanup(func() { testcheck.Must(t, slow.Close()) })
	data := noise(3 << 19)
	writeFile(t, slow, dir+"/blocks", data, CreateOptions{BlockSize: 1 << 20})
	if calls.Load() < 2 || named.Load() != calls.Load() {
		t.Errorf("%d calls, %d of them name the last block", calls.Load(), named.Load())
	}
	f, err := h.Open(t.Context(), dir+"/blocks")
	testcheck.Must(t, err)
	defer f.Close()
	checkReadAt(t, f.(*hdfsFile), data)
}

// without is a message without one of its fields.
func without(message []byte, number protowire.Number) (rest []byte) {
	frames.Fields(message, func(field protowire.Number, value uint64, data []byte) {
		switch {
		case field == number:
		case data != nil:
			rest = appendField(rest, field, data)
		default:
			rest = appendNumber(rest, field, value)
		}
	})
	return rest
}
