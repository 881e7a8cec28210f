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
	// blockHeader is the size of a block's stored and raw length.
	blockHeader = 4 + 4
	// regionSize is the size of the region before the first row's key.
	regionSize = 4
	// rowHeader is the size of the header before each row.
	rowHeader = extsort.RecordHeader

	flagLast = 1

	// MaxKey is the maximum size of a chunk's key: a region and the longest row key that a record can have.
	MaxKey = regionSize + 1<<16 - 1
	// MaxValue is the maximum size of a chunk's value, in bytes.
	MaxValue = 1 << 30
	// maxRatio is the maximum compression ratio of Snappy: a copy of 64 bytes takes three.
	maxRatio = 22
)

// ErrDamaged is wrapped by every error about a chunk that differs from what its run has written.
var ErrDamaged = errors.New("sorted rows in transit are damaged")

// ErrRead is wrapped by errors of reading chunks.
var ErrRead = errors.New("sorted rows in transit cannot be read")

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

// Counts are the counts of a run's rows in a region.
type Counts struct {
	Chunks int64 `json:"chunks"`
	Rows   int64 `json:"rows"`
	Bytes  int64 `json:"bytes"` // of the rows, with 14 for each in addition to key and payload
	// Sum is the sum of XXH64 over the rows, each without its sequence number. It depends neither on the order of the
	// rows nor on their distribution.
	Sum uint64 `json:"sum,string"`
}

// Add adds other counts.
func (c *Counts) Add(o Counts) {
	c.Chunks += o.Chunks
	c.Rows += o.Rows
	c.Bytes += o.Bytes
	c.Sum += o.Sum
}

// header is the header of a value, before its blocks.
type header struct {
	sum          uint32
	run, ordinal uint32
	rows, flags  uint32
	raw          uint32
}

func (h *header) last() bool { return h.flags&flagLast != 0 }

// put writes the header into its space before the blocks, with the checksum of the key and the rest.
func (h *header) put(key, value []byte) {
	copy(value, magic)
	for i, v := range [...]uint32{h.run, h.ordinal, h.rows, h.flags, h.raw} {
		binary.LittleEndian.PutUint32(value[8+4*i:], v)
	}
	binary.LittleEndian.PutUint32(value[4:], sumOf(key, value))
}

// sumOf computes the checksum of a key and value.
func sumOf(key, value []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli) // created only once
	return crc32.Update(crc32.Checksum(key, table), table, value[8:])
}

// parse reads a frame's region, first key and header, and verifies the checksum.
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

// rowKey returns the key of a row, which follows its header.
func rowKey(row []byte) []byte {
	return row[rowHeader : rowHeader+int(binary.LittleEndian.Uint16(row[12:]))]
}
