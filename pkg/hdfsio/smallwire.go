package hdfsio

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"bulkload/internal/hadoop/frames"
)

func appendText(m []byte, field protowire.Number, text string) []byte {
	return protowire.AppendString(protowire.AppendTag(m, field, protowire.BytesType), text)
}

func appendMessage(m []byte, field protowire.Number, message []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), message)
}

func appendVarint(m []byte, field protowire.Number, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), n)
}

// fieldNumber is the last field of that number, 0 where there is none.
func fieldNumber(message []byte, number protowire.Number) (value uint64) {
	frames.Fields(message, func(field protowire.Number, n uint64, data []byte) {
		if field == number && data == nil {
			value = n
		}
	})
	return value
}

// writeBlockOp begins WRITE_BLOCK: version 28 of the data transfer protocol, operation 80 (DataTransferProtocol, Hadoop 3.4).
const writeBlockOp = "\x00\x1c\x50"

// packetData is how many bytes of a block one packet has, as in Hadoop's own clients.
const packetData = 64 << 10

// operationHeader is a ClientOperationHeaderProto: the block, the token that opens it, and the client.
func operationHeader(block, token []byte, client string) []byte {
	return appendText(appendMessage(nil, 1, appendMessage(appendMessage(nil, 1, block), 2, token)), 2, client)
}

// appendOperation appends a request to a DataNode.
func appendOperation(dst []byte, op string, message []byte) []byte {
	return protowire.AppendBytes(append(dst, op...), message)
}

// appendWritePacket appends a packet of a block, each of whose chunks has its CRC-32C. The last packet has no data.
func appendWritePacket(dst []byte, offset, seqno int64, data []byte) []byte {
	h := protowire.AppendFixed64(protowire.AppendTag(nil, 1, protowire.Fixed64Type), uint64(offset)) // PacketHeaderProto
	h = protowire.AppendFixed64(protowire.AppendTag(h, 2, protowire.Fixed64Type), uint64(seqno))
	h = appendVarint(h, 3, protowire.EncodeBool(len(data) == 0))
	h = protowire.AppendFixed32(protowire.AppendTag(h, 4, protowire.Fixed32Type), uint32(len(data)))
	sums := (len(data) + checksumChunk - 1) / checksumChunk * crc32.Size
	dst = binary.BigEndian.AppendUint32(dst, uint32(4+sums+len(data)))
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(h)))
	dst = append(dst, h...)
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	for at := 0; at < len(data); at += checksumChunk {
		dst = binary.BigEndian.AppendUint32(dst, crc32.Checksum(data[at:min(at+checksumChunk, len(data))], castagnoli))
	}
	return append(dst, data...)
}

// readDelimited reads a message after its length.
func readDelimited(r *bufio.Reader) ([]byte, error) {
	n, err := binary.ReadUvarint(r)
	if err != nil {
		return nil, err
	}
	if n > mostResponse {
		return nil, fmt.Errorf("an answer has %d bytes", n)
	}
	m := make([]byte, n)
	_, err = io.ReadFull(r, m)
	return m, err
}

// checkResponse reads a BlockOpResponseProto whose status is SUCCESS.
func checkResponse(m []byte) error {
	var status uint64
	var text []byte
	has := false
	ok := frames.Fields(m, func(field protowire.Number, number uint64, data []byte) {
		switch {
		case field == 1 && data == nil:
			status, has = number, true
		case field == 5:
			text = data
		}
	})
	switch {
	case !ok || !has:
		return errors.New("its answer is malformed")
	case status != 0:
		line, _, _ := strings.Cut(string(text), "\n")
		return fmt.Errorf("it refuses with status %d: %s", status, line)
	}
	return nil
}

// checkAck reads a PipelineAckProto: every DataNode of the pipeline has the packet.
func checkAck(m []byte, seqno int64, nodes int) error {
	var number uint64
	var replies []uint64
	ok := frames.Fields(m, func(field protowire.Number, n uint64, data []byte) {
		switch {
		case field == 1 && data == nil:
			number = n
		case field == 2 && data == nil:
			replies = append(replies, n)
		case field == 2: // packed
			for len(data) > 0 {
				n, size := protowire.ConsumeVarint(data)
				if size < 0 {
					n, size = mostResponse, len(data)
				}
				replies, data = append(replies, n), data[size:]
			}
		}
	})
	if !ok || protowire.DecodeZigZag(number) != seqno {
		return fmt.Errorf("it acknowledges packet %d, not %d", protowire.DecodeZigZag(number), seqno)
	}
	if len(replies) != nodes {
		return fmt.Errorf("%d of %d datanodes acknowledge packet %d", len(replies), nodes, seqno)
	}
	for i, status := range replies {
		if status != 0 {
			return fmt.Errorf("datanode %d of the pipeline answers packet %d with status %d", i+1, seqno, status)
		}
	}
	return nil
}
