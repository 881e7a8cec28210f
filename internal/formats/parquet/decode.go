package parquet

import (
	"encoding/binary"
	"errors"
)

// hybrid reads Parquet's mix of runs and bit-packed numbers from data[at:end].
type hybrid struct {
	at, end int
	width   int // bits of a number
	run     int // numbers left in the run
	value   uint32
	packed  bool // the run is bit-packed, from bit on
	bit     int
	// highFirst reports that numbers begin with their highest bits: the deprecated BIT_PACKED.
	highFirst bool
}

// skipRun skips n numbers if the current run has at least n, all of them v.
func (h *hybrid) skipRun(data []byte, v uint32, n int) bool {
	if h.run == 0 && !h.begin(data) {
		return false
	}
	if h.packed || h.run < n || h.value != v {
		return false
	}
	h.run -= n
	return true
}

// read fills dst. data must have [slack] bytes after end. It returns false if there are not enough data.
func (h *hybrid) read(data []byte, dst []uint32) bool {
	if h.width == 0 {
		clear(dst)
		return true
	}
	for len(dst) > 0 {
		if h.run == 0 && !h.begin(data) {
			return false
		}
		n := min(h.run, len(dst))
		h.run -= n
		if h.highFirst {
			for i := range dst[:n] {
				dst[i] = 0
				for range h.width {
					dst[i] = dst[i]<<1 | uint32((data[h.bit>>3]>>(7-h.bit&7))&1)
					h.bit++
				}
			}
		} else if !h.packed {
			for i := range dst[:n] {
				dst[i] = h.value
			}
		} else {
			bit, mask := h.bit, uint64(1)<<h.width-1
			for i := range dst[:n] {
				dst[i] = uint32((binary.LittleEndian.Uint64(data[bit>>3:]) >> (bit & 7)) & mask)
				bit += h.width
			}
			h.bit = bit
		}
		dst = dst[n:]
	}
	return true
}

// begin reads the head of the next run.
func (h *hybrid) begin(data []byte) bool {
	for h.run == 0 {
		head, n := binary.Uvarint(data[min(h.at, h.end):h.end])
		if n <= 0 || head > 1<<31 {
			return false
		}
		h.at += n
		if h.packed = head&1 != 0; h.packed {
			// The last group of eight may be cut off after the last number.
			size := min(int(head>>1)*h.width, h.end-h.at)
			h.run = min(int(head>>1)*8, size*8/h.width)
			h.bit = h.at * 8
			h.at += size
			if h.run == 0 {
				return false
			}
			continue
		}
		size := (h.width + 7) / 8
		if size > h.end-h.at {
			return false
		}
		var v [8]byte
		copy(v[:], data[h.at:h.at+size])
		h.value = uint32(binary.LittleEndian.Uint64(v[:]) & (1<<h.width - 1))
		h.at += size
		h.run = int(head >> 1)
	}
	return true
}

// The functions below rewrite the values data[from:to] of a page in the plain encoding. most is the largest number of
// values in the page, and fits returns an error for a number of bytes that is too large.

var errDelta = errors.New("its delta encoded values are damaged")

func appendBits(dst, data []byte, most int) []byte {
	for i := range min(most, len(data)*8) {
		dst = append(dst, (data[i>>3]>>(i&7))&1)
	}
	return dst
}

func appendRLEBools(dst, data []byte, from, to, most int) ([]byte, error) {
	if to-from < 4 {
		return dst, errShortPage
	}
	h := hybrid{at: from + 4, end: to, width: 1}
	for range most {
		var v [1]uint32
		if !h.read(data, v[:]) {
			break // no more values: nulls are not stored
		}
		dst = append(dst, byte(v[0]))
	}
	return dst, nil
}

// appendStreams joins the bytes of each value: the first stream has the first byte of every value, and so on.
func appendStreams(dst, data []byte, width int) []byte {
	n := len(data) / width
	for i := range n {
		for b := range width {
			dst = append(dst, data[b*n+i])
		}
	}
	return dst
}

// appendDeltas rewrites numbers of the given width in bytes.
func appendDeltas(dst, data []byte, from, to, most, width int, fits func(int) error) ([]byte, error) {
	var v [8]byte
	_, err := deltas(data, from, to, most, width, fits, func(n uint64) {
		binary.LittleEndian.PutUint64(v[:], n)
		dst = append(dst, v[:width]...)
	})
	return dst, err
}

func appendDeltaLength(dst, data []byte, from, to, most int, fits func(int) error) ([]byte, error) {
	var lengths []uint32
	at, err := deltas(data, from, to, most, 8, fits, func(n uint64) { lengths = append(lengths, uint32(n)) })
	if err != nil {
		return dst, err
	}
	for _, n := range lengths {
		if int64(n) > int64(to-at) {
			return dst, errDelta
		}
		dst = binary.LittleEndian.AppendUint32(dst, n)
		dst = append(dst, data[at:at+int(n)]...)
		at += int(n)
	}
	return dst, nil
}

// appendDeltaBytes rewrites values that share a prefix with the previous value. width is 0 for values of any length.
func appendDeltaBytes(dst, data []byte, from, to, most, width int, fits func(int) error) ([]byte, error) {
	var prefixes, lengths []uint32
	at, err := deltas(data, from, to, most, 12, fits, func(n uint64) { prefixes = append(prefixes, uint32(n)) })
	if err != nil {
		return dst, err
	}
	if at, err = deltas(data, at, to, most, 12, fits, func(n uint64) { lengths = append(lengths, uint32(n)) }); err != nil {
		return dst, err
	}
	if len(lengths) != len(prefixes) {
		return dst, errDelta
	}
	last, size := 0, 0 // the previous value
	for i, n := range lengths {
		prefix := int64(prefixes[i])
		if int64(n) > int64(to-at) || prefix > int64(size) || width > 0 && prefix+int64(n) != int64(width) || int64(len(dst))+prefix+int64(n) > maxPage {
			return dst, errDelta
		}
		if err := fits(len(dst) + 4 + int(prefix) + int(n)); err != nil {
			return dst, err
		}
		if width == 0 {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(prefix)+n)
		}
		start := len(dst)
		dst = append(dst, dst[last:last+int(prefix)]...)
		dst = append(dst, data[at:at+int(n)]...)
		at += int(n)
		last, size = start, len(dst)-start
	}
	return dst, nil
}

// deltas reads numbers in the encoding DELTA_BINARY_PACKED and returns the offset after them. size is the number of bytes
// that the caller needs for each.
func deltas(data []byte, from, to, most, size int, fits func(int) error, each func(uint64)) (int, error) {
	at, bad := from, false
	uvarint := func() uint64 {
		v, n := binary.Uvarint(data[min(at, to):to])
		bad = bad || n <= 0
		at += max(n, 0)
		return v
	}
	zigzag := func() uint64 {
		v := uvarint()
		return v>>1 ^ -(v & 1)
	}
	block, minis, count, value := uvarint(), uvarint(), uvarint(), zigzag()
	if bad || minis == 0 || block > 1<<24 || minis > 1<<16 || block%minis != 0 || block/minis%8 != 0 || block == 0 || count > uint64(most) {
		return at, errDelta
	}
	if err := fits(int(count) * size); err != nil {
		return at, err
	}
	per := int(block / minis)
	left := int(count)
	if left > 0 {
		each(value)
		left--
	}
	for left > 0 {
		least := zigzag()
		if bad || int(minis) > to-at {
			return at, errDelta
		}
		widths := data[at : at+int(minis)]
		at += int(minis)
		for _, w := range widths {
			if left == 0 {
				break
			}
			size := per * int(w) / 8
			if w > 64 || size > to-at {
				return at, errDelta
			}
			for i := range min(per, left) {
				value += least + bitsAt(data, at*8+i*int(w), int(w))
				each(value)
			}
			left -= min(per, left)
			at += size
		}
	}
	return at, nil
}

// bitsAt returns the number that begins at a bit and is width bits long.
func bitsAt(data []byte, bit, width int) uint64 {
	if width == 0 {
		return 0
	}
	v := binary.LittleEndian.Uint64(data[bit>>3:]) >> (bit & 7)
	if got := 64 - bit&7; got < width {
		v |= uint64(data[bit>>3+8]) << got
	}
	if width < 64 {
		v &= 1<<width - 1
	}
	return v
}
