package loader

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"bulkload/internal/hadoop/hbaserpc"
	"bulkload/pkg/setting"
)

// ScanRequest selects the rows and cells to read.
type ScanRequest struct {
	Table TableName
	// Start is the first row, Stop the first row after the range; empty means the table's ends.
	Start, Stop []byte
	// Row is the only row to read, if it is not nil. The server finds it as for a Get, by the bloom filters of its files, which a range does not
	// use. Start, Stop and Rows must be empty.
	Row []byte
	// Rows restricts the scan to these rows, in the order of their keys and between Start and Stop; the server skips the rows between them.
	// Default: all.
	Rows [][]byte
	// MinTime and MaxTime bound the timestamps, in milliseconds: [MinTime, MaxTime). MaxTime 0 means no bound.
	MinTime, MaxTime int64
	// Families to read. Default: all.
	Families []string
	// Columns to read, in addition to Families. A row without any of them is skipped. Default: all of Families.
	Columns []Column
	// Where are conditions on cells' values that the server checks: rows that do not meet all of them are skipped. Their columns must be
	// among those that are read. Default: none.
	Where []Condition
	// Raw returns the contents of the stores, whatever hides them from readers: also cells that are deleted or have newer versions, and the
	// delete markers. Cells with an expired time to live are not returned. Columns must be empty. Default: what a reader sees.
	Raw bool
	// Versions limits the values per column, the newest first. Delete markers count with KeysOnly and Rows, where a filter counts, and do
	// not without. Default 1.
	Versions uint32
	// KeysOnly omits the values. Default: they are returned.
	KeysOnly bool
	// MaxRows limits the number of rows, for ScanParallel in each region. Default: no limit.
	MaxRows int64
	// ChunkBytes is the size of the server's answers, by its own count, and so determines the memory of a scan: about three times this for
	// each region being read. Default 4 MiB.
	ChunkBytes int64
	// RowBytes limits the size of the keys and values of one row; a larger row ends the scan with a [RowTooLargeError]. Default: no limit.
	RowBytes int64
	// Prompt ends the scan of a disabled table with ErrTableDisabled. Default: the scan waits for the table.
	Prompt bool
	// CacheBlocks lets the server keep the blocks that it reads in its block cache, where a scan of a whole table would evict everything
	// else. Default: it does not.
	CacheBlocks bool
	// OnRegion is called with the counts of a region when the scan leaves it, also after an error or before its end; a region that splits
	// or is left and entered again is reported several times. It makes the server count. The goroutines of the scan call it, for
	// ScanParallel several at once. Default: none.
	OnRegion func(RegionScan)
}

// Column is one column of a family.
type Column struct {
	Family    string
	Qualifier []byte
}

// Condition requires that a row has a column whose newest value is in [From, To], both ends included; nil means no bound.
type Condition struct {
	Column
	From, To []byte
}

func (r ScanRequest) withDefaults() ScanRequest {
	r.ChunkBytes = cmp.Or(r.ChunkBytes, 4<<20)
	r.Versions = cmp.Or(r.Versions, 1)
	return r
}

// PrefixEnd returns the row after all rows with a prefix, for ScanRequest.Stop; nil, the table's end, when the prefix is empty
// or 0xFF only.
func PrefixEnd(prefix []byte) []byte {
	n := len(prefix)
	for n > 0 && prefix[n-1] == 0xff { // bytes.TrimRight takes runes, and would trim all bytes that are not UTF-8
		n--
	}
	if n == 0 {
		return nil
	}
	end := bytes.Clone(prefix[:n])
	end[n-1]++
	return end
}

// maxRow is the greatest length of a row key, and of a bound of a scan (HConstants.MAX_ROW_LENGTH).
const maxRow = math.MaxInt16

// After returns the least row after another one, for ScanRequest.Start and ScanRequest.Stop; nil, the table's end, when there is none. It has
// no more bytes than HBase takes.
func After(row []byte) []byte {
	if len(row) < maxRow {
		return append(row[:len(row):len(row)], 0)
	}
	return PrefixEnd(row)
}

// Scan passes the rows to fn in key order. Row.Cells is valid until fn returns. The bytes of the key and of the cells are not overwritten:
// a caller that keeps them keeps the server's whole answer alive, up to ChunkBytes. An error of fn ends the scan and is returned unchanged.
func (c *Cluster) Scan(ctx context.Context, req ScanRequest, fn func(Row) error) (err error) {
	at := &locator{regions: &c.regions, table: req.Table, prompt: req.Prompt}
	s := &scan{cluster: c, req: req.withDefaults(), what: "scan " + req.Table.String(), locate: at.locate}
	defer func() {
		if err != nil && !s.answered {
			at.unanswered(ctx)
		}
	}()
	if req.Row != nil {
		if len(req.Row) == 0 {
			return nil // HBase has no such row
		}
		s.req.MaxRows, req.Start, req.Stop = 1, req.Row, After(req.Row)
	}
	return s.run(ctx, req.Start, req.Stop, fn)
}

// scan reads a range of rows, region after region.
type scan struct {
	cluster *Cluster
	req     ScanRequest
	what    string
	locate  func(ctx context.Context, row []byte, again bool) (Region, error)

	rows     int64 // passed to fn so far
	answered bool  // by the server of the last region
	row      assembler
}

// callbackError is an error of the caller's function, which must not be mistaken for one of the servers.
type callbackError struct{ err error }

func (e callbackError) Error() string { return e.err.Error() }

// errEnough ends a scan after MaxRows rows.
var errEnough = callbackError{errors.New("enough rows")}

func (s *scan) run(ctx context.Context, start, stop []byte, fn func(Row) error) error {
	if s.ends(start, stop) {
		return nil
	}
	s.row.most = s.req.RowBytes
	s.row.emit = func(r Row) error {
		s.rows++
		if err := fn(r); err != nil {
			return callbackError{err}
		}
		if s.req.MaxRows > 0 && s.rows >= s.req.MaxRows {
			return errEnough
		}
		return nil
	}
	pos := start
	again := false
	started, failures, rows := time.Now(), 0, int64(0)
	for {
		s.answered = false
		region, err := s.locate(ctx, pos, again)
		if err == nil {
			err = s.region(ctx, region, pos, stop)
		}
		if err == nil {
			if s.req.Row != nil || len(region.End) == 0 || (len(stop) > 0 && bytes.Compare(region.End, stop) >= 0) {
				return nil
			}
			pos, again, failures = region.End, false, 0
			continue
		}
		if ce, ok := err.(callbackError); ok {
			if ce == errEnough {
				return nil
			}
			return ce.err
		}
		if next, read := s.row.resume(); read {
			if len(next) == 0 || s.ends(next, stop) {
				return nil // the server takes a range without rows for a row
			}
			pos = next
		}
		if !passing(err) && !expired(err) {
			return fmt.Errorf("%s: %w", s.what, s.cluster.denied(err, "READ", "R", s.req.Table.String()))
		}
		if failures == 0 || s.rows > rows { // progress: the time starts over
			started, failures, rows = time.Now(), 0, s.rows
		}
		if err := s.cluster.pause(ctx, started, failures, s.what, err); err != nil {
			return err
		}
		failures++
		again = true
	}
}

// ends reports whether no row is from pos to stop. Rows of hbase:meta have another order.
func (s *scan) ends(pos, stop []byte) bool {
	return len(stop) > 0 && bytes.Compare(pos, stop) >= 0 && len(pos) > 0 && s.req.Table != (TableName{})
}

// expired reports whether the server has dropped our scanner: it was restarted, or we were too slow. The scan continues with a new one.
func expired(err error) bool {
	return hbaserpc.Threw(err, "UnknownScannerException", "ScannerResetException", "OutOfOrderScannerNextException", "LeaseException")
}

// ErrRowTooLarge is the error of a row larger than ScanRequest.RowBytes. It is wrapped by a [RowTooLargeError].
var ErrRowTooLarge = errors.New("a row is larger than the scan may hold")

// RowTooLargeError is ErrRowTooLarge with the row.
type RowTooLargeError struct {
	Key  []byte
	Most int64 // bytes that a row may have
}

func (e *RowTooLargeError) Error() string {
	return fmt.Sprintf("%v: more than %s", ErrRowTooLarge, setting.Count(e.Most, "byte"))
}

// Unwrap returns [ErrRowTooLarge].
func (e *RowTooLargeError) Unwrap() error { return ErrRowTooLarge }

// assembler assembles rows: one answer may end within a row.
type assembler struct {
	emit func(Row) error
	most int64  // bytes of a row, 0 for any
	size int64  // of the row in progress
	key  []byte // of the row in progress, nil when none is
	last []byte // a copy of the last emitted row
	row  Row
}

// resume returns where a broken scan continues: at the row in progress, which is read again from its beginning, or after the last emitted
// one, nil if no row can follow that; and whether anything was read. It drops the row in progress.
func (a *assembler) resume() (pos []byte, read bool) {
	pos, read = bytes.Clone(a.key), a.key != nil || a.last != nil
	a.key, a.size, a.row.Cells = nil, 0, a.row.Cells[:0]
	if pos == nil && read {
		pos = After(a.last)
	}
	return pos, read
}

// flush emits the row in progress, if there is one.
func (a *assembler) flush() error {
	if a.key == nil {
		return nil
	}
	a.row.Key = a.key
	a.last = append(a.last[:0], a.key...)
	a.key, a.size = nil, 0
	err := a.emit(a.row)
	a.row.Cells = a.row.Cells[:0]
	return err
}

// add reads one result of n cells from a block. partial says that more cells of its row may follow.
func (a *assembler) add(block []byte, n uint32, partial bool) (rest []byte, err error) {
	a.row.Cells = slices.Grow(a.row.Cells, int(min(n, 1<<10)))
	for range n {
		cells := len(a.row.Cells)
		a.row.Cells = append(a.row.Cells, Cell{})
		row, rest, err := nextCell(block, &a.row.Cells[cells])
		if err != nil {
			a.row.Cells = a.row.Cells[:cells]
			return nil, err
		}
		block = rest
		if a.key != nil && !bytes.Equal(a.key, row) {
			// The row in progress had no more cells after all.
			next := a.row.Cells[cells]
			a.row.Cells = a.row.Cells[:cells]
			if err := a.flush(); err != nil {
				return nil, err
			}
			a.row.Cells = append(a.row.Cells[:0], next)
		}
		a.key = row
		if c := &a.row.Cells[len(a.row.Cells)-1]; a.most > 0 {
			if a.size += int64(len(row) + len(c.Family) + len(c.Qualifier) + len(c.Value)); a.size > a.most {
				return nil, &RowTooLargeError{bytes.Clone(row), a.most}
			}
		}
	}
	if partial {
		return block, nil
	}
	return block, a.flush()
}
