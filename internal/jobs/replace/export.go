package replace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
)

// readAhead is the number of bytes of an export's file that are fetched at a time.
const readAhead = 256 << 10

// An Export is the HFiles of a job. Each has the rows between its first and its
// last. It must not change while it is read.
type Export struct {
	FS    hdfsio.FS
	Files []File // in any order
}

// File is one HFile of an export.
type File struct {
	Family      string
	Path        string // on the Export's file system
	First, Last []byte // rows, both inclusive
}

// Check refuses files of a family with overlapping rows, whose cells would be out
// of order.
func (e *Export) Check() error {
	for _, family := range e.families() {
		files := e.of(family, nil, nil)
		for i := 1; i < len(files); i++ {
			if bytes.Compare(files[i-1].Last, files[i].First) >= 0 {
				return fmt.Errorf("%s and %s overlap: files of a family must not share rows", files[i-1].Path, files[i].Path)
			}
		}
	}
	return nil
}

// families returns the families of the files, sorted.
func (e *Export) families() (names []string) {
	for _, f := range e.Files {
		if !slices.Contains(names, f.Family) {
			names = append(names, f.Family)
		}
	}
	slices.Sort(names)
	return names
}

// of returns the files of a family that have rows in [start, end), in row order. An
// empty end is the end of the table.
func (e *Export) of(family string, start, end []byte) (files []File) {
	for _, f := range e.Files {
		if f.Family == family && bytes.Compare(f.Last, start) >= 0 && (len(end) == 0 || bytes.Compare(f.First, end) < 0) {
			files = append(files, f)
		}
	}
	slices.SortFunc(files, func(a, b File) int { return bytes.Compare(a.First, b.First) })
	return files
}

// cellScan iterates over the export's cells of one family in a range of rows. For
// one goroutine. It must be closed.
type cellScan struct {
	ctx   context.Context
	fs    hdfsio.FS
	files []File // remaining files
	start []byte
	name  string // path of the open file
	open  io.Closer
	scan  *hfile.Scanner
	cell  *hfile.Cell // nil at the end
}

// cells returns a scan before the first cell of a range: see [cellScan.next].
func (e *Export) cells(ctx context.Context, family string, start, end []byte) *cellScan {
	return &cellScan{ctx: ctx, fs: e.FS, files: e.of(family, start, end), start: start}
}

// next moves to the next cell, whose slices are valid until the next call.
func (c *cellScan) next() error {
	for {
		if c.scan != nil {
			if c.scan.Next() {
				c.cell = c.scan.Cell()
				return nil
			}
			err := c.scan.Err()
			if err != nil {
				err = fmt.Errorf("%s: %w", c.name, err)
			}
			if err = errors.Join(err, c.close()); err != nil {
				return err
			}
		}
		if len(c.files) == 0 {
			c.cell = nil
			return nil
		}
		f := c.files[0]
		c.files = c.files[1:]
		if err := c.begin(f); err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
	}
}

func (c *cellScan) begin(f File) error {
	in, err := hdfsio.OpenAt(c.ctx, c.fs, f.Path)
	if err != nil {
		return err
	}
	c.open, c.name = in, f.Path
	r, err := hfile.Open(in, in.Info.Size(), hfile.ReaderOptions{ReadAhead: readAhead})
	if err != nil {
		return err
	}
	if bytes.Compare(f.First, c.start) < 0 {
		c.scan = r.SeekRow(c.start)
	} else {
		c.scan = r.Scan()
	}
	return nil
}

// toRow moves to the first cell at or after the row. has reports whether the row
// has a cell.
func (c *cellScan) toRow(row []byte) (has bool, err error) {
	for c.cell != nil && bytes.Compare(c.cell.Row, row) < 0 {
		if err := c.next(); err != nil {
			return false, err
		}
	}
	return c.cell != nil && bytes.Equal(c.cell.Row, row), nil
}

// toColumn moves to the first cell at or after a column of the row. Columns must be
// given in order.
func (c *cellScan) toColumn(row, qualifier []byte) (has bool, err error) {
	for c.cell != nil {
		order := bytes.Compare(c.cell.Row, row)
		if order == 0 {
			order = bytes.Compare(c.cell.Qualifier, qualifier)
		}
		if order >= 0 {
			return order == 0, nil
		}
		if err := c.next(); err != nil {
			return false, err
		}
	}
	return false, nil
}

func (c *cellScan) close() error {
	if c.open == nil {
		return nil
	}
	err := c.open.Close()
	c.open, c.scan = nil, nil
	return err
}
