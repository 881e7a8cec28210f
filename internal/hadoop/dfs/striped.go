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

// errBeingWritten refuses a striped file that is still being written: the lengths of its internal blocks are unknown.
var errBeingWritten = errors.New("it is erasure coded and being written: read it when its writer has closed it")

// StripedReader reads an erasure coded file. It must be used by one goroutine. It reads a block group over one connection to each DataNode
// with some of its data, opened when the first cell is read; data sent ahead waits in the sockets. Blocks that no DataNode has are
// reconstructed from others: a whole row of cells if the file is read forward, kept while it is read, otherwise only the requested bytes.
type StripedReader struct {
	client *Client
	name   string
	id     uint64 // of the file
	size   int64  // of the file, as given to OpenStriped
	holder string
	coder  coder

	groups []Block // the located groups
	group  Block   // the current group
	units  []unit  // its internal blocks, by index
	row    row
	next   int64 // file offset after the last read
	fresh  bool  // the tokens are new
}

// unit is an internal block of the group.
type unit struct {
	size   int64
	places []place // that have not failed; those on recently failed DataNodes last
	stream stream
	last   error // error of the places that failed
}

// place is a DataNode with an internal block.
type place struct {
	block  Block
	node   DataNode
	failed time.Time // if recently, otherwise zero
}

// row holds the bytes [from, to) of internal blocks, by index: read, reconstructed, or empty.
type row struct {
	from, to int64
	units    [][]byte
}

// OpenStriped returns a reader of the erasure coded file with the given inode number and length. It does not connect.
func (c *Client) OpenStriped(name string, id uint64, size int64, p Policy) *StripedReader {
	return &StripedReader{client: c, name: name, id: id, size: size, holder: holder(), coder: coder{Policy: p}}
}

// ReadAt reads at least one byte at an offset before the end of the file. Each replica of an internal block is tried once, those on
// DataNodes that failed recently after all others; then the block is reconstructed. After an error the next call tries all replicas again.
func (r *StripedReader) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	n, err := r.read(ctx, p, off)
	if errors.Is(err, datatransfer.ErrToken) && !r.fresh && ctx.Err() == nil {
		r.Forget()
		r.fresh = true // locating the blocks again gives new tokens
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

// Close closes the connections and releases memory. The next call opens new connections.
func (r *StripedReader) Close() {
	for i := range r.units {
		r.units[i].stream.close()
	}
	r.row = row{}
}

// Forget closes the connections, and forgets the block locations and failed DataNodes.
func (r *StripedReader) Forget() {
	r.Close()
	r.groups, r.group, r.units, r.fresh = nil, Block{}, nil, false
}

// read reads at an offset, from a DataNode or by reconstruction.
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
		if !r.isLost(index) && !(forward && r.anyLost()) {
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

// copy copies the row's bytes of an internal block to p.
func (w *row) copy(p []byte, index int, at int64) int {
	if w.units == nil || at < w.from || at >= w.to || len(w.units[index]) == 0 {
		return 0
	}
	return copy(p, w.units[index][at-w.from:])
}

// isLost reports whether an internal block must not be read: no DataNode has it, or those that have it failed recently.
func (r *StripedReader) isLost(index int) bool {
	u := &r.units[index]
	return u.size > 0 && (len(u.places) == 0 || !u.places[0].failed.IsZero())
}

// anyLost reports whether any data block is lost.
func (r *StripedReader) anyLost() bool {
	for i := range r.coder.Data {
		if r.isLost(i) {
			return true
		}
	}
	return false
}

// final reports whether an error concerns more than one DataNode.
func (r *StripedReader) final(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || ofNameNode(err) || !r.fresh && errors.Is(err, datatransfer.ErrToken))
}

// enter sets r.group to the group that contains a byte of the file.
func (r *StripedReader) enter(ctx context.Context, off int64) error {
	at := func(b Block) bool { return b.Offset <= off && off < b.Offset+b.Size }
	if at(r.group) {
		return nil
	}
	i := slices.IndexFunc(r.groups, at)
	if i < 0 {
		l, err := r.client.Locate(ctx, r.name, off, min(r.size-off, prefetch))
		if err != nil {
			return &NameNodeError{err}
		}
		if err := r.client.unchanged(ctx, r.name, r.id, r.size); err != nil {
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

// divide returns the internal blocks of a group. An internal block's id is the group's id with the index in the last four bits.
func (r *StripedReader) divide(g Block) ([]unit, error) {
	id := frames.Number(g.id, 2)
	if g.indices == nil || int64(id) >= 0 || id%maxUnits != 0 {
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
		b.id = frames.AppendNumber(frames.AppendNumber(slices.Clone(g.id), 2, id+uint64(index)), 4, uint64(u.size)) // the last of repeated fields counts
		u.places = append(u.places, place{b, n, r.client.failedAt(n)})
	}
	for _, u := range units {
		slices.SortStableFunc(u.places, func(a, b place) int { return a.failed.Compare(b.failed) })
	}
	return units, nil
}

// readUnit reads at least one byte of an internal block from the first of its places. It drops the place if that fails.
func (r *StripedReader) readUnit(ctx context.Context, index int, p []byte, at int64) (int, error) {
	u := &r.units[index]
	for {
		old := u.stream.reaches(at)
		if !old {
			from, err := r.client.readBlock(ctx, u.places[0].block, u.places[0].node, r.holder, at, u.size)
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
		// The DataNode may have closed the connection because it was idle for long.
	}
}

// fail drops a place that failed, unless the error is final.
func (r *StripedReader) fail(ctx context.Context, u *unit, err error) {
	if r.final(ctx, err) {
		return
	}
	r.client.failure(r.client.address(u.places[0].node))
	u.places = u.places[1:]
	u.last = combineErrors(u.last, err)
}

// rebuild fills the row with the bytes [from, to) of as many internal blocks as needed, and reconstructs the block with the given index, or all
// lost ones.
func (r *StripedReader) rebuild(ctx context.Context, index int, from, to int64, all bool) error {
	n := int(to - from)
	units, wanted := make([][]byte, len(r.units)), make([]bool, len(r.units))
	for i := range units {
		if r.row.units != nil {
			units[i] = r.row.units[i][:0]
		}
		wanted[i] = i == index || all && i < r.coder.Data
	}
	r.row = row{} // until it is complete
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

// choose returns the next internal block to reconstruct others from, -1 for none: first those without bytes in the range, which
// count as zeros, then those that are not lost, then the others.
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
		case !r.isLost(i):
			now = 1
		}
		if now < rank {
			best, rank = i, now
		}
	}
	return best
}

// readRange reads a part of an internal block into p, with zeros after the block's end.
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

// tooFew returns the error for a group with more lost blocks than can be reconstructed.
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
