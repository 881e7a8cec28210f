// Package splits finds where a text can be cut, so that several readers read it at the same time: each split begins with a record, and ends
// where the next begins. It does not parse the text. [CSV] and [Quoted] count quotes, and [Lines] looks at neighbouring bytes only.
//
// The records never depend on the length of a split: where they could, the rest of the text is one split.
package splits

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// Text is a text that is to be cut. Its values must not change during a call.
type Text struct {
	Path       string // for errors
	Begin, End int64  // of the records, in bytes of the file
	Step       int64  // nominal length of a split in bytes, more than 0
	// Open opens the file for one goroutine, which closes it.
	Open    func(context.Context) (Reader, error)
	Scanned func(bytes int64) // reports bytes that were read, from several goroutines; nil: not called
}

// A Reader reads a file at any position.
type Reader interface {
	io.ReaderAt
	io.Closer
	// Within says that the bytes from start to end will be read in order, and few of those after them.
	Within(start, end int64)
}

// whole returns the places of a text that is not longer than one split, nil for any other text.
func (t *Text) whole() []int64 {
	if t.End-t.Begin > t.Step {
		return nil
	}
	return []int64{t.Begin, t.End}
}

// read reads the file's bytes from a position on.
func (t *Text) read(src Reader, p []byte, at int64) error {
	if n, err := src.ReadAt(p, at); n < len(p) {
		return fmt.Errorf("find the records of %s: %w", t.Path, err)
	}
	return nil
}

// pieceSize is the number of bytes of a block that are read at a time.
const pieceSize = 256 << 10

// A piece is a part of a block, with bytes of the text around it.
type piece struct {
	buf           []byte // the greatest number of bytes before the piece, the piece, the bytes after it, and slack
	at            int64  // of the piece in the file
	n             int    // its length
	before, after int    // number of bytes before and after it; fewer at the beginning and the end of the text
}

// around holds the numbers of bytes that a scan needs before a piece, after it, and as slack.
type around struct{ before, after, slack int }

// pieces reads the block [from, to) in pieces. Their buffer is valid until scan returns.
func (t *Text) pieces(ctx context.Context, src Reader, from, to int64, with around, scan func(piece)) error {
	buf := make([]byte, int64(with.before+with.after+with.slack)+min(pieceSize, to-from))
	for at := from; at < to; {
		if err := ctx.Err(); err != nil {
			return err
		}
		p := piece{buf: buf, at: at, n: int(min(pieceSize, to-at)), before: int(min(int64(with.before), at-t.Begin))}
		p.after = int(min(int64(with.after), t.End-at-int64(p.n)))
		if err := t.read(src, buf[with.before-p.before:with.before+p.n+p.after], at-int64(p.before)); err != nil {
			return err
		}
		scan(p)
		if t.Scanned != nil {
			t.Scanned(int64(p.n))
		}
		at += int64(p.n)
	}
	return nil
}

// A block describes a part of a text for two cases: the part begins outside of quotes [0] or inside of them [1].
type block struct {
	inside [2]int   // 1 if it ends inside quotes, else 0
	start  [2]int64 // where the first record begins, 0 if none does
	faulty [2]bool  // a quote is at a position where none may be
}

// byBlocks examines blocks of the length of a split independently, with all cores. The preceding blocks decide which case applies to a block.
// From a block with a misplaced quote on, the text is not cut.
func (t *Text) byBlocks(ctx context.Context, look func(ctx context.Context, src Reader, from, to int64) (block, error)) ([]int64, error) {
	if places := t.whole(); places != nil {
		return places, nil
	}
	blocks := make([]block, (t.End-t.Begin+t.Step-1)/t.Step)
	g, ctx := errgroup.WithContext(ctx)
	workers := min(runtime.GOMAXPROCS(0), len(blocks))
	at := func(block int) int64 { return min(t.Begin+int64(block)*t.Step, t.End) }
	for w := range workers {
		g.Go(func() (err error) {
			src, err := t.Open(ctx)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, src.Close()) }()
			// Each worker gets neighbouring blocks, so that only few places of the file are read at a time.
			first, end := len(blocks)*w/workers, len(blocks)*(w+1)/workers
			src.Within(at(first), at(end))
			for i := first; i < end; i++ {
				if blocks[i], err = look(ctx, src, at(i), at(i+1)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	places, inside := []int64{t.Begin}, 0
	for i, b := range blocks {
		if b.faulty[inside] {
			break
		}
		if start := b.start[inside]; i > 0 && start > places[len(places)-1] && start < t.End {
			places = append(places, start)
		}
		inside = b.inside[inside]
	}
	return append(places, t.End), nil
}

// window is the initial size of the window in which the beginning of a record is searched.
const window = 64 << 10

// Lines cuts a text where the neighbouring bytes show that a record begins: each split begins with the first record at or after its nominal
// start. begin returns the offset of the first record that begins at or after at in a piece of text; at is above 0. It returns -1 if there is
// none, or if that depends on bytes before the piece. whole means that the piece begins with a record; then nothing depends on bytes before it.
// After the beginning of a record that may be longer than most bytes, the text is not cut: its reader decides whether the record is too long. The
// result is like that of [CSV].
func Lines(ctx context.Context, t Text, most int, begin func(text []byte, at int, whole bool) int) (places []int64, err error) {
	if places := t.whole(); places != nil {
		return places, nil
	}
	src, err := t.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	places = append(places, t.Begin)
	for at := t.Begin + t.Step; at < t.End; at += t.Step {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		next, err := t.recordFrom(src, begin, at, places[len(places)-1], int64(most)+window)
		if err != nil {
			return nil, err
		}
		if next < 0 {
			break
		}
		if next < t.End && next > places[len(places)-1] {
			places = append(places, next)
		}
	}
	return append(places, t.End), nil
}

// recordFrom returns the offset of the first record that begins at or after at, -1 if none begins within most bytes. A record is known to begin at from.
func (t *Text) recordFrom(src Reader, begin func(text []byte, at int, whole bool) int, at, from, most int64) (int64, error) {
	if at <= from {
		return from, nil
	}
	for size := int64(window); ; size = min(4*size, most) {
		first, end := max(from, at-size), min(at+size, t.End)
		buf := make([]byte, end-first)
		if err := t.read(src, buf, first); err != nil {
			return 0, err
		}
		if next := begin(buf, int(at-first), first == from); next >= 0 {
			return first + int64(next), nil
		}
		if end == t.End || size == most {
			return -1, nil
		}
	}
}
