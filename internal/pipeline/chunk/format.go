package chunk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"bulkload/pkg/partition/extsort"
)

const (
	magic = "BLC1"
	// headerSize is the size of a value's header, before its blocks.
	headerSize = 4 + 6*4
	// blockHeader is stored and raw length.
	blockHeader = 4 + 4
	// regionSize is the size of the region before the first row's key.
	regionSize = 4
	// rowHeader stands before each row.
	rowHeader = extsort.RecordHeader

	flagLast = 1

	// MaxKey is the greatest key of a chunk: a region and the longest row key that a record can have.
	MaxKey = regionSize + 1<<16 - 1
	// MaxValue is the greatest value of a chunk, in bytes.
	MaxValue = 1 << 30
	// mostRatio is how many bytes Snappy makes of one at most: a copy of 64 takes three.
	mostRatio = 22
)

// ErrDamaged is wrapped by every error about a chunk that is not what its run had.
var ErrDamaged = errors.New("sorted rows in transit are damaged")

// ErrRead is wrapped by the errors of a source from which chunks could not be read.
var ErrRead = errors.New("sorted rows in transit cannot be read")

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

// Counts has the number of rows and bytes of a run in a region.
type Counts struct {
	Chunks int64 `json:"chunks"`
	Rows   int64 `json:"rows"`
	Bytes  int64 `json:"bytes"` // of the rows, with 14 for each in addition to key and payload
	// Sum is the sum of XXH64 over the rows, each without its sequence number: neither the order of rows nor their spread
	// changes it.
	Sum uint64 `json:"sum,string"`
}

// Add joins the counts of others.
func (c *Counts) Add(o Counts) {
	c.Chunks += o.Chunks
	c.Rows += o.Rows
	c.Bytes += o.Bytes
	c.Sum += o.Sum
}

// header precedes the blocks of a value.
type header struct {
	sum          uint32
	run, ordinal uint32
	rows, flags  uint32
	raw          uint32
}

func (h *header) last() bool { return h.flags&flagLast != 0 }

// put writes the header into its room before the blocks, with the checksum of the key and the rest.
func (h *header) put(key, value []byte) {
	copy(value, magic)
	for i, v := range [...]uint32{h.run, h.ordinal, h.rows, h.flags, h.raw} {
		binary.LittleEndian.PutUint32(value[8+4*i:], v)
	}
	binary.LittleEndian.PutUint32(value[4:], sumOf(key, value))
}

// sumOf returns the checksum that a value should have.
func sumOf(key, value []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli) // it is made once
	return crc32.Update(crc32.Checksum(key, table), table, value[8:])
}

// parse reads a frame's region, first key and header, and compares the checksum.
func parse(key, value []byte) (region int, first []byte, h header, err error) {
	if len(key) < regionSize+1 || len(key) > MaxKey {
		return 0, nil, h, damaged("a chunk's key has %d bytes, it has %d to %d", len(key), regionSize+1, MaxKey)
	}
	if len(value) < headerSize+blockHeader {
		return 0, nil, h, damaged("a chunk has %d bytes, want at least %d", len(value), headerSize+blockHeader)
	}
	if string(value[:4]) != magic {
		return 0, nil, h, damaged("a chunk does not begin with %s", magic)
	}
	u := func(i int) uint32 { return binary.LittleEndian.Uint32(value[4+4*i:]) }
	h = header{u(0), u(1), u(2), u(3), u(4), u(5)}
	if sum := sumOf(key, value); sum != h.sum {
		return 0, nil, h, damaged("a chunk of %d bytes has checksum %08x, want %08x", len(value), sum, h.sum)
	}
	if h.rows == 0 || h.flags&^flagLast != 0 {
		return 0, nil, h, damaged("a chunk has %d rows and flags %x", h.rows, h.flags)
	}
	return int(binary.BigEndian.Uint32(key)), key[regionSize:], h, nil
}

// rowKey returns the key of a row after its header.
func rowKey(row []byte) []byte {
	return row[rowHeader : rowHeader+int(binary.LittleEndian.Uint16(row[12:]))]
}
