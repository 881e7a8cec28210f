package dfs

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"bulkload/internal/hadoop/frames"
)

// Block is a block of a file with its locations.
type Block struct {
	Offset int64 // in the file
	Size   int64
	Nodes  []DataNode

	id    []byte   // ExtendedBlockProto
	token []byte   // TokenProto
	disks []uint64 // StorageTypeProto: the type of the disk on each of Nodes; empty if unknown

	// For a block group of an erasure coded file: for each of Nodes the index of its internal block, and the token for it. Other
	// blocks have no indices.
	indices []byte
	tokens  [][]byte
}

// String returns the block's name as HDFS's tools print it.
func (b Block) String() string {
	return fmt.Sprintf("blk_%d_%d", int64(frames.Number(b.id, 2)), int64(frames.Number(b.id, 3)))
}

// Same reports whether two blocks have the same id and generation stamp.
func (b Block) Same(o Block) bool {
	return frames.Number(b.id, 2) == frames.Number(o.id, 2) && frames.Number(b.id, 3) == frames.Number(o.id, 3)
}

// WithSize returns the block with its length.
func (b Block) WithSize(n int64) *Block {
	b.Size, b.id = n, frames.AppendNumber(append([]byte(nil), b.id...), 4, uint64(n)) // if a field occurs twice, the last one counts
	return &b
}

// DataNode is a DataNode as described by the NameNode.
type DataNode struct {
	UUID string
	Host string

	ip   string
	port uint64 // of data transfer
	info []byte // DatanodeInfoProto
}

// parseBlock parses a LocatedBlockProto.
func parseBlock(m []byte) (b Block, err error) {
	nodes := 0
	ok := frames.Fields(m, func(field protowire.Number, number uint64, data []byte) {
		switch {
		case field == 1 && data != nil:
			b.id = data
		case field == 2 && data == nil:
			b.Offset = int64(number)
		case field == 3 && data != nil:
			nodes++
			if n, ok := parseDataNode(data); ok {
				b.Nodes = append(b.Nodes, n)
			}
		case field == 5 && data != nil:
			b.token = data
		case field == 7 && data == nil:
			b.disks = append(b.disks, number)
		case field == 9 && data != nil:
			b.indices = data
		case field == 10 && data != nil:
			b.tokens = append(b.tokens, data)
		}
	})
	if b.indices != nil {
		ok = ok && len(b.indices) == nodes && len(b.tokens) == nodes && len(b.Nodes) == nodes
	}
	b.Size = int64(frames.Number(b.id, 4))
	if !ok || len(b.id) == 0 || b.Size < 0 || b.Offset < 0 || b.Offset+b.Size < 0 {
		return b, errors.New("a block is malformed")
	}
	return b, nil
}

// parseDataNode parses a DatanodeInfoProto, whose DatanodeIDProto is field 1.
func parseDataNode(info []byte) (n DataNode, ok bool) {
	id, ok := frames.Bytes(info, 1)
	n.info = info
	ok = ok && frames.Into(id, frames.To{1: &n.ip, 2: &n.Host, 3: &n.UUID, 4: &n.port})
	return n, ok && n.UUID != "" && n.port > 0 && n.port < 1<<16
}
