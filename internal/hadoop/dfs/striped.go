package dfs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"bulkload/internal/hadoop/datatransfer"
	"bulkload/internal/hadoop/frames"
)

// errBeingWritten refuses a striped file that is not complete: the lengths of its internal blocks are not known.
var errBeingWritten = errors.New("it is erasure coded and being written: read it when its writer has closed it")

// StripedReader reads an erasure coded file. It belongs to one goroutine. A group of blocks is read by one connection to each DataNode
// that has some of its data, made when its first cell is read; what these send ahead waits in the sockets. What is on no DataNode is
// rebuilt of others: of a whole row of cells when the file is read forward, which is kept while it is read, else of the asked bytes.
type StripedReader struct {
	c      *Client
	name   string
	id     uint64 // of the file
	size   int64  // of the file, as its reader knows it
	client string
	coder  coder

	groups []Block // those that are known
	group  Block   // the one that is read
	units  []unit  // its internal blocks, by index
	row    row
	next   int64 // in the file, behind what was read last
	fresh  bool  // the tokens are new
}

// unit is an internal block of the group.
type unit struct {
	size   int64
	places []place // that have not failed, those of DataNodes that failed lately last
	stream stream
	last   error // of the places that failed
}

// place is a DataNode that has an internal block.
type place struct {
	block  Block
	node   DataNode
	failed time.Time // lately, zero for not
}

// row has the bytes [from, to) of internal blocks, by index: read, rebuilt, or none.
type row struct {
	from, to int64
	units    [][]byte
}

// OpenStriped makes a reader of the erasure coded file with that number and length. It does not connect.
func (c *Client) OpenStriped(name string, id uint64, size int64, p Policy) *StripedReader {
	return &StripedReader{c: c, name: name, id: id, size: size, client: holder(), coder: coder{Policy: p}}
}

// ReadAt reads at least one byte at a place before the end of the file. Each replica of an internal block is tried once, those of
// DataNodes that failed lately after all others; then the block is rebuilt. After an error the next call begins as the first one did.
func (r *StripedReader) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	n, err := r.read(ctx, p, off)
	if errors.Is(err, datatransfer.ErrToken) && !r.fresh && ctx.Err() == nil {
		r.Forget()
		r.fresh = true // a new look at the file gives new tokens
		n, err = r.read(ctx, p, off)
	}
	if err != nil {
		r.Forget()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return 0, err
	}
	r.next, r.fresh = off+int64(n), false
	return n, nil
}

// Close closes the connections and gives memory back. The next call begins with others.
func (r *StripedReader) Close() {
	for i := range r.units {
		r.units[i].stream.close()
	}
	r.row = row{}
}

// Forget closes the connections, and forgets where the blocks are and which DataNodes failed.
func (r *StripedReader) Forget() {
	r.Close()
	r.groups, r.group, r.units, r.fresh = nil, Block{}, nil, false
}

// read reads at a place, from a DataNode or by rebuilding.
func (r *StripedReader) read(ctx context.Context, p []byte, off int64) (int, error) {
	if err := r.enter(ctx, off); err != nil {
		return 0, err
	}
	index, at := r.coder.place(off - r.group.Offset)
	end := min(at-at%r.coder.Cell+r.coder.Cell, r.units[index].size)
	p = p[:min(int64(len(p)), end-at)]
	forward := off == r.next
	for {
		if n := r.row.copy(p, index, at); n > 0 {
			return n, nil
		}
		if !r.lost(index) && !(forward && r.anyLost()) {
			n, err := r.readUnit(ctx, index, p, at)
			if err == nil || r.final(ctx, err) {
				return n, err
			}
			continue
		}
		to := at + int64(len(p))
		if forward { // the row will be read
			to = min(at-at%r.coder.Cell+r.coder.Cell, r.units[0].size)
		}
		if err := r.rebuild(ctx, index, at, to, forward); err != nil {
			return 0, err
		}
	}
}

// copy copies what the row has of an internal block.
func (w *row) copy(p []byte, index int, at int64) int {
	if w.units == nil || at < w.from || at >= w.to || len(w.units[index]) == 0 {
		return 0
	}
	return copy(p, w.units[index][at-w.from:])
}

// lost says that an internal block is not to be read: no DataNode has it, or those that have it failed lately.
func (r *StripedReader) lost(index int) bool {
	u := &r.units[index]
	return u.size > 0 && (len(u.places) == 0 || !u.places[0].failed.IsZero())
}

// anyLost says that one of the blocks with data is lost.
func (r *StripedReader) anyLost() bool {
	for i := range r.coder.Data {
		if r.lost(i) {
			return true
		}
	}
	return false
}

// final says that an error is not of one DataNode alone.
func (r *StripedReader) final(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || !r.fresh && errors.Is(err, datatransfer.ErrToken))
}

// enter finds the group that has a byte of the file.
func (r *StripedReader) enter(ctx context.Context, off int64) error {
	at := func(b Block) bool { return b.Offset <= off && off < b.Offset+b.Size }
	if at(r.group) {
		return nil
	}
	i := slices.IndexFunc(r.groups, at)
	if i < 0 {
		l, err := r.c.Locate(ctx, r.name, off, min(r.size-off, prefetch))
		if err != nil {
			return err
		}
		if err := r.c.unchanged(ctx, r.name, r.id, r.size); err != nil {
			return err
		}
		if l.Open {
			return errBeingWritten
		}
		if i = slices.IndexFunc(l.Blocks, at); i < 0 {
			return fmt.Errorf("no block has byte %d", off)
		}
		r.groups = l.Blocks
	}
	r.Close()
	units, err := r.divide(r.groups[i])
	r.group, r.units = r.groups[i], units
	if err != nil {
		r.group = Block{}
	}
	return err
}

// divide gives the internal blocks of a group. The number of one is that of the group and its index, which the last four bits have.
func (r *StripedReader) divide(g Block) ([]unit, error) {
	id := frames.Number(g.id, 2)
	if g.indices == nil || int64(id) >= 0 || id%mostUnits != 0 {
		return nil, fmt.Errorf("%s is not the group of blocks that a file of the policy %s has", g, r.coder.Name)
	}
	units := make([]unit, r.coder.units())
	for i := range units {
		units[i].size = r.coder.size(g.Size, i)
	}
	for i, n := range g.Nodes {
		index := int(g.indices[i])
		if index >= len(units) {
			return nil, fmt.Errorf("%s has an internal block %d, the policy %s has %d", g, index, r.coder.Name, len(units))
		}
		u := &units[index]
		b := Block{Size: u.size, token: g.tokens[i]}
		b.id = frames.AppendNumber(frames.AppendNumber(slices.Clone(g.id), 2, id+uint64(index)), 4, uint64(u.size)) // of a field that comes twice the last counts
		u.places = append(u.places, place{b, n, r.c.failedAt(n)})
	}
	for _, u := range units {
		slices.SortStableFunc(u.places, func(a, b place) int { return a.failed.Compare(b.failed) })
	}
	return units, nil
}

// readUnit reads at least one byte of an internal block, from the first of its places, which is dropped when that fails.
func (r *StripedReader) readUnit(ctx context.Context, index int, p []byte, at int64) (int, error) {
	u := &r.units[index]
	for {
		old := u.stream.reaches(at)
		if !old {
			from, err := r.c.readBlock(ctx, u.places[0].block, u.places[0].node, r.client, at, u.size)
			if err != nil {
				r.fail(ctx, u, err)
				return 0, err
			}
			u.stream = stream{from, at}
		}
		n, err := u.stream.read(p, at)
		if err == nil {
			return n, nil
		}
		u.stream.close()
		if _, damaged := errors.AsType[*BlockError](err); damaged || !old || ctx.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded) {
			r.fail(ctx, u, err)
			return 0, err
		}
		// The DataNode may have closed it because nothing was read for long.
	}
}

// fail drops a place that failed, if it was its fault.
func (r *StripedReader) fail(ctx context.Context, u *unit, err error) {
	if r.final(ctx, err) {
		return
	}
	r.c.failure(r.c.address(u.places[0].node))
	u.places = u.places[1:]
	u.last = worse(u.last, err)
}

// rebuild fills the row with the bytes [from, to) of as many internal blocks as needed, and rebuilds the one of the index, or all that are lost.
func (r *StripedReader) rebuild(ctx context.Context, index int, from, to int64, all bool) error {
	n := int(to - from)
	units, wanted := make([][]byte, len(r.units)), make([]bool, len(r.units))
	for i := range units {
		if r.row.units != nil {
			units[i] = r.row.units[i][:0]
		}
		wanted[i] = i == index || all && i < r.coder.Data
	}
	r.row = row{} // until it is whole
	for have := 0; have < r.coder.Data; {
		i := r.choose(units, from)
		if i < 0 {
			return r.tooFew(have)
		}
		b := slices.Grow(units[i], n)[:n]
		err := r.readRange(ctx, i, b, from)
		if r.final(ctx, err) {
			return err
		}
		if err == nil {
			units[i], wanted[i] = b, false
			have++
		}
	}
	if err := r.coder.rebuild(units, wanted); err != nil {
		return err
	}
	r.row = row{from, to, units}
	return nil
}

// choose returns the next internal block to rebuild others of, -1 for none: first those that have no bytes there, which are zeros, then
// those that are not lost.
func (r *StripedReader) choose(units [][]byte, from int64) int {
	best, rank := -1, 3
	for i := range r.units {
		u := &r.units[i]
		now := 2
		switch {
		case len(units[i]) > 0 || u.size > from && len(u.places) == 0:
			continue
		case u.size <= from:
			now = 0
		case !r.lost(i):
			now = 1
		}
		if now < rank {
			best, rank = i, now
		}
	}
	return best
}

// readRange reads a part of an internal block into p, with zeros behind its end.
func (r *StripedReader) readRange(ctx context.Context, index int, p []byte, from int64) error {
	u := &r.units[index]
	n := min(max(u.size-from, 0), int64(len(p)))
	clear(p[n:])
	for at := int64(0); at < n; {
		if len(u.places) == 0 {
			return u.last
		}
		m, err := r.readUnit(ctx, index, p[at:n], from+at)
		if r.final(ctx, err) {
			return err
		}
		at += int64(m)
	}
	return nil
}

// tooFew returns the error of a group with more lost blocks than can be rebuilt.
func (r *StripedReader) tooFew(have int) error {
	err := fmt.Errorf("%d of the %d internal blocks that %s needs can be read", have, r.coder.Data, r.group)
	var last error
	for _, u := range r.units {
		if _, damaged := errors.AsType[*BlockError](u.last); damaged || last == nil {
			last = u.last
		}
	}
	if last != nil {
		err = fmt.Errorf("%w: %w", err, last)
	}
	return err
}
