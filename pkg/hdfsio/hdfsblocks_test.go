package hdfsio

import (
	"bytes"
	"slices"
	"testing"

	"bulkload/internal/test/testcheck"

	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"
)

// appendField adds a field of bytes.
func appendField(m []byte, number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(m, number, protowire.BytesType), value)
}

func testNode(uuid string, port uint64) []byte {
	id := appendField(appendField(appendField(nil, 1, []byte("127.0.0.1")), 2, []byte("localhost")), 3, []byte(uuid))
	id = protowire.AppendVarint(protowire.AppendTag(id, 4, protowire.VarintType), port)
	return appendField(nil, 1, id)
}

func testCall(method string, body []byte) []byte {
	return joinFrame([]byte("header"), appendField(nil, 1, []byte(method)), body)
}

// TestBlockWatch gives a block in pieces of any size, and asks for the next one without one of its DataNodes.
func TestBlockWatch(t *testing.T) {
	testcheck.Check(t, func(t *rapid.T) {
		var avoid [][]byte
		w := blockWatch{avoid: func() [][]byte { return avoid }}
		other := testCall("renewLease", []byte("x"))
		if got := w.request(other); !bytes.Equal(got, other) {
			t.Fatal("another call was changed")
		}
		w.answer([]byte("ignored"))
		call := testCall("addBlock", appendField(nil, 1, []byte("/name")))
		if got := w.request(call); !bytes.Equal(got, call) {
			t.Fatal("a call was changed without need")
		}
		located := appendField(nil, 1, []byte("block"))
		n := rapid.IntRange(1, 3).Draw(t, "nodes")
		for i := range n {
			located = appendField(located, 3, testNode(string(rune('a'+i)), uint64(9000+i)))
		}
		answer := joinFrame([]byte("header"), appendField(nil, 1, located))
		for rest := answer; len(rest) > 0; {
			k := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			w.answer(rest[:k])
			rest = rest[k:]
		}
		given := w.given()
		if given == nil || string(given.id) != "block" || len(given.nodes) != n {
			t.Fatalf("given %+v", given)
		}
		last := given.nodes[n-1]
		if last.uuid != string(rune('a'+n-1)) || last.port != uint64(9000+n-1) || last.ip != "127.0.0.1" || last.host != "localhost" {
			t.Fatalf("node %+v", last)
		}
		avoid = [][]byte{last.info}
		messages, ok := splitFrame(w.request(call))
		if !ok || len(messages) != 3 {
			t.Fatal("the call has lost its form")
		}
		if left, ok := fieldBytes(messages[2], 4); !ok || !bytes.Equal(left, last.info) {
			t.Fatalf("left out %q", left)
		}
		if name, ok := fieldBytes(messages[2], 1); !ok || string(name) != "/name" {
			t.Fatalf("name %q", name)
		}
		// An exception has no second message; the block of before stays.
		w.answer(joinFrame([]byte("exception")))
		if w.given() != given {
			t.Fatal("a refusal gave a block")
		}
		if w.forget(); w.given() != nil {
			t.Fatal("the block was not forgotten")
		}
	})
}

// FuzzBlockWatch holds the watch to bytes of any kind: it changes no call but addBlock, and never panics.
func FuzzBlockWatch(f *testing.F) {
	located := appendField(appendField(nil, 1, []byte("block")), 3, testNode("a", 9000))
	f.Add(testCall("addBlock", nil), joinFrame([]byte("header"), appendField(nil, 1, located)))
	f.Add(testCall("complete", []byte("x")), []byte{0xff, 0xff, 0xff, 0xff})
	f.Add([]byte("hrpc\x09\x00\x00"), []byte{0, 0, 0, 2, 1, 0})
	f.Fuzz(func(t *testing.T, call, answer []byte) {
		w := blockWatch{avoid: func() [][]byte { return [][]byte{testNode("b", 1)} }}
		before := slices.Clone(call)
		got := w.request(call)
		if !bytes.Equal(before, call) {
			t.Fatal("the caller's bytes were changed")
		}
		if w.waiting == bytes.Equal(got, call) {
			t.Fatal("an addBlock was not changed, or another call was")
		}
		w.answer(answer)
		if b := w.given(); b != nil && (len(b.id) == 0 || len(b.nodes) == 0) {
			t.Fatalf("half a block: %+v", b)
		}
	})
}
