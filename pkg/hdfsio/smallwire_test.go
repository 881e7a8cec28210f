package hdfsio

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// locations is a GetBlockLocationsResponseProto of a closed file with these blocks.
func locations(length, open uint64, blocks ...[]byte) []byte {
	m := appendNumber(nil, 1, length)
	for _, b := range blocks {
		m = appendField(m, 2, b)
	}
	return appendField(nil, 1, appendNumber(m, 3, open))
}

// fakeID is an ExtendedBlockProto.
func fakeID(id, stamp uint64) []byte {
	return appendNumber(appendNumber(appendField(nil, 1, []byte("pool")), 2, id), 3, stamp)
}

// fakeLocated is a LocatedBlockProto on one DataNode.
func fakeLocated(id []byte) []byte {
	node := appendNumber(appendField(appendField(appendField(nil, 1, []byte("127.0.0.1")), 2, []byte("localhost")), 3, []byte("uuid")), 4, 50010)
	return appendField(appendField(appendField(nil, 1, id), 3, appendField(nil, 1, node)), 5, []byte("token"))
}

// TestOnlyBlock takes the block of a closed file that is the one that was written, and nothing else.
func TestOnlyBlock(t *testing.T) {
	wrote := fakeID(7, 1001)
	good := fakeLocated(appendNumber(wrote, 4, 10))
	block, token, node, err := onlyBlock(locations(10, 0, good), 10, wrote)
	if err != nil || fieldNumber(block, 2) != 7 || string(token) != "token" || node.port != 50010 {
		t.Fatalf("block %q, token %q, node %+v, %v", block, token, node, err)
	}
	for what, answer := range map[string][]byte{
		"nothing": nil, "rubbish": []byte("\xff"), "open": locations(10, 1, good), "shorter": locations(9, 0, good), "without blocks": locations(10, 0),
		"of two blocks": locations(10, 0, good, good), "another block": locations(10, 0, fakeLocated(fakeID(8, 1001))),
		"another stamp": locations(10, 0, fakeLocated(fakeID(7, 1002))), "nowhere": locations(10, 0, appendField(nil, 1, wrote)),
	} {
		if _, _, _, err := onlyBlock(answer, 10, wrote); err == nil {
			t.Errorf("an answer that is %s passes", what)
		}
	}
}

// TestWritePackets: what a reader of blocks takes apart is what was put together.
func TestWritePackets(t *testing.T) {
	for _, size := range []int{1, 511, 512, 513, packetData, packetData + 1, smallFile} {
		data := noise(size)
		sum := appendNumber(appendNumber(nil, 1, 2), 2, checksumChunk)
		answer := protowire.AppendBytes(nil, appendField(appendNumber(nil, 1, 0), 4, appendNumber(appendField(nil, 1, sum), 2, 0)))
		at, seqno := 0, int64(0)
		for ; at < size; seqno++ {
			p := data[at:min(at+packetData, size)]
			answer = appendWritePacket(answer, int64(at), seqno, p)
			at += len(p)
		}
		answer = appendWritePacket(answer, int64(at), seqno, nil)
		var got []byte
		err := unpack(&got, &packetReader{from: bytes.NewReader(answer), req: readRequest{end: int64(size)}}, int64(size))
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes: %d came back, %v", size, len(got), err)
		}
	}
}

// FuzzSmallAnswers: whatever servers answer is refused or understood.
func FuzzSmallAnswers(f *testing.F) {
	f.Add(locations(10, 0, fakeLocated(fakeID(7, 1001))))
	f.Add(usualShape.answer(noise(1000), readRequest{end: 1000}))
	f.Add(acknowledge(1, 0, 0))
	f.Add(answerStatus(0))
	f.Fuzz(func(t *testing.T, answer []byte) {
		_, _, _, _ = onlyBlock(answer, 10, fakeID(7, 1001))
		_ = checkResponse(answer)
		_ = checkAck(answer, 1, 2)
		var data []byte
		if err := unpack(&data, bytes.NewReader(answer), 1000); err == nil && len(data) != 1000 {
			t.Fatalf("%d bytes of 1000", len(data))
		}
	})
}
