package dfs

import (
	"net"
	"slices"
	"strconv"
	"testing"
	"time"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testdfs"
)

// ready returns a client that has cached the defaults of its NameNode, which it cannot reach.
func ready(t testing.TB) *Client {
	c := New(Options{Addresses: []string{testcheck.ClosedAddress(t)}, User: "u", DialTimeout: time.Minute, IOTimeout: time.Minute})
	c.defaults = knownDefaults{Defaults{BlockSize: 1 << 20, Replication: 1, Chunk: 512}, time.Now()}
	t.Cleanup(c.Close)
	return c
}

// nodeInfo returns a DatanodeInfoProto.
func nodeInfo(uuid string, port uint64) []byte {
	id := frames.AppendBytes(frames.AppendBytes(frames.AppendBytes(nil, 1, "127.0.0.1"), 2, "localhost"), 3, uuid)
	return frames.AppendBytes(nil, 1, frames.AppendNumber(id, 4, port))
}

// blockID returns an ExtendedBlockProto.
func blockID(id, stamp uint64) []byte {
	return frames.AppendNumber(frames.AppendNumber(frames.AppendBytes(nil, 1, "pool"), 2, id), 3, stamp)
}

// located returns a LocatedBlockProto on DataNodes.
func located(id []byte, nodes ...[]byte) []byte {
	m := frames.AppendBytes(nil, 1, id)
	for _, n := range nodes {
		m = frames.AppendBytes(m, 3, n)
	}
	return frames.AppendBytes(m, 5, "token")
}

// locations returns a GetBlockLocationsResponseProto.
func locations(length, open uint64, blocks ...[]byte) []byte {
	m := frames.AppendNumber(nil, 1, length)
	for _, b := range blocks {
		m = frames.AppendBytes(m, 2, b)
	}
	return frames.AppendBytes(nil, 1, frames.AppendNumber(m, 3, open))
}

// blockAt returns a block on one DataNode.
func blockAt(t testing.TB, at net.Addr) Block {
	t.Helper()
	_, text, _ := net.SplitHostPort(at.String())
	port, err := strconv.ParseUint(text, 10, 16)
	testcheck.Must(t, err)
	b, err := parseBlock(located(blockID(7, 1001), nodeInfo("a", port)))
	testcheck.Must(t, err)
	return b
}

// nameNode returns a client of a NameNode that responds to each call with the result of answer.
func nameNode(t *testing.T, answer func(method string, request []byte) []byte) *Client {
	t.Helper()
	l := testcheck.Serve(t, func(c net.Conn) {
		testdfs.Answer(c, func(method string, request []byte) ([]byte, string, string) { return answer(method, request), "", "" })
	})
	c := ready(t)
	c.options.Addresses = []string{l.Addr().String()}
	return c
}

// TestAddBlock allocates blocks without excluded DataNodes, with the previous block, and checks that invalid responses are
// refused.
func TestAddBlock(t *testing.T) {
	var asked, answer []byte
	c := nameNode(t, func(method string, request []byte) []byte {
		if method == "addBlock" {
			asked = request
		}
		return answer
	})
	answer = frames.AppendBytes(nil, 1, frames.AppendNumber(nil, 13, 4711))
	f, _, err := c.Create(t.Context(), "/name", 0o644, 1000, 0)
	testcheck.Must(t, err)
	defer f.Release()
	if f.ID != 4711 || f.BlockSize != 1024 || f.Replication != 1 {
		t.Errorf("made %+v", f)
	}
	for n := 1; n <= 3; n++ {
		var infos [][]byte
		for i := range n {
			infos = append(infos, nodeInfo(string(rune('a'+i)), uint64(9000+i)))
		}
		answer = frames.AppendBytes(nil, 1, located(blockID(7, 1001), infos...))
		b, err := f.AddBlock(t.Context(), nil, nil, "")
		if err != nil || b.String() != "blk_7_1001" || len(b.Nodes) != n || string(b.token) != "token" {
			t.Fatalf("%+v, %v", b, err)
		}
		last := b.Nodes[n-1]
		if last.UUID != string(rune('a'+n-1)) || last.port != uint64(9000+n-1) || last.ip != "127.0.0.1" || last.Host != "localhost" {
			t.Fatalf("node %+v", last)
		}
		if _, found := frames.Bytes(asked, 4); found {
			t.Error("a DataNode was left out without need")
		}
		if _, found := frames.Bytes(asked, 6); found {
			t.Error("a DataNode was favored without need")
		}
		_, err = f.AddBlock(t.Context(), b.WithSize(99), b.Nodes[n-1:], "127.0.0.2:9866")
		testcheck.Must(t, err)
		left, _ := frames.Bytes(asked, 4)
		previous, _ := frames.Bytes(asked, 3)
		if favored, _ := frames.Bytes(asked, 6); string(favored) != "127.0.0.2:9866" {
			t.Errorf("favored %q", favored)
		}
		if name, _ := frames.Bytes(asked, 1); string(name) != "/name" || !slices.Equal(left, last.info) || frames.Number(previous, 4) != 99 || frames.Number(asked, 5) != 4711 {
			t.Errorf("asked %q", asked)
		}
	}
	for what, bad := range map[string][]byte{
		"nothing": nil, "rubbish": []byte("\xff"), "on no DataNode": frames.AppendBytes(nil, 1, located(blockID(7, 1001))),
		"on a DataNode without a port": frames.AppendBytes(nil, 1, located(blockID(7, 1001), nodeInfo("a", 0))), "no block": frames.AppendBytes(nil, 1, located(nil, nodeInfo("a", 9000))),
	} {
		answer = bad
		if b, err := f.AddBlock(t.Context(), nil, nil, ""); err == nil {
			t.Errorf("%s: %+v", what, b)
		}
	}
}

// TestStorageTypes checks that a DataNode gets the disk type that the NameNode has chosen for it, and none if the NameNode
// does not specify types.
func TestStorageTypes(t *testing.T) {
	const disk, targets, ssd, usual = 11, 12, 2, 1
	block := located(blockID(7, 1001), nodeInfo("a", 9000), nodeInfo("b", 9001))
	for _, types := range [][]uint64{nil, {ssd}, {ssd, usual}} {
		m := block
		for _, n := range types {
			m = frames.AppendNumber(m, 7, n)
		}
		b, err := parseBlock(m)
		testcheck.Must(t, err)
		op := (&BlockWriter{block: b, chunk: 512}).request("client")
		var first, rest uint64
		if len(types) == 2 {
			first, rest = ssd, usual
		}
		if frames.Number(op, disk) != first || frames.Number(op, targets) != rest {
			t.Errorf("%v: asked for %d, %d", types, frames.Number(op, disk), frames.Number(op, targets))
		}
	}
}

// TestComplete checks that each call names the last block, and that the NameNode's response is returned.
func TestComplete(t *testing.T) {
	said := uint64(0)
	c := nameNode(t, func(method string, request []byte) []byte {
		last, _ := frames.Bytes(request, 3)
		if method == "complete" && frames.Number(last, 4) != 99 {
			t.Errorf("asked %q", request)
		}
		return frames.AppendNumber(nil, 1, said)
	})
	f, _, err := c.Create(t.Context(), "/name", 0o644, 0, 0)
	testcheck.Must(t, err)
	defer f.Release()
	for said = range 2 {
		done, err := f.Complete(t.Context(), Block{id: blockID(7, 1001)}.WithSize(99))
		if testcheck.Must(t, err); done != (said == 1) {
			t.Errorf("complete %t for %d", done, said)
		}
	}
}

// TestLease checks that the lease of a file is renewed with its holder's name until the file is released.
func TestLease(t *testing.T) {
	var holders []string
	c := nameNode(t, func(method string, request []byte) []byte {
		if name, _ := frames.Bytes(request, 1); method == "renewLease" {
			holders = append(holders, string(name))
		}
		return nil
	})
	f, _, err := c.Create(t.Context(), "/name", 0o644, 0, 0)
	testcheck.Must(t, err)
	f.renewLease()
	f.Release()
	f.renewLease()
	if !slices.Equal(holders, []string{f.holder}) {
		t.Errorf("renewed %q", holders)
	}
}

// TestLocated parses whether a file is open, and its blocks.
func TestLocated(t *testing.T) {
	for what, c := range map[string]struct {
		answer      []byte
		open, fails bool
	}{
		"open":              {locations(17, 1), true, false},
		"closed":            {locations(17, 0), false, false},
		"without the field": {frames.AppendBytes(nil, 1, frames.AppendNumber(nil, 1, 17)), false, false},
		"an empty message":  {frames.AppendBytes(nil, 1, ""), false, false},
		"no locations":      {nil, false, true},
		"cut off":           {locations(17, 1)[:3], false, true},
		"of a bad block":    {locations(17, 0, []byte("\xff")), false, true},
	} {
		var asked []byte
		l, err := nameNode(t, func(_ string, request []byte) []byte { asked = request; return c.answer }).Locate(t.Context(), "/name", 3, 5)
		if l.Open != c.open || (err != nil) != c.fails {
			t.Errorf("%s: %+v, %v", what, l, err)
		}
		if name, _ := frames.Bytes(asked, 1); string(name) != "/name" || frames.Number(asked, 2) != 3 || frames.Number(asked, 3) != 5 {
			t.Errorf("asked %q", asked)
		}
	}
	b, err := parseLocated(locations(17, 0, frames.AppendNumber(located(frames.AppendNumber(blockID(7, 1001), 4, 10)), 2, 0), frames.AppendNumber(located(frames.AppendNumber(blockID(8, 1), 4, 7)), 2, 10)))
	if err != nil || len(b.Blocks) != 2 || b.Blocks[1].Offset != 10 || b.Blocks[1].Size != 7 || b.Length != 17 {
		t.Errorf("%+v, %v", b, err)
	}
}

// TestOnlyBlock checks that only the written block of a closed file is accepted.
func TestOnlyBlock(t *testing.T) {
	wrote, node := blockID(7, 1001), nodeInfo("uuid", 50010)
	good := located(frames.AppendNumber(wrote, 4, 10), node)
	for what, answer := range map[string][]byte{
		"": locations(10, 0, good), "open": locations(10, 1, good), "shorter": locations(9, 0, good), "without blocks": locations(10, 0),
		"of two blocks": locations(10, 0, good, good), "another block": locations(10, 0, located(blockID(8, 1001), node)),
		"another stamp": locations(10, 0, located(blockID(7, 1002), node)),
	} {
		r := ready(t).OpenWritten("/name", *Block{id: wrote}.WithSize(10))
		l, err := parseLocated(answer)
		testcheck.Must(t, err)
		if err := r.compare(t.Context(), l); (err == nil) != (what == "") {
			t.Errorf("an answer that is %s: %v", what, err)
		}
	}
	c := nameNode(t, func(string, []byte) []byte { return locations(10, 0, located(frames.AppendNumber(wrote, 4, 10))) })
	if _, err := c.OpenWritten("/name", *Block{id: wrote}.WithSize(10)).ReadAt(t.Context(), make([]byte, 10), 0); err == nil || err.Error() != "no datanode has blk_7_1001" {
		t.Errorf("a block that is nowhere: %v", err)
	}
}

// FuzzAnswers checks that any response is refused or parsed into valid values.
func FuzzAnswers(f *testing.F) {
	f.Add(locations(10, 0, located(blockID(7, 1001), nodeInfo("a", 9000))))
	f.Add(frames.AppendBytes(nil, 1, located(blockID(7, 1001), nodeInfo("a", 9000))))
	f.Add(testdfs.Acknowledge(1, 0, 0)[1:])
	f.Add(testdfs.Status(0)[1:])
	f.Fuzz(func(t *testing.T, answer []byte) {
		if b, err := parseGiven(answer); err == nil && (len(b.id) == 0 || len(b.Nodes) == 0) {
			t.Fatalf("half a block: %+v", b)
		}
		if l, err := parseLocated(answer); err == nil {
			for _, b := range l.Blocks {
				if b.Size < 0 || b.Offset < 0 {
					t.Fatalf("%+v", b)
				}
			}
		}
		_ = checkResponse(answer)
		if is, err := checkAck(answer, 1, 2); err == nil && is != 1 && is != heartbeatSeqno {
			t.Fatalf("packet %d for 1", is)
		}
	})
}
