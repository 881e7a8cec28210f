package loader

import (
	"testing"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"bulkload/internal/hadoop/frames"
)

// TestPeers checks the families and tables that a peer replicates.
func TestPeers(t *testing.T) {
	table := func(field protowire.Number, ns, name string, families ...string) []byte {
		b, err := appendMessage(nil, 1, &pb.TableName{Namespace: []byte(ns), Qualifier: []byte(name)})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			b = frames.AppendBytes(b, 2, []byte(f))
		}
		return frames.AppendBytes(nil, field, b)
	}
	peer := func(state uint64, config ...[]byte) []byte {
		b := frames.AppendBytes(nil, peerID, []byte("p"))
		b = frames.AppendBytes(b, peerState, frames.AppendNumber(nil, 1, state))
		c := frames.AppendBytes(nil, 1, []byte("zk:2181:/hbase"))
		for _, part := range config {
			c = append(c, part...)
		}
		return frames.AppendBytes(nil, peersDescription, frames.AppendBytes(b, peerConfig, c))
	}
	some := frames.AppendNumber(nil, peerAll, 0)
	for name, c := range map[string]struct {
		answer  []byte
		enabled bool
		takes   bool
	}{
		"all by default":       {peer(0), true, true},
		"all, disabled":        {peer(1, frames.AppendNumber(nil, peerAll, 1)), false, true},
		"all but the table":    {peer(0, table(peerNoTables, "test", "t")), true, false},
		"all but another":      {peer(0, table(peerNoTables, "default", "t")), true, true},
		"all but a family":     {peer(0, table(peerNoTables, "test", "t", "g")), true, true},
		"all but this family":  {peer(0, table(peerNoTables, "test", "t", "g", "f")), true, false},
		"all but a namespace":  {peer(0, frames.AppendBytes(nil, peerNoNamespaces, []byte("test"))), true, false},
		"none":                 {peer(0, some), true, false},
		"a namespace":          {peer(0, some, frames.AppendBytes(nil, peerNamespaces, []byte("test"))), true, true},
		"another namespace":    {peer(0, some, frames.AppendBytes(nil, peerNamespaces, []byte("x"))), true, false},
		"the table":            {peer(0, some, table(peerTables, "test", "t")), true, true},
		"one of its families":  {peer(0, some, table(peerTables, "test", "t", "f")), true, true},
		"another family of it": {peer(0, some, table(peerTables, "test", "t", "g")), true, false},
	} {
		peers, err := parsePeers(c.answer)
		if err != nil || len(peers) != 1 {
			t.Errorf("%s: %v, %v", name, peers, err)
			continue
		}
		p := peers[0]
		if takes := p.Takes(TableName{"test", "t"}, "f"); p.ID != "p" || p.Enabled != c.enabled || takes != c.takes {
			t.Errorf("%s: %+v takes it: %v", name, p, takes)
		}
	}
	if _, err := parsePeers([]byte{0x0a, 0xff}); err == nil {
		t.Error("an answer that is cut off gives peers")
	}
}

// TestReplicate checks that the request states whether peers get the load.
func TestReplicate(t *testing.T) {
	for _, replicate := range []bool{true, false} {
		b, err := proto.Marshal(bulkLoadRequest(Region{Name: []byte("r")}, "/hbase/staging/x", nil, []HFile{{Family: "f", Path: "/s/f/a"}}, replicate))
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := varintField(b, bulkLoadReplicate); !ok || got == 1 != replicate {
			t.Errorf("replicate is %d, %v, want %v", got, ok, replicate)
		}
	}
}
