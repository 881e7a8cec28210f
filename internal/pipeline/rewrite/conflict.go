package rewrite

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"bulkload/internal/model/fail"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
)

// maxOverlapping is the maximum number of files with rows in the same place: each is read with a buffer of [forwardWindow].
const maxOverlapping = 256

// Conflict reads files whose row ranges overlap, and returns an error if two have different values for one cell: the same row,
// family, qualifier, timestamp and type. Files of one load have the same sequence id in HBase, so the visible value depends on
// their sizes and names, and changes with a merge or a compaction. Cells that are equal in value and tags too are not a conflict.
func Conflict(ctx context.Context, fsys hdfsio.FS, files []loader.HFile) error {
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b loader.HFile) int {
		return cmp.Or(cmp.Compare(a.Family, b.Family), bytes.Compare(a.First, b.First))
	})
	for len(files) > 0 {
		n, last := 1, files[0].Last
		for n < len(files) && files[n].Family == files[0].Family && bytes.Compare(files[n].First, last) <= 0 {
			if bytes.Compare(files[n].Last, last) > 0 {
				last = files[n].Last
			}
			n++
		}
		if n > 1 {
			if err := conflict(ctx, fsys, files[:n]); err != nil {
				return err
			}
		}
		files = files[n:]
	}
	return nil
}

// conflict is [Conflict] for files of one family in the order of their first rows. Each file is open from its first row to its last.
func conflict(ctx context.Context, fsys hdfsio.FS, files []loader.HFile) (err error) {
	opened := map[*cellCursor]*forwardFile{}
	closeFile := func(c *cellCursor) error {
		f := opened[c]
		delete(opened, c)
		return f.Close()
	}
	defer func() {
		for c := range opened {
			err = errors.Join(err, closeFile(c))
		}
	}()
	var cursors cursorHeap
	next := 0
	open := func() error {
		_, name := SplitURI(files[next].Path)
		in, err := openForward(ctx, fsys, name)
		if err != nil {
			return err
		}
		c := &cellCursor{Scanner: in.reader.Scan(), name: path.Join(files[next].Family, path.Base(name)), order: next}
		opened[c] = in
		if next++; len(opened) > maxOverlapping {
			return fail.Errorf(fail.Input, "more than %d files of family %s overlap: merge them, or load some of them separately", maxOverlapping, files[0].Family)
		}
		if c.Next() {
			heap.Push(&cursors, c)
			return nil
		}
		if err := c.Err(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return closeFile(c)
	}
	var first hfile.Cell // a copy of the first of the cells that are equal except for the value
	var of, in string    // its file, and the file of the previous cell
	for n := 0; len(cursors) > 0 || next < len(files); n++ {
		if n&0xfff == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for next < len(files) && (len(cursors) == 0 || bytes.Compare(files[next].First, cursors[0].Cell().Row) <= 0) {
			if err := open(); err != nil {
				return err
			}
		}
		if len(cursors) == 0 {
			continue
		}
		c := cursors[0]
		cell := c.Cell()
		switch {
		case in == "" || hfile.Compare(&first, cell) != 0:
			copyCell(&first, cell)
			of = c.name
		case in != c.name && !(bytes.Equal(first.Value, cell.Value) && bytes.Equal(first.Tags, cell.Tags)): // a reader sees the first cell of a file
			return fail.With(fail.Input, fail.AboutData(cell.Row, "%s and %s differ in one cell, in a row of %d bytes: load the right file last, separately", of, c.name, len(cell.Row)))
		}
		in = c.name
		switch {
		case c.Next():
			heap.Fix(&cursors, 0)
		case c.Err() != nil:
			return fmt.Errorf("%s: %w", c.name, c.Err())
		default:
			heap.Pop(&cursors)
			if err := closeFile(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyCell copies a cell into the buffers of another.
func copyCell(to, from *hfile.Cell) {
	to.Row, to.Family, to.Qualifier = append(to.Row[:0], from.Row...), append(to.Family[:0], from.Family...), append(to.Qualifier[:0], from.Qualifier...)
	to.Value, to.Tags = append(to.Value[:0], from.Value...), append(to.Tags[:0], from.Tags...)
	to.Timestamp, to.Type = from.Timestamp, from.Type
}
