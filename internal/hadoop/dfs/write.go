package dfs

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"bulkload/internal/hadoop/frames"
)

const (
	// packetData is the maximum number of bytes of a block in one packet, as in Hadoop's own clients.
	packetData = 64 << 10
	// usualChunk is the number of bytes covered by one checksum if the NameNode does not specify it.
	usualChunk = 512
	// window is the maximum number of unacknowledged packets, as in Hadoop's own clients.
	window = 80
	// heartbeat is the interval of heartbeats of a client that does not write. A DataNode's timeout is a minute.
	heartbeat = 30 * time.Second
	// heartbeatSeqno is the sequence number of a heartbeat.
	heartbeatSeqno = -1
	// headerSize is the size of a packet before its checksums: lengths, and a PacketHeaderProto of fixed fields.
	headerSize = packetStart + 9 + 9 + 2 + 5
)

// BlockWriter writes a block to a pipeline of DataNodes. It must be used by one goroutine.
type BlockWriter struct {
	client *Client
	block  Block
	peer   *peer
	ctx    context.Context
	stop   func() bool
	chunk  int

	packet *[]byte // room for a header and checksums, the data, and room for another header
	start  int     // of the data in packet
	n      int     // bytes of data in packet
	offset int64   // in the block, of the packet
	seqno  int64   // of the packet

	mu     sync.Mutex // guards writes to the connection, and closed
	closed bool
	beat   *time.Timer

	sent chan int64    // sequence numbers of packets to be acknowledged
	done chan struct{} // closed once err is final
	err  error         // of the acknowledgements
}

// WriteBlock starts writing a block of the file. The context bounds the life of the writer, which must be closed or aborted.
// After a [NameNodeError] the call may be repeated.
func (f *File) WriteBlock(ctx context.Context, b Block) (*BlockWriter, error) {
	p, err := f.client.dial(ctx, b.Nodes[0], b)
	if ofNameNode(err) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("write to datanode %w", err)
	}
	chunk := int(f.Chunk)
	w := &BlockWriter{client: f.client, block: b, peer: p, ctx: ctx, stop: p.during(ctx), chunk: chunk,
		start: headerSize + packetData/chunk*crc32.Size, sent: make(chan int64, window), done: make(chan struct{})}
	err = p.request(writeBlockOp, w.request(f.holder))
	if err == nil {
		_, err = p.response()
	}
	if err != nil {
		w.stop()
		p.conn.Close()
		return nil, w.failure(err)
	}
	size := w.start + packetData + headerSize
	if w.packet, _ = f.client.packets.Get().(*[]byte); w.packet == nil || len(*w.packet) != size {
		buf := make([]byte, size)
		w.packet = &buf
	}
	go w.acknowledge()
	w.beat = time.AfterFunc(math.MaxInt64, w.idle)
	w.beat.Reset(heartbeat)
	return w, nil
}

// request returns an OpWriteBlockProto for a new block.
func (w *BlockWriter) request(client string) []byte {
	const stage, checksums, disk, disks, setupCreate, crc32c = 4, 9, 11, 12, 6, 2
	op := frames.AppendBytes(nil, 1, clientHeader(w.block, client))
	for _, n := range w.block.Nodes[1:] {
		op = frames.AppendBytes(op, 2, n.info)
	}
	op = frames.AppendNumber(op, stage, setupCreate)
	for field, n := range []int{len(w.block.Nodes) - 1, 0, 0, 0} { // pipeline size, bytes received: min, max, generation stamp
		op = frames.AppendNumber(op, protowire.Number(field+5), uint64(n))
	}
	op = frames.AppendBytes(op, checksums, frames.AppendNumber(frames.AppendNumber(nil, 1, crc32c), 2, uint64(w.chunk)))
	if len(w.block.disks) == len(w.block.Nodes) { // otherwise a DataNode uses a disk of the default type, whatever the storage policy
		op = frames.AppendNumber(op, disk, w.block.disks[0])
		for _, d := range w.block.disks[1:] {
			op = frames.AppendNumber(op, disks, d)
		}
	}
	return op
}

// Size returns the number of bytes written.
func (w *BlockWriter) Size() int64 { return w.offset + int64(w.n) }

// Write writes the next bytes of the block. A DataNode's error may be returned by a later call.
func (w *BlockWriter) Write(p []byte) (int, error) {
	written, room := 0, packetData/w.chunk*w.chunk
	for len(p) > 0 {
		n := copy((*w.packet)[w.start+w.n:w.start+room], p)
		w.n, p, written = w.n+n, p[n:], written+n
		if w.n < room {
			break
		}
		if err := w.send(w.frame(), 1); err != nil {
			return written, w.failure(err)
		}
	}
	return written, nil
}

// Close writes the remaining bytes, and returns the block with its length once all DataNodes have acknowledged all of it.
func (w *BlockWriter) Close() (*Block, error) {
	size, packets, last := w.Size(), int64(1), (*w.packet)[:0]
	if w.n > 0 {
		packets, last = 2, w.frame()
	}
	err := w.send(appendHeader(last, size, w.seqno+packets-1, 0, 0), packets)
	if err != nil {
		w.peer.conn.Close()
	}
	w.end()
	if err == nil {
		err = w.err
	}
	if err != nil {
		return nil, w.failure(err)
	}
	return w.block.WithSize(size), nil
}

// Abort abandons the block. After Close it does nothing.
func (w *BlockWriter) Abort() {
	w.peer.conn.Close()
	w.end()
}

// end waits for the acknowledgements of sent packets and closes the connection, on which a DataNode accepts no further
// operation.
func (w *BlockWriter) end() {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return
	}
	w.closed = true
	close(w.sent)
	w.mu.Unlock()
	w.beat.Stop()
	<-w.done
	w.stop()
	w.peer.conn.Close()
	w.client.packets.Put(w.packet)
}

// frame returns the current packet, ready to be sent. Header and checksums are written directly before the data.
func (w *BlockWriter) frame() []byte {
	data := (*w.packet)[w.start : w.start+w.n]
	sums := (w.n + w.chunk - 1) / w.chunk * crc32.Size
	at := w.start - sums - headerSize
	head := appendHeader((*w.packet)[at:at], w.offset, w.seqno, sums, w.n)
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	for len(data) > 0 {
		n := min(w.chunk, len(data))
		head = binary.BigEndian.AppendUint32(head, crc32.Checksum(data[:n], castagnoli))
		data = data[n:]
	}
	return (*w.packet)[at : w.start+w.n]
}

// appendHeader appends the start of a packet: its lengths and a PacketHeaderProto. The last packet has no data.
func appendHeader(dst []byte, offset, seqno int64, sums, data int) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(4+sums+data))
	dst = binary.BigEndian.AppendUint16(dst, headerSize-packetStart)
	dst = protowire.AppendFixed64(protowire.AppendTag(dst, 1, protowire.Fixed64Type), uint64(offset))
	dst = protowire.AppendFixed64(protowire.AppendTag(dst, 2, protowire.Fixed64Type), uint64(seqno))
	dst = frames.AppendNumber(dst, 3, protowire.EncodeBool(data == 0 && seqno != heartbeatSeqno))
	return protowire.AppendFixed32(protowire.AppendTag(dst, 4, protowire.Fixed32Type), uint32(data))
}

// send sends the bytes of one or more packets, and starts the next packet.
func (w *BlockWriter) send(p []byte, packets int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for range packets {
		select {
		case w.sent <- w.seqno:
		case <-w.done:
			return w.err
		}
		w.seqno++
	}
	w.offset, w.n = w.offset+int64(w.n), 0
	w.beat.Reset(heartbeat)
	_, err := w.peer.conn.Write(p)
	return err
}

// idle sends a heartbeat. An error is returned by the next packet.
func (w *BlockWriter) idle() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		_, _ = w.peer.conn.Write(appendHeader(nil, 0, heartbeatSeqno, 0, 0))
		w.beat.Reset(heartbeat)
	}
}

// acknowledge reads acknowledgements until the first error.
func (w *BlockWriter) acknowledge() {
	defer close(w.done)
	var buf []byte
	for seqno := range w.sent {
		for is := int64(heartbeatSeqno); is == heartbeatSeqno; {
			if buf, w.err = readDelimited(w.peer.in, buf); w.err != nil {
				return
			}
			if is, w.err = checkAck(buf, seqno, len(w.block.Nodes)); w.err != nil {
				return
			}
		}
	}
}

// checkAck returns an error unless m is a PipelineAckProto in which every DataNode of the pipeline acknowledges the
// packet, or a heartbeat.
func checkAck(m []byte, seqno int64, nodes int) (is int64, err error) {
	replies, status, bad := 0, uint64(0), 0
	reply := func(n uint64) {
		if replies++; n != 0 && bad == 0 {
			status, bad = n, replies
		}
	}
	ok := frames.Fields(m, func(field protowire.Number, n uint64, data []byte) {
		switch {
		case field == 1 && data == nil:
			is = protowire.DecodeZigZag(n)
		case field == 2 && data == nil:
			reply(n)
		case field == 2: // packed
			for len(data) > 0 {
				n, size := protowire.ConsumeVarint(data)
				if size < 0 {
					n, size = maxResponse, len(data)
				}
				reply(n)
				data = data[size:]
			}
		}
	})
	switch {
	case !ok || is != seqno && is != heartbeatSeqno:
		return is, fmt.Errorf("it acknowledges packet %d, not %d", is, seqno)
	case replies != nodes:
		return is, fmt.Errorf("%d of %d datanodes acknowledge packet %d", replies, nodes, is)
	case bad > 0:
		return is, fmt.Errorf("datanode %d of the pipeline answers packet %d with status %d", bad, is, status)
	}
	return is, nil
}

func (w *BlockWriter) failure(err error) error {
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	return fmt.Errorf("write to datanode %s: %w", w.peer.address, err)
}
