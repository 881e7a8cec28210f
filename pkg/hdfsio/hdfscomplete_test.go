package hdfsio

import (
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testdfs"
)

// TestCompleteAgain checks that a file of two blocks is completed although the NameNode answers "not yet" to the first call of complete, which it
// gets without the last block's length.
func TestCompleteAgain(t *testing.T) {
	h, dir := clusterFS(t, "")
	var calls, named atomic.Int64
	proxy := testcheck.Serve(t, func(client net.Conn) {
		server, err := net.Dial("tcp", h.options.Addresses[0])
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
			frame, err := testdfs.ReadFrame(client)
			if err != nil {
				return
			}
			const last = 3 // of a CompleteRequestProto
			if method, m, ok := testdfs.Call(frame); ok && method == "complete" {
				if _, ok := frames.Bytes(m[2], last); ok {
					named.Add(1)
				}
				if calls.Add(1) == 1 {
					frame = testdfs.JoinFrame(m[0], m[1], testdfs.Without(m[2], last))
				}
			}
			if _, err := server.Write(frame); err != nil {
				return
			}
		}
	})
	o := h.options
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
