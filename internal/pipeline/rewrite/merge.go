package rewrite

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"

	"bulkload/internal/model/fail"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
)

// mergeWidth is the number of files read at a time: each takes about a
// megabyte, a connection to the NameNode and one to a DataNode.
const mergeWidth = 32

// Merge writes the cells of all files, which are of one family, into one file,
// in HBase's order. Cells with equal keys are kept, in the order of the files.
// After an error the new file is removed.
func (w *Rewriter) Merge(ctx context.Context, files []loader.HFile) (loader.HFile, error) {
	if len(files) < 2 {
		return loader.HFile{}, fmt.Errorf("merge %d files: want at least two", len(files))
	}
	for _, f := range files {
		if f.Family != files[0].Family {
			return loader.HFile{}, fmt.Errorf("merge %s, which is of family %q, with %s of family %q", f.Path, f.Family, files[0].Path, files[0].Family)
		}
	}
	var merged []loader.HFile
	err := w.attempts(ctx, files[0].Family, func(a *rewriting) (err error) {
		merged, err = a.merge(ctx, files)
		return err
	})
	if err != nil {
		return loader.HFile{}, fmt.Errorf("merge %s and %d more: %w", files[0].Path, len(files)-1, err)
	}
	return merged[0], nil
}

// merge reduces the number of files to mergeWidth, merging neighbors so that
// the order of equal cells is preserved, and then merges these into one.
func (a *rewriting) merge(ctx context.Context, files []loader.HFile) ([]loader.HFile, error) {
	prefix, _ := SplitURI(files[0].Path)
	family, name := files[0].Family, mergedName(files)
	names := make([]string, len(files))
	var cells int64
	for i, f := range files {
		_, names[i] = SplitURI(f.Path)
		cells += f.Cells
	}
	for round := 0; len(names) > mergeWidth; round++ {
		var next []string
		for group := range slices.Chunk(names, mergeWidth) {
			if len(group) == 1 {
				next = append(next, group...)
				continue
			}
			part, err := a.mergeOnce(ctx, family, fmt.Sprintf("%s-%d-%d", name, round, len(next)), group)
			if err != nil {
				return nil, err
			}
			a.files = a.files[:0]
			a.scratch = append(a.scratch, part.writing)
			next = append(next, part.writing)
		}
		names = next
	}
	r, err := a.mergeOnce(ctx, family, name, names)
	if err != nil {
		return nil, err
	}
	known := !slices.ContainsFunc(files, func(f loader.HFile) bool { return f.Cells == 0 })
	if known && r.file.Cells != cells {
		return nil, fmt.Errorf("they have %d cells, not %d: one was changed", r.file.Cells, cells)
	}
	return a.publish(ctx, prefix)
}

// mergedName returns the name of the file that replaces others.
func mergedName(files []loader.HFile) string {
	h := md5.New()
	for _, f := range files {
		fmt.Fprintf(h, "merged %q\n", path.Base(f.Path))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// mergeOnce merges files into a complete one, which it appends to a.files.
func (a *rewriting) mergeOnce(ctx context.Context, family, name string, names []string) (r *rewritten, err error) {
	var inputs []io.Closer
	defer func() {
		for _, in := range inputs {
			err = errors.Join(err, in.Close())
		}
	}()
	var (
		cursors cursorHeap
		options hfile.Options
		size    int64
		cells   int64
	)
	for i, name := range names {
		in, err := openForward(ctx, a.rewriter.Output.FS, name)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, in)
		meta := in.reader.Meta()
		if i == 0 {
			options = a.rewriter.options(family, meta)
		}
		options.ExcludeFromMinorCompaction = options.ExcludeFromMinorCompaction && excluded(meta)
		if options.MobRefs, err = joinMobRefs(options.MobRefs, mobRefs(meta)); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		size += meta.Bytes
		cells += meta.Cells
		c := &cellCursor{Scanner: in.reader.Scan(), name: name, order: i}
		if c.Next() {
			cursors = append(cursors, c)
		} else if err := c.Err(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if cells == 0 {
		return nil, errors.New("they have no cells")
	}
	if r, err = a.create(ctx, family, name, options, size, cursors[0].Cell().Row); err != nil {
		return nil, err
	}
	if err := cursors.drain(ctx, r.writer.Append); err != nil {
		return nil, err
	}
	return r, a.finish(ctx, r)
}

// joinMobRefs returns the MOB files of both. It refuses different ones, because HBase deletes MOB files that no file names.
func joinMobRefs(a, b []byte) ([]byte, error) {
	switch {
	case len(b) == 0 || bytes.Equal(a, b):
		return a, nil
	case len(a) == 0:
		return b, nil
	}
	return nil, fail.Errorf(fail.Config, "it refers to other MOB files than the files before it, and such files cannot be merged: load fewer at a time, or allow more files per region and family")
}

// cellCursor is the position in one file.
type cellCursor struct {
	*hfile.Scanner
	name  string
	order int
}

// cursorHeap has the cursor with the first cell on top.
type cursorHeap []*cellCursor

func (h cursorHeap) Len() int      { return len(h) }
func (h cursorHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *cursorHeap) Push(x any)   { *h = append(*h, x.(*cellCursor)) }
func (h *cursorHeap) Pop() any {
	last := len(*h) - 1
	c := (*h)[last]
	*h = (*h)[:last]
	return c
}

func (h cursorHeap) Less(i, j int) bool {
	return cmp.Or(hfile.Compare(h[i].Cell(), h[j].Cell()), cmp.Compare(h[i].order, h[j].order)) < 0
}

// drain passes on all cells in order.
func (h *cursorHeap) drain(ctx context.Context, to func(*hfile.Cell) error) error {
	heap.Init(h)
	for n := 0; h.Len() > 0; n++ {
		if n&0xfff == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		first := (*h)[0]
		if err := to(first.Cell()); err != nil {
			return err
		}
		switch {
		case first.Next():
			heap.Fix(h, 0)
		case first.Err() != nil:
			return fmt.Errorf("%s: %w", first.name, first.Err())
		default:
			heap.Pop(h)
		}
	}
	return nil
}

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
