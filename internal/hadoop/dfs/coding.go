package dfs

import (
	"crypto/subtle"
	"fmt"
	"slices"

	"github.com/klauspost/reedsolomon"
)

// Policy is an erasure coding policy. The bytes of a group of such a file are dealt out to Data internal blocks, a cell to each in
// turn; Parity others hold what rebuilds as many lost ones.
type Policy struct {
	Name         string
	Codec        string // rs or xor are supported
	Data, Parity int
	Cell         int64
}

// Bounds of a policy: an index has four bits, and a cell is as large as Hadoop's default for its bound
// (dfs.namenode.ec.policies.max.cellsize).
const (
	mostUnits = 16
	mostCell  = 4 << 20
)

// PolicyOf returns the policy of that number. The NameNode sends the number alone where HDFS has the policy by itself
// (SystemErasureCodingPolicies, Hadoop 3.4).
func PolicyOf(id uint32, sent Policy) Policy {
	const cell = 1 << 20
	switch id {
	case 1:
		return Policy{"RS-6-3-1024k", "rs", 6, 3, cell}
	case 2:
		return Policy{"RS-3-2-1024k", "rs", 3, 2, cell}
	case 3:
		return Policy{"RS-LEGACY-6-3-1024k", "rs-legacy", 6, 3, cell}
	case 4:
		return Policy{"XOR-2-1-1024k", "xor", 2, 1, cell}
	case 5:
		return Policy{"RS-10-4-1024k", "rs", 10, 4, cell}
	}
	if sent.Name == "" {
		sent.Name = fmt.Sprintf("policy %d", id)
	}
	return sent
}

// Supported reports whether files of the policy can be read.
func (p Policy) Supported() bool {
	return (p.Codec == "rs" || p.Codec == "xor" && p.Parity == 1) && p.Data > 0 && p.Parity > 0 && p.Data+p.Parity <= mostUnits &&
		p.Cell > 0 && p.Cell <= mostCell
}

// units returns the number of internal blocks of a group.
func (p Policy) units() int { return p.Data + p.Parity }

// place returns where a byte of a group is: in which internal block, and at which byte of it.
func (p Policy) place(off int64) (index int, at int64) {
	cell, data := off/p.Cell, int64(p.Data)
	return int(cell % data), cell/data*p.Cell + off%p.Cell
}

// size returns the size of an internal block of a group of n bytes. Parity is as long as the first block.
func (p Policy) size(n int64, index int) int64 {
	if index >= p.Data {
		index = 0
	}
	stripe := p.Cell * int64(p.Data)
	return n/stripe*p.Cell + min(max(n%stripe-int64(index)*p.Cell, 0), p.Cell)
}

// coder rebuilds bytes of internal blocks from those of others.
type coder struct {
	Policy
	rs reedsolomon.Encoder // nil before the first use
}

// rebuild makes units that are wanted from the others. All have the same length; one that is not there has none, and the capacity for it.
// As many as there are of data must be there. The matrix is that of Hadoop's RSRawEncoder.
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
	if c.rs == nil {
		rs, err := reedsolomon.New(c.Data, c.Parity, reedsolomon.WithCauchyMatrix(), reedsolomon.WithMaxGoroutines(1))
		if err != nil {
			return err
		}
		c.rs = rs
	}
	return c.rs.ReconstructSome(units, wanted)
}
