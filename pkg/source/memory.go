package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"bulkload/internal/formats/compression"
)

// MemoryError says that reading an input takes more memory than [Options.Memory].
type MemoryError struct {
	What string // the object that needs it
	Need int64  // bytes that a reader needs for it; 0: not known
	Have int64  // bytes that a reader has
}

func (e *MemoryError) Error() string {
	if e.Need == 0 {
		return fmt.Sprintf("%s needs more than the %s of memory that a reader has", e.What, compression.Mebibytes(e.Have))
	}
	return fmt.Sprintf("%s needs %s of memory, and a reader has %s", e.What, compression.Mebibytes(e.Need), compression.Mebibytes(e.Have))
}

// memory returns the size limit of a reader's buffers.
func (o *Options) memory() int64 {
	if o.Memory <= 0 {
		return math.MaxInt64
	}
	return o.Memory
}

// textMemory returns the memory that a reader of text needs in addition to a window: the chunk, its spans, unquoted values, and text
// that is unpacked ahead.
func (o *Options) textMemory() int64 { return 4*int64(o.ChunkSize) + compression.AheadMemory }

// shortRecord is the average size of records, in bytes, down to which absentMemory is enough.
const shortRecord = 32

// absentMemory returns the memory of a batch's spans of columns that a text does not have, or that its lines need not have.
func (f *inputFile) absentMemory(cols int, o *Options) int64 {
	if !f.facts.Text || !slices.Contains(f.order, placeNull) && !f.facts.Open {
		return 0
	}
	return 8 * int64(min(o.ChunkSize, o.ChunkSize/shortRecord*cols))
}

// probePacked finds which of the compressions with the same ending a file has, and the size of its window, which a reader has to hold. It
// rejects a window that exceeds a reader's memory before any of it is allocated.
func (f *inputFile) probePacked(ctx context.Context, o *Options) (err error) {
	file, raw, err := f.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	head := make([]byte, min(f.Info.Size(), 16))
	if _, err := raw.ReadAt(head, 0); err != nil && err != io.EOF {
		return fmt.Errorf("read %s: %w", f.Path, err)
	}
	f.compression = compression.Refine(f.compression, head)
	c := compression.Named(f.compression)
	if c.Need == nil {
		return nil
	}
	if f.window, err = c.Need(raw, f.Info.Size()); err != nil {
		return fmt.Errorf("read %s: %w", f.Path, err)
	}
	if have := o.memory(); f.window > have-o.textMemory() {
		return fmt.Errorf("%s: %w", f.Path, &MemoryError{"its " + c.Holds + " of " + compression.Mebibytes(f.window), f.window + o.textMemory(), have})
	}
	f.mostWindow = compression.MostWindow(f.window, o.memory())
	return nil
}

// limits returns the limits of the file's unpacker.
func (f *inputFile) limits() compression.Limits {
	return compression.Limits{Size: f.Info.Size(), Window: f.mostWindow, Exceeded: exceeded}
}

// exceeded returns the error of an object that needs more memory than a reader has.
func exceeded(what string, need, have int64) error { return &MemoryError{what, need, have} }

// windowError turns the unpacker's error about a window into one with advice.
func (f *inputFile) windowError(err error) error {
	if compression.TooWide(err) {
		return &MemoryError{What: "the zstd window of a frame after the first", Have: int64(f.mostWindow)}
	}
	if e, ok := errors.AsType[*MemoryError](err); ok {
		return e
	}
	return nil
}
