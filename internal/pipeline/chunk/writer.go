package chunk

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"bulkload/pkg/partition/extsort"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/s2"
)

const (
	// DefaultSize is the default of [Options.Size].
	DefaultSize = 512 << 10
	// MinSize is the minimum of [Options.Size].
	MinSize = blockSize
	// blockSize is the raw size at which a block is closed.
	blockSize = 64 << 10
)

// A Sink receives chunks. Key and value are valid during the call.
type Sink interface {
	Chunk(key, value []byte) error
}

// Options are the options of a [Writer].
type Options struct {
	// Run is the number of the run, unique within a merge.
	Run uint32
	// Size is the raw size, in bytes, at which a chunk is closed. A merge holds about half of it for each run. Default
	// [DefaultSize], at least [MinSize].
	Size int
}

// A Writer cuts the regions of one run into chunks. It belongs to one goroutine and reuses its buffers from region to region.
type Writer struct {
	sink    Sink
	options Options
	key     []byte // of the current chunk
	value   []byte
	block   []byte
	last    []byte // key of the previous row, kept after its block is packed
	head    header
}

// NewWriter returns a writer into a sink.
func NewWriter(sink Sink, o Options) *Writer {
	o.Size = cmp.Or(o.Size, DefaultSize)
	o.Size = max(o.Size, MinSize)
	return &Writer{sink: sink, options: o}
}

// Region writes the rows of a region, which must be after the regions written before. It reads the merge to its end, and does not close it.
func (w *Writer) Region(region int, m *extsort.Merge) (Counts, error) {
	var c Counts
	w.head = header{run: w.options.Run}
	w.value, w.block = w.value[:0], w.block[:0]
	for m.Next() {
		row := m.Record()
		key := m.Key()
		if full := w.raw() >= w.options.Size; len(w.value) == 0 || full && !bytes.Equal(w.last, key) {
			if full {
				if err := w.flush(&c, false); err != nil {
					return c, err
				}
			}
			w.begin(region, key)
		}
		// Rows with the same key stay in one chunk, so that no chunk of a run begins with the last key of the previous one.
		w.last = append(w.last[:0], key...)
		w.block = append(w.block, row...)
		w.head.rows++
		c.Rows++
		c.Bytes += int64(len(row))
		c.Sum += xxhash.Sum64(m.Row())
		if len(w.block) >= blockSize {
			if err := w.pack(); err != nil {
				return c, err
			}
		}
	}
	if err := m.Err(); err != nil || len(w.value) == 0 {
		return c, err
	}
	return c, w.flush(&c, true)
}

// raw returns the uncompressed size of the current chunk.
func (w *Writer) raw() int { return int(w.head.raw) + len(w.block) }

// begin starts a chunk with the key of its first row.
func (w *Writer) begin(region int, key []byte) {
	w.key = append(binary.BigEndian.AppendUint32(w.key[:0], uint32(region)), key...)
	w.value = slices.Grow(w.value[:0], headerSize)[:headerSize]
	w.head.rows, w.head.flags, w.head.raw = 0, 0, 0
}

// pack compresses and closes the current block.
func (w *Writer) pack() error {
	n := len(w.value)
	need := blockHeader + s2.MaxEncodedLen(len(w.block))
	if need < 0 || n+need > MaxValue || w.raw() > math.MaxUint32 {
		return fmt.Errorf("the rows of one key take more than %d bytes, the limit of a chunk", MaxValue)
	}
	w.value = slices.Grow(w.value, need)[:n+need]
	stored := s2.EncodeSnappy(w.value[n+blockHeader:], w.block)
	binary.LittleEndian.PutUint32(w.value[n:], uint32(len(stored)))
	binary.LittleEndian.PutUint32(w.value[n+4:], uint32(len(w.block)))
	w.value = w.value[:n+blockHeader+len(stored)]
	w.head.raw += uint32(len(w.block))
	w.block = w.block[:0]
	return nil
}

// flush passes the chunk to the sink.
func (w *Writer) flush(c *Counts, last bool) error {
	if len(w.block) > 0 {
		if err := w.pack(); err != nil {
			return err
		}
	}
	if last {
		w.head.flags |= flagLast
	}
	w.head.put(w.key, w.value)
	c.Chunks++
	if err := w.sink.Chunk(w.key, w.value); err != nil {
		return err
	}
	w.head.ordinal++
	return nil
}
