package source

import (
	"fmt"
	"hash/crc32"
	"sync"
)

// splitSums holds the checksums of splits, each of the bytes that the split's records were parsed from: for text its records, unpacked, for Parquet
// the pages of the row group that the columns are in, for Avro the blocks, unpacked, for tables the values of the columns. The first split of a file
// includes the header; for Parquet and Avro every split includes the schema. So they depend only on the files, on the columns and on
// [Options.SplitSize].
type splitSums struct {
	mu   sync.Mutex
	sums []uint32
	read []bool
}

func (s *splitSums) init(n int) { s.sums, s.read = make([]uint32, n), make([]bool, n) }

// set stores the checksum of a split. It returns false if the split was read before with another checksum.
func (s *splitSums) set(split int, sum uint32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.read[split] && s.sums[split] != sum {
		return false
	}
	s.sums[split], s.read[split] = sum, true
	return true
}

// Sum returns the CRC32C of the data of a split, by its index in [Input.Splits]: for text its bytes, unpacked, for Parquet the pages, for
// Avro the blocks. ok is false until a [Reader] has read the split to its end, and for one that does not exist.
func (in *Input) Sum(split int) (sum uint32, ok bool) {
	if !in.has(split) {
		return 0, false
	}
	in.sums.mu.Lock()
	defer in.sums.mu.Unlock()
	return in.sums.sums[split], in.sums.read[split]
}

// firstSum returns the initial value of a split's checksum.
func (r *Reader) firstSum(split int) uint32 {
	if r.file.facts.values || split == r.file.firstSplit {
		return r.file.headSum
	}
	return 0
}

// addSum adds bytes to a checksum: CRC32C has an instruction on every machine that this runs on.
func addSum(sum uint32, b []byte) uint32 {
	return crc32.Update(sum, crc32.MakeTable(crc32.Castagnoli), b) // the table is made once
}

// finishSum stores the checksum of the current split.
func (r *Reader) finishSum() error {
	if !r.in.sums.set(r.split, r.sum) {
		s := r.in.splits[r.split]
		return &ChangedError{Path: s.Path, What: fmt.Sprintf("the part that begins at %d was read twice and had another checksum", s.Start)}
	}
	return nil
}
