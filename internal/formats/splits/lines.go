package splits

import (
	"context"
	"errors"
)

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
