// Package compression decompresses text: gzip, zstd, bzip2, xz, lz4, snappy and zlib, in any number of members or streams, and the blocks of
// Hadoop's codecs. [Begins] and [Cut] determine the compression of a file, a [Codec] decompresses it within [Limits], and [ReadAhead] does so in
// a goroutine of its own.
package compression

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/zstd"
)

// Limits are the size of a file and the memory limit of its decompressor.
type Limits struct {
	Size   int64  // of the file
	Window uint64 // bytes of a window, a dictionary, or a block with its text
	// Exceeded returns the error for data that need more memory than the limit.
	Exceeded func(what string, need, have int64) error
}

// Mebibytes prints a size, rounded up.
func Mebibytes(n int64) string { return fmt.Sprintf("%d MiB", (n+1<<20-1)>>20) }

// MostWindow returns the largest window that any frame may have, given the window of the first frame and a reader's memory. It does not account for
// the memory that later frames need if their windows are larger than the first one.
func MostWindow(first, memory int64) uint64 {
	return uint64(max(first, min(memory/8, zstd.MaxWindowSize), zstd.MinWindowSize))
}

// TooWide reports whether a decompression error is that of a zstd frame that needs more memory than the limits allow.
func TooWide(err error) bool {
	return errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded)
}

// maxSkipped is the largest number of skippable frames before the first frame with data.
const maxSkipped = 16

// firstWindow returns the window size of a file's first frame, or 0 if there is none, which the reader reports.
func firstWindow(raw io.ReaderAt, size int64) (int64, error) {
	var at int64
	for range maxSkipped {
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
