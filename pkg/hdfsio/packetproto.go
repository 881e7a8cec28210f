package hdfsio

import (
	"encoding/binary"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"bulkload/internal/hadoop/frames"
)

// readRequest is what an OpReadBlockProto asks for.
type readRequest struct {
	block      string
	start, end int64 // bytes of the block
}

// The first bytes of an operation: version 28 of the data transfer protocol, and READ_BLOCK.
const readBlockOp = "\x00\x1c\x51"

// parseReadRequest looks at what a client has written first. It is no request to read (read is false), not whole yet, or
// the request.
func parseReadRequest(p []byte) (req readRequest, read, whole bool, err error) {
	if n := min(len(p), len(readBlockOp)); string(p[:n]) != readBlockOp[:n] {
		return req, false, true, nil
	} else if n < len(readBlockOp) {
		return req, true, false, nil
	}
	p = p[len(readBlockOp):]
	length, n := protowire.ConsumeVarint(p)
	switch {
	case n < 0 && len(p) < binary.MaxVarintLen64, n > 0 && length <= mostResponse && uint64(len(p)-n) < length:
		return req, true, false, nil
	case n < 0 || length != uint64(len(p)-n):
		return req, true, true, fmt.Errorf("READ_BLOCK: a request of %d bytes does not have the length that it says", len(p))
	}
	var offset, size uint64
	var header []byte
	ok := frames.Fields(p[n:], func(field protowire.Number, number uint64, data []byte) {
		switch field {
		case 1:
			header = data
		case 2:
			offset = number
		case 3:
			size = number
		}
	})
	if !ok || offset > math.MaxInt64 || size > math.MaxInt64-offset {
		return req, true, true, fmt.Errorf("READ_BLOCK: a request of %d bytes is malformed", len(p))
	}
	return readRequest{blockName(header), int64(offset), int64(offset + size)}, true, true, nil
}

// blockName is the block of a ClientOperationHeaderProto: a BaseHeaderProto has it in field 1, and is its field 1.
func blockName(header []byte) string {
	base, _ := fieldBytes(header, 1)
	block, _ := fieldBytes(base, 1)
	var id, stamp uint64
	frames.Fields(block, func(field protowire.Number, number uint64, _ []byte) {
		switch field {
		case 2:
			id = number
		case 3:
			stamp = number
		}
	})
	return fmt.Sprintf("blk_%d_%d", int64(id), int64(stamp))
}

// readResponse is of a BlockOpResponseProto what a read needs.
type readResponse struct {
	status, kind, chunk, offset uint64
}

// parseReadResponse is stricter than Protocol Buffers: a field that occurs twice could be understood in two ways.
func parseReadResponse(message []byte) (a readResponse, ok bool) {
	if !numbers(message, map[protowire.Number]*uint64{1: &a.status}) {
		return a, false
	}
	if a.status != 0 {
		return a, true
	}
	info, ok := onlyBytes(message, 4)
	if !ok || !numbers(info, map[protowire.Number]*uint64{2: &a.offset}) {
		return a, false
	}
	sum, ok := onlyBytes(info, 1)
	return a, ok && numbers(sum, map[protowire.Number]*uint64{1: &a.kind, 2: &a.chunk})
}

// numbers finds fields that must be there once, each of them a number.
func numbers(message []byte, into map[protowire.Number]*uint64) bool {
	found := 0
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return false
		}
		message = message[n:]
		if p, ok := into[field]; ok {
			if p == nil || kind != protowire.VarintType {
				return false
			}
			*p, n = protowire.ConsumeVarint(message)
			into[field] = nil
			found++
		} else {
			n = protowire.ConsumeFieldValue(field, kind, message)
		}
		if n < 0 {
			return false
		}
		message = message[n:]
	}
	return found == len(into)
}

// onlyBytes finds a field that must be there once.
func onlyBytes(message []byte, number protowire.Number) (value []byte, ok bool) {
	found := 0
	sound := frames.Fields(message, func(field protowire.Number, _ uint64, data []byte) {
		if field == number {
			value = data
			found++
		}
	})
	return value, sound && found == 1 && value != nil
}

// packetHeader is a PacketHeaderProto.
type packetHeader struct {
	offset, seqno, length int64
	last                  bool
}

// parsePacketHeader wants all fields, each once. The library takes a header that it cannot parse for one of zeros.
func parsePacketHeader(message []byte) (h packetHeader, ok bool) {
	kinds := [...]protowire.Type{1: protowire.Fixed64Type, 2: protowire.Fixed64Type, 3: protowire.VarintType, 4: protowire.Fixed32Type}
	seen := 0
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return h, false
		}
		message = message[n:]
		if int(field) < len(kinds) {
			if kind != kinds[field] || seen&(1<<field) != 0 {
				return h, false
			}
			seen |= 1 << field
		}
		var v uint64
		var w uint32
		switch field {
		case 1:
			v, n = protowire.ConsumeFixed64(message)
			h.offset = int64(v)
		case 2:
			v, n = protowire.ConsumeFixed64(message)
			h.seqno = int64(v)
		case 3:
			v, n = protowire.ConsumeVarint(message)
			h.last = protowire.DecodeBool(v)
		case 4:
			w, n = protowire.ConsumeFixed32(message)
			h.length = int64(int32(w))
		default:
			n = protowire.ConsumeFieldValue(field, kind, message)
		}
		if n < 0 {
			return h, false
		}
		message = message[n:]
	}
	return h, seen == 1<<1|1<<2|1<<3|1<<4
}
