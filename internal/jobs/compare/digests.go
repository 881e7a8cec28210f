package compare

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"bulkload/internal/base/durable"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/keyrange"
	"bulkload/internal/model/result"
	"bulkload/pkg/hfile"
	"bulkload/pkg/keygen/rowkey"

	"github.com/cespare/xxhash/v2"
)

// A summer computes checksums of cells. The digest of a range is the sum of the checksums of all its cells, independent of their order. For one
// goroutine.
type digester struct {
	timestamps bool // checksums include timestamps
	buf        []byte
}

// sum returns the xxHash64 of row, family, qualifier and value, each preceded by its length, and of the timestamp if it is included.
func (s *digester) sum(c *hfile.Cell) uint64 {
	b := s.buf[:0]
	for _, part := range [][]byte{c.Row, c.Family, c.Qualifier, c.Value} {
		b = append(binary.AppendUvarint(b, uint64(len(part))), part...)
	}
	if s.timestamps {
		b = binary.BigEndian.AppendUint64(b, uint64(c.Timestamp))
	}
	s.buf = b
	return xxhash.Sum64(b)
}

// digested is a line of the file of digests.
type digested struct {
	Start rowkey.Key `json:"start"` // the first row of the range; empty: the table's first
	Stop  rowkey.Key `json:"stop"`  // exclusive; empty: the table's end
	A     digest     `json:"a"`
	B     digest     `json:"b"`
	Equal bool       `json:"equal"`
}

type digest struct {
	Rows  int64  `json:"rows"`
	Cells int64  `json:"cells"`
	Sum   string `json:"digest"` // sixteen hexadecimal digits
}

func hex64(sum uint64) string { return fmt.Sprintf("%016x", sum) }

// writeDigests writes a line for each range into a file, replacing its contents.
func writeDigests(path string, ranges []keyrange.Range, found map[int]result.ComparedRange) error {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	for i, r := range ranges {
		f := found[i]
		line := digested{Start: r.Start, Stop: r.Stop, A: digest{f.RowsA, f.CellsA, hex64(f.SumA)}, B: digest{f.RowsB, f.CellsB, hex64(f.SumB)}, Equal: f.Rows() == 0}
		if err := enc.Encode(line); err != nil {
			return err
		}
	}
	return fail.With(fail.Config, durable.Replace(path, out.Bytes()))
}
