package hfile

import (
	"encoding/binary"
	"math/bits"
)

// Flags of a FAST_DIFF cell (FastDiffDeltaEncoder, 2.6.4). The low three bits
// hold the number of timestamp bytes shared with the previous cell.
const (
	fastTimestampMask = 0x07
	fastSameKeyLen    = 0x08
	fastSameValueLen  = 0x10
	fastSameType      = 0x20
	fastSameValue     = 0x40
	fastUnused        = 0x80
)

// Flags of a DIFF cell (DiffKeyDeltaEncoder, 2.6.4). Bits 4 to 6 hold the
// length of the timestamp field minus one.
const (
	diffSameKeyLen   = 0x01
	diffSameValueLen = 0x02
	diffSameType     = 0x04
	diffTimestamp    = 0x08
	diffNegative     = 0x80
)

// appendCell appends one cell in the given encoding. prev is the previous cell
// in the same block, nil for a block's first. Every cell ends with its tags and its
// sequence id, because HFileOutputFormat2 writes both; the id is 0 in a bulk load.
func appendCell(dst []byte, e Encoding, prev, cur *flat) []byte {
	switch e {
	case EncodingPrefix:
		dst = appendPrefix(dst, prev, cur)
	case EncodingDiff:
		dst = appendDiff(dst, prev, cur)
	case EncodingFastDiff:
		dst = appendFastDiff(dst, prev, cur)
	default:
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(cur.key)))
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(cur.value)))
		dst = append(dst, cur.key...)
		dst = append(dst, cur.value...)
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(cur.tags)))
		dst = append(dst, cur.tags...)
		return append(dst, 0)
	}
	dst = appendLEB(dst, len(cur.tags))
	dst = append(dst, cur.tags...)
	return append(dst, 0)
}

// unencodedSize returns a cell's contribution to the unencoded size of its block,
// for any encoding: its KeyValue form with tags length and a one-byte sequence id.
func unencodedSize(keyLen, valueLen, tagsLen int) int { return keyLen + valueLen + tagsLen + 11 }

// sharedPrefix returns the common prefix of two flat keys as HBase's encoders
// compute it: it ends where row lengths differ, and families are taken as equal.
func sharedPrefix(prev, cur *flat) int {
	if prev.rowLen != cur.rowLen {
		if prev.rowLen>>8 == cur.rowLen>>8 {
			return 1
		}
		return 0
	}
	n := commonPrefix(prev.row(), cur.row())
	if n < cur.rowLen {
		return 2 + n
	}
	return 3 + n + cur.famLen + commonPrefix(prev.qualifier(), cur.qualifier())
}

// appendRest appends the part of row and qualifier after the shared prefix. If
// the rows differ, it appends the whole qualifier. It never repeats the family.
func appendRest(dst []byte, cur *flat, shared int) []byte {
	if shared < cur.rowLen+2 {
		dst = append(dst, cur.key[shared:cur.rowLen+2]...)
		return append(dst, cur.qualifier()...)
	}
	return append(dst, cur.key[shared:len(cur.key)-9]...)
}

func appendFastDiff(dst []byte, prev, cur *flat) []byte {
	if prev == nil {
		dst = append(dst, 0)
		dst = appendLEB(dst, len(cur.key))
		dst = appendLEB(dst, len(cur.value))
		dst = append(dst, 0)
		dst = append(dst, cur.key...)
		return append(dst, cur.value...)
	}
	shared := sharedPrefix(prev, cur)
	flag := byte(min(bits.LeadingZeros64(uint64(prev.timestamp()^cur.timestamp()))/8, 7))
	if len(prev.key) == len(cur.key) {
		flag |= fastSameKeyLen
	}
	if len(prev.value) == len(cur.value) {
		flag |= fastSameValueLen
		if string(prev.value) == string(cur.value) {
			flag |= fastSameValue
		}
	}
	if prev.typ() == cur.typ() {
		flag |= fastSameType
	}
	dst = append(dst, flag)
	if flag&fastSameKeyLen == 0 {
		dst = appendLEB(dst, len(cur.key))
	}
	if flag&fastSameValueLen == 0 {
		dst = appendLEB(dst, len(cur.value))
	}
	dst = appendLEB(dst, shared)
	dst = appendRest(dst, cur, shared)
	end := len(cur.key) - 1
	dst = append(dst, cur.key[end-8+int(flag&fastTimestampMask):end]...)
	if flag&fastSameType == 0 {
		dst = append(dst, cur.key[end])
	}
	if flag&fastSameValue == 0 {
		dst = append(dst, cur.value...)
	}
	return dst
}

func appendDiff(dst []byte, prev, cur *flat) []byte {
	shared, flag := 0, byte(0)
	field, negative, difference := magnitude(cur.timestamp()), cur.timestamp() < 0, false
	if prev == nil {
		dst = append(dst, byte(cur.famLen))
		dst = append(dst, cur.family()...)
	} else {
		shared = sharedPrefix(prev, cur)
		if len(prev.key) == len(cur.key) {
			flag |= diffSameKeyLen
		}
		if len(prev.value) == len(cur.value) {
			flag |= diffSameValueLen
		}
		if prev.typ() == cur.typ() {
			flag |= diffSameType
		}
		d := prev.timestamp() - cur.timestamp()
		if m := magnitude(d); byteLen(m) < byteLen(field) {
			field, negative, difference = m, d < 0, true
		}
	}
	if difference {
		flag |= diffTimestamp
	}
	if negative {
		flag |= diffNegative
	}
	n := byteLen(field)
	dst = append(dst, flag|byte(n-1)<<4)
	if flag&diffSameKeyLen == 0 {
		dst = appendLEB(dst, len(cur.key))
	}
	if flag&diffSameValueLen == 0 {
		dst = appendLEB(dst, len(cur.value))
	}
	dst = appendLEB(dst, shared)
	dst = appendRest(dst, cur, shared)
	for range n { // the only little-endian field of the format
		dst = append(dst, byte(field))
		field >>= 8
	}
	if flag&diffSameType == 0 {
		dst = append(dst, byte(cur.typ()))
	}
	return append(dst, cur.value...)
}

func magnitude(v int64) uint64 {
	if v < 0 {
		return uint64(-v)
	}
	return uint64(v)
}

// byteLen returns the minimum number of bytes that hold v; zero takes one.
func byteLen(v uint64) int { return max(1, (bits.Len64(v)+7)/8) }

// appendPrefix appends a PREFIX cell. Only this encoder extends the shared
// prefix into timestamp and type when the qualifiers are equal
// (PrefixKeyDeltaEncoder, 2.6.4).
func appendPrefix(dst []byte, prev, cur *flat) []byte {
	shared := 0
	if prev != nil {
		shared = sharedPrefix(prev, cur)
		if len(prev.key) == len(cur.key) && shared == len(cur.key)-9 {
			shared += commonPrefix(prev.key[shared:], cur.key[shared:])
		}
	}
	dst = appendLEB(dst, len(cur.key)-shared)
	dst = appendLEB(dst, len(cur.value))
	dst = appendLEB(dst, shared)
	dst = append(dst, cur.key[shared:]...)
	return append(dst, cur.value...)
}
