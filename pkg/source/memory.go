package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/zstd"
)

// MemoryError is that reading an input takes more memory than [Options.Memory].
type MemoryError struct {
	What string // what asks for it
	Need int64  // bytes that a reader needs for it; 0: not known
	Have int64  // bytes that a reader has
}

func (e *MemoryError) Error() string {
	if e.Need == 0 {
		return fmt.Sprintf("%s needs more than the %s of memory that a reader has", e.What, mebibytes(e.Have))
	}
	return fmt.Sprintf("%s needs %s of memory, and a reader has %s", e.What, mebibytes(e.Need), mebibytes(e.Have))
}

// mebibytes prints a size, rounded up.
func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", (n+1<<20-1)>>20) }

// memory is the limit of a reader's buffers.
func (o *Options) memory() int64 {
	if o.Memory <= 0 {
		return math.MaxInt64
	}
	return o.Memory
}

// textMemory is what a reader of text needs besides a window: the chunk, its spans, values that were unquoted, and text
// that is unpacked ahead.
func (o *Options) textMemory() int64 { return 4*int64(o.ChunkSize) + readAheadMemory }

// probePacked finds which of the compressions with one ending a file has, and how much of its text it refers back to, all of
// which its reader has to hold. What is beyond the memory of a reader is refused before any of it is allocated.
func (f *inputFile) probePacked(ctx context.Context, o *Options) (err error) {
	file, raw, err := f.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	head := make([]byte, min(f.info.Size(), 16))
	if _, err := raw.ReadAt(head, 0); err != nil && err != io.EOF {
		return fmt.Errorf("read %s: %w", f.path, err)
	}
	f.compression = refined(f.compression, head)
	c := compressionOf(f.compression)
	if c.need == nil {
		return nil
	}
	if f.window, err = c.need(raw, f.info.Size()); err != nil {
		return fmt.Errorf("read %s: %w", f.path, err)
	}
	if have := o.memory(); f.window > have-o.textMemory() {
		return fmt.Errorf("%s: %w", f.path, &MemoryError{"its " + c.holds + " of " + mebibytes(f.window), f.window + o.textMemory(), have})
	}
	// Frames after the first may have larger windows. What they take beyond the first's is not accounted for.
	f.mostWindow = uint64(max(f.window, min(o.memory()/8, zstd.MaxWindowSize), zstd.MinWindowSize))
	return nil
}

// mostSkipped is how many skippable frames may stand before the first with data.
const mostSkipped = 16

// firstWindow is the window of a file's first frame; 0 when there is none, which its reader finds too.
func firstWindow(raw io.ReaderAt, size int64) (int64, error) {
	var at int64
	for range mostSkipped {
		head := make([]byte, min(zstd.HeaderMaxSize, max(size-at, 0)))
		if _, err := raw.ReadAt(head, at); err != nil && err != io.EOF {
			return 0, err
		}
		var h zstd.Header
		if h.Decode(head) != nil {
			return 0, nil
		}
		if !h.Skippable {
			window := h.WindowSize
			if h.SingleSegment {
				window = h.FrameContentSize
			}
			return int64(min(window, math.MaxInt64/2)), nil
		}
		at += 8 + int64(h.SkippableSize)
	}
	return 0, nil
}

// windowError turns the unpacker's refusal of a window into one that says what to do.
func (f *inputFile) windowError(err error) error {
	if errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		return &MemoryError{What: "the zstd window of a frame after the first", Have: int64(f.mostWindow)}
	}
	if e, ok := errors.AsType[*MemoryError](err); ok {
		return e
	}
	return nil
}
