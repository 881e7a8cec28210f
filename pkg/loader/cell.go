package loader

import (
	"encoding/binary"
	"errors"

	"bulkload/pkg/hfile"
)

// Row is a row read from a table: the newest version of each column within the requested time range, in key order.
type Row struct {
	Key   []byte
	Cells []Cell
}

// Cell is one column's value.
type Cell struct {
	Family, Qualifier, Value []byte
	Timestamp                int64      // milliseconds
	Type                     hfile.Type // only a raw scan returns others than Put
}

var errCellBlock = errors.New("malformed cell block")

// Lengths of a KeyValue's fixed parts (org.apache.hadoop.hbase.KeyValue).
const (
	cellLengths = 4 + 4         // key length, value length
	keyFixed    = 2 + 1 + 8 + 1 // row length, family length, timestamp, type
)

// nextCell parses the first cell of a block in the format of KeyValueCodec: a length, then a KeyValue. The slices point into the block. It
// returns the cell's row and the rest of the block.
func nextCell(b []byte, c *Cell) (row, rest []byte, err error) {
	if len(b) < 4 {
		return nil, nil, errCellBlock
	}
	size := uint64(binary.BigEndian.Uint32(b))
	b = b[4:]
	if size > uint64(len(b)) || size < cellLengths+keyFixed {
		return nil, nil, errCellBlock
	}
	kv, rest := b[:size:size], b[size:]
	keyLen, valueLen := uint64(binary.BigEndian.Uint32(kv)), uint64(binary.BigEndian.Uint32(kv[4:]))
	if keyLen < keyFixed || cellLengths+keyLen+valueLen > size {
		return nil, nil, errCellBlock
	}
	key := kv[cellLengths : cellLengths+keyLen : cellLengths+keyLen]
	c.Value = kv[cellLengths+keyLen : cellLengths+keyLen+valueLen : cellLengths+keyLen+valueLen]
	rowLen := uint64(binary.BigEndian.Uint16(key))
	if rowLen+keyFixed > keyLen {
		return nil, nil, errCellBlock
	}
	row = key[2 : 2+rowLen : 2+rowLen]
	key = key[2+rowLen:]
	familyLen := uint64(key[0])
	if 1+familyLen+8+1 > uint64(len(key)) {
		return nil, nil, errCellBlock
	}
	end := uint64(len(key)) - 9
	c.Family = key[1 : 1+familyLen : 1+familyLen]
	c.Qualifier = key[1+familyLen : end : end]
	c.Timestamp = int64(binary.BigEndian.Uint64(key[end:]))
	c.Type = hfile.Type(key[end+8])
	return row, rest, nil
}
