// Package compression unpacks text: gzip, zstd, bzip2, xz, lz4, snappy and zlib, in any number of members or streams, and the blocks of Hadoop's codecs. [Begins]
// and [Cut] find how a file is packed, a [Codec] unpacks it within [Limits], and [ReadAhead] does so in another goroutine.
package compression

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/zstd"
)

// Limits has the facts of a file that an unpacker needs, and the memory that it may use.
type Limits struct {
	Size   int64  // of the file
	Window uint64 // bytes of a window, a dictionary, or a block with its text
	// Exceeded returns the error of a file that needs more memory than there is.
	Exceeded func(what string, need, have int64) error
}

// Mebibytes prints a size, rounded up.
func Mebibytes(n int64) string { return fmt.Sprintf("%d MiB", (n+1<<20-1)>>20) }

// MostWindow returns the largest window that a frame may need, given the window of the first frame and the memory of a reader. What frames after the first take beyond its
// window is not accounted for.
func MostWindow(first, memory int64) uint64 {
	return uint64(max(first, min(memory/8, zstd.MaxWindowSize), zstd.MinWindowSize))
}

// TooWide reports whether an error of unpacking is that a frame of zstd asks for more than the limits allow.
func TooWide(err error) bool {
	return errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded)
}

// mostSkipped is how many skippable frames may stand before the first with data.
const mostSkipped = 16

// firstWindow returns the window of a file's first frame; 0 when there is none, which its reader finds too.
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
