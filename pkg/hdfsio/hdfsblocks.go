package hdfsio

import (
	"encoding/binary"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"bulkload/internal/hadoop/frames"
)

// blockWatch looks at what a session says to the NameNode and hears from it. It remembers the block that was given out
// last, and asks for the next one with the DataNodes left out that did not answer.
//
// The client library does neither: its addBlock never has excludeNodes (ClientNamenodeProtocol.proto of Hadoop 3), so
// that the NameNode continues to hand out a DataNode for 10 minutes after its death, and for ever one that it can reach
// and we cannot. Java's DataStreamer excludes such a node at once. A call whose form is not the expected one is let
// through as it is.
type blockWatch struct {
	avoid func() [][]byte // DatanodeInfoProto of each node to leave out

	mu    sync.Mutex
	heard // the answer to an addBlock
	last  *givenBlock
}

// heard collects the answer to one call.
type heard struct {
	waiting bool   // for it
	frame   []byte // what there is of it
}

func (a *heard) stop() { a.waiting, a.frame = false, nil }

// call gives the messages of p, which is one whole call, and waits for the answer, if it is a call of that method.
func (a *heard) call(p []byte, method string) [][]byte {
	a.stop()
	messages, _ := splitFrame(p)
	if len(messages) != 3 {
		return nil
	}
	if name, ok := fieldBytes(messages[1], 1); !ok || string(name) != method {
		return nil
	}
	a.waiting = true
	return messages
}

// add takes the next bytes that the NameNode sent. It gives the messages of the answer once that is whole; nil before,
// and when it cannot be looked at.
func (a *heard) add(p []byte) [][]byte {
	if !a.waiting {
		return nil
	}
	a.frame = append(a.frame, p...)
	if len(a.frame) < 4 {
		return nil
	}
	size := uint64(binary.BigEndian.Uint32(a.frame))
	if size > mostAnswer {
		a.stop()
		return nil
	}
	if uint64(len(a.frame)) < 4+size {
		return nil
	}
	messages, _ := splitFrame(a.frame[:4+size])
	a.stop()
	return messages
}

// givenBlock is a block with the DataNodes that were to take it.
type givenBlock struct {
	id    []byte // ExtendedBlockProto
	nodes []dataNode
}

// dataNode is a DataNode as the NameNode describes it.
type dataNode struct {
	info     []byte // DatanodeInfoProto
	uuid     string
	ip, host string
	port     uint64 // of data transfer
}

// mostAnswer bounds the answer that is looked at, in bytes. One with three DataNodes has about 600.
const mostAnswer = 1 << 20

// request returns the bytes to send in place of p, which is one whole call.
func (w *blockWatch) request(p []byte) []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	messages := w.call(p, "addBlock")
	if messages == nil {
		return p
	}
	nodes := w.avoid()
	if len(nodes) == 0 {
		return p
	}
	const excludeNodes = 4
	body := append([]byte{}, messages[2]...)
	for _, n := range nodes {
		body = protowire.AppendTag(body, excludeNodes, protowire.BytesType)
		body = protowire.AppendBytes(body, n)
	}
	return joinFrame(messages[0], messages[1], body)
}

// answer takes the next bytes that the NameNode sent.
func (w *blockWatch) answer(p []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	messages := w.add(p)
	if len(messages) != 2 {
		return // an exception has no second message
	}
	if b, ok := parseGivenBlock(messages[1]); ok {
		w.last = b
	}
}

// given is the block that was given out last, or nil.
func (w *blockWatch) given() *givenBlock {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

// forget is called when the session gets another user.
func (w *blockWatch) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = nil
}

// parseGivenBlock reads an AddBlockResponseProto: its LocatedBlockProto has the block in field 1 and the DataNodes in 3.
func parseGivenBlock(message []byte) (*givenBlock, bool) {
	located, ok := fieldBytes(message, 1)
	if !ok {
		return nil, false
	}
	b := &givenBlock{}
	ok = frames.Fields(located, func(field protowire.Number, _ uint64, data []byte) {
		switch field {
		case 1:
			b.id = data
		case 3:
			if n, ok := parseDataNode(data); ok {
				b.nodes = append(b.nodes, n)
			}
		}
	})
	return b, ok && len(b.id) > 0 && len(b.nodes) > 0
}

// parseDataNode reads a DatanodeInfoProto, whose DatanodeIDProto is field 1: address 1, host 2, UUID 3, port 4.
func parseDataNode(info []byte) (dataNode, bool) {
	n := dataNode{info: info}
	id, ok := fieldBytes(info, 1)
	if !ok {
		return n, false
	}
	ok = frames.Fields(id, func(field protowire.Number, number uint64, data []byte) {
		switch field {
		case 1:
			n.ip = string(data)
		case 2:
			n.host = string(data)
		case 3:
			n.uuid = string(data)
		case 4:
			n.port = number
		}
	})
	return n, ok && n.uuid != "" && n.port > 0 && n.port < 1<<16
}

// splitFrame gives the messages of a frame: four bytes of length, then messages that begin with their own.
func splitFrame(p []byte) ([][]byte, bool) {
	if len(p) < 4 || uint64(binary.BigEndian.Uint32(p)) != uint64(len(p)-4) {
		return nil, false
	}
	var messages [][]byte
	for p = p[4:]; len(p) > 0; {
		m, n := protowire.ConsumeBytes(p)
		if n < 0 {
			return nil, false
		}
		messages, p = append(messages, m), p[n:]
	}
	return messages, true
}

func joinFrame(messages ...[]byte) []byte {
	p := make([]byte, 4)
	for _, m := range messages {
		p = protowire.AppendBytes(p, m)
	}
	binary.BigEndian.PutUint32(p, uint32(len(p)-4))
	return p
}

// fieldBytes finds the first field of that number.
func fieldBytes(message []byte, number protowire.Number) (value []byte, found bool) {
	ok := frames.Fields(message, func(field protowire.Number, _ uint64, data []byte) {
		if field == number && !found {
			value, found = data, data != nil
		}
	})
	return value, ok && found
}
