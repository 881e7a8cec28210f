package dfs

import (
	"io"
	"net"
	"testing"

	"bulkload/internal/test/testcheck"
)

// TestProbeOfSecuredDataNode checks that a DataNode that requires a login answers a probe: it reads four bytes, and closes the connection
// while the rest of the request is unread, so that its kernel resets the connection (SaslDataTransferServer).
func TestProbeOfSecuredDataNode(t *testing.T) {
	l := testcheck.Serve(t, func(c net.Conn) {
		io.ReadFull(c, make([]byte, 4))
	})
	b := blockAt(t, l.Addr())
	for range 20 {
		if answers := ready(t).Probe(t.Context(), b, b.Nodes); answers[0] != nil {
			t.Fatal(answers[0])
		}
	}
	at, err := net.ResolveTCPAddr("tcp", testcheck.ClosedAddress(t))
	testcheck.Must(t, err)
	b.Nodes[0].ip, b.Nodes[0].port = at.IP.String(), uint64(at.Port)
	if answers := ready(t).Probe(t.Context(), b, b.Nodes); answers[0] == nil {
		t.Error("a DataNode without a process answers")
	}
}
