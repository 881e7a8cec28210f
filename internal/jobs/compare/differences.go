package compare

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"bulkload/internal/base/durable"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/keyrange"
	"bulkload/internal/model/result"
	"bulkload/pkg/hfile"
	"bulkload/pkg/keygen/rowkey"

	"github.com/cespare/xxhash/v2"
)

// listedCells is the maximum number of listed cells per row.
const listedCells = 100

// listedRow is a line of the file of differences.
type listedRow struct {
	Row   rowkey.Key   `json:"row"`
	In    string       `json:"in"` // side of the row: a, b, or both
	Cells []listedCell `json:"cells"`
	More  int          `json:"more,omitempty"` // number of further cells that differ
}

// listedCell is a cell that only one side has, or that differs.
type listedCell struct {
	Column rowkey.Key `json:"column"`
	A      *version   `json:"a,omitempty"`
	B      *version   `json:"b,omitempty"`
}

type version struct {
	Timestamp int64      `json:"timestamp"`
	Value     rowkey.Key `json:"value"`
}

func versionOf(c *hfile.Cell) *version {
	if c == nil {
		return nil
	}
	return &version{c.Timestamp, bytes.Clone(c.Value)}
}

// list writes the rows of one range that differ, up to a limit, into a file that it creates with the first row. For one goroutine.
type list struct {
	path string
	left int // rows that may still be listed
	row  *listedRow
	file *os.File
	out  *bufio.Writer
	enc  *json.Encoder
	join *join // provides the current row
}

// take implements [join.found].
func (l *list) take(d *difference) error {
	if d == nil {
		return l.end()
	}
	if l.left == 0 {
		return nil
	}
	if l.row == nil {
		l.row = &listedRow{Row: bytes.Clone(l.join.row)}
	}
	if len(l.row.Cells) == listedCells {
		l.row.More++
		return nil
	}
	at := cmp.Or(d.a, d.b)
	column := append(append(bytes.Clone(at.Family), ':'), at.Qualifier...)
	l.row.Cells = append(l.row.Cells, listedCell{column, versionOf(d.a), versionOf(d.b)})
	return nil
}

// end writes the row.
func (l *list) end() (err error) {
	if l.row == nil {
		return nil
	}
	row := l.row
	l.row = nil
	l.left--
	switch {
	case !l.join.hasB:
		row.In = "a"
	case !l.join.hasA:
		row.In = "b"
	default:
		row.In = "both"
	}
	if l.file == nil {
		if l.file, err = os.OpenFile(l.path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600); err != nil {
			return fail.With(fail.HDFS, err)
		}
		l.out = bufio.NewWriter(l.file)
		l.enc = json.NewEncoder(l.out)
		l.enc.SetEscapeHTML(false)
	}
	return fail.With(fail.HDFS, l.enc.Encode(row))
}

// close syncs and closes the file.
func (l *list) close() error {
	if l.file == nil {
		return nil
	}
	return fail.With(fail.HDFS, errors.Join(l.out.Flush(), l.file.Sync(), l.file.Close()))
}

// listOf returns the name of a range's file below the job's directory.
func listOf(dir string, number int) string {
	return filepath.Join(dir, fmt.Sprintf("differences-%06d.jsonl", number))
}

// gather writes the lists of all ranges into one file, up to a maximum number of rows, and returns the number of rows. If nothing differs it creates
// no file, and removes that of an earlier comparison.
func gather(dir string, ranges int, path string, most int) (rows int, err error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fail.With(fail.Config, err)
	}
	var out bytes.Buffer
	for i := range ranges {
		lines, err := os.ReadFile(listOf(dir, i))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, fail.With(fail.HDFS, err)
		}
		for line := range bytes.Lines(lines) {
			if rows < most && bytes.HasSuffix(line, []byte("\n")) {
				out.Write(line)
				rows++
			}
		}
	}
	if rows == 0 {
		return 0, nil
	}
	if err := durable.Replace(path, out.Bytes()); err != nil {
		return 0, fail.With(fail.Config, err)
	}
	return rows, nil
}

// removeLists removes the files of all ranges.
func removeLists(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "differences-*.jsonl"))
	for _, name := range names {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

// A digester computes checksums of cells. The digest of a range is the sum of the checksums of all its cells, independent of their order. For one
// goroutine.
type digester struct {
	timestamps bool // checksums include timestamps
	buf        []byte
}

// sum returns the xxHash64 of row, family, qualifier and value, each preceded by its length, and of the timestamp if it is included.
func (d *digester) sum(c *hfile.Cell) uint64 {
	b := d.buf[:0]
	for _, part := range [][]byte{c.Row, c.Family, c.Qualifier, c.Value} {
		b = append(binary.AppendUvarint(b, uint64(len(part))), part...)
	}
	if d.timestamps {
		b = binary.BigEndian.AppendUint64(b, uint64(c.Timestamp))
	}
	d.buf = b
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
