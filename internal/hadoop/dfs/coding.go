package dfs

import (
	"cmp"
	"crypto/subtle"
	"fmt"
	"slices"

	"github.com/klauspost/reedsolomon"
)

// Policy is an erasure coding policy. The bytes of a block group are distributed over Data internal blocks, one cell to each in
// turn. Parity further blocks allow the reconstruction of as many lost ones.
type Policy struct {
	Name         string
	Codec        string // rs and xor are supported
	Data, Parity int
	Cell         int64
}

// Limits of a policy: an index has four bits, and the cell size is limited to Hadoop's default limit
// (dfs.namenode.ec.policies.max.cellsize).
const (
	maxUnits = 16
	maxCell  = 4 << 20
)

// PolicyOf returns the policy with a number. The NameNode sends only the number of a policy that is built into HDFS.
func PolicyOf(id uint32, sent Policy) Policy {
	if p, ok := builtIn[id]; ok {
		return p
	}
	sent.Name = cmp.Or(sent.Name, fmt.Sprintf("policy %d", id))
	return sent
}

// builtIn holds HDFS's own policies by their numbers (SystemErasureCodingPolicies, Hadoop 3.4).
var builtIn = map[uint32]Policy{
	1: {"RS-6-3-1024k", "rs", 6, 3, 1 << 20},
	2: {"RS-3-2-1024k", "rs", 3, 2, 1 << 20},
	3: {"RS-LEGACY-6-3-1024k", "rs-legacy", 6, 3, 1 << 20},
	4: {"XOR-2-1-1024k", "xor", 2, 1, 1 << 20},
	5: {"RS-10-4-1024k", "rs", 10, 4, 1 << 20},
}

// Supported reports whether files with the policy can be read.
func (p Policy) Supported() bool {
	return (p.Codec == "rs" || p.Codec == "xor" && p.Parity == 1) && p.Data > 0 && p.Parity > 0 && p.Data+p.Parity <= maxUnits &&
		p.Cell > 0 && p.Cell <= maxCell
}

// units returns the number of internal blocks of a group.
func (p Policy) units() int { return p.Data + p.Parity }

// place returns the position of a byte of a group: the index of the internal block, and the offset in it.
func (p Policy) place(off int64) (index int, at int64) {
	cell, data := off/p.Cell, int64(p.Data)
	return int(cell % data), cell/data*p.Cell + off%p.Cell
}

// size returns the size of an internal block of a group of n bytes. Parity blocks are as long as the first block.
func (p Policy) size(n int64, index int) int64 {
	if index >= p.Data {
		index = 0
	}
	stripe := p.Cell * int64(p.Data)
	return n/stripe*p.Cell + min(max(n%stripe-int64(index)*p.Cell, 0), p.Cell)
}

// coder reconstructs bytes of internal blocks from others.
type coder struct {
	Policy
	encoder reedsolomon.Encoder // nil before the first use
}

// rebuild reconstructs the wanted units from the others. All units have the same length; a missing one has length 0, and the capacity for
// its bytes. At least as many units as data blocks must be present. The matrix is that of Hadoop's RSRawEncoder.
func (c *coder) rebuild(units [][]byte, wanted []bool) error {
	if !slices.Contains(wanted, true) {
		return nil
	}
	if c.Codec == "xor" {
		lost := slices.IndexFunc(units, func(u []byte) bool { return len(u) == 0 })
		sum := append(units[lost], units[(lost+1)%len(units)]...)
		for i := 2; i < len(units); i++ {
			subtle.XORBytes(sum, sum, units[(lost+i)%len(units)])
		}
		units[lost] = sum
		return nil
	}
	if c.encoder == nil {
		rs, err := reedsolomon.New(c.Data, c.Parity, reedsolomon.WithCauchyMatrix(), reedsolomon.WithMaxGoroutines(1))
		if err != nil {
			return err
		}
		c.encoder = rs
	}
	return c.encoder.ReconstructSome(units, wanted)
}
