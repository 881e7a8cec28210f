package orc

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// maxRun is the largest number of values in a run.
const maxRun = 512

// ints reads integer runs of a stream, in run length encoding version 1 or 2.
type ints struct {
	stream *stream
	signed bool
	second bool
	at, n  int // position in the current run, and its length
	run    [maxRun]int64
}

func (d *ints) next() (int64, error) {
	if d.at == d.n {
		if err := d.load(); err != nil {
			return 0, err
		}
	}
	v := d.run[d.at]
	d.at++
	return v, nil
}

func (d *ints) read(dst []int64) error {
	for len(dst) > 0 {
		if d.at == d.n {
			if err := d.load(); err != nil {
				return err
			}
		}
		n := copy(dst, d.run[d.at:d.n])
		d.at += n
		dst = dst[n:]
	}
	return nil
}

var errRun = errors.New("a run of numbers is damaged")

func (d *ints) load() error {
	d.at, d.n = 0, 0
	head, err := d.stream.byte()
	switch {
	case err != nil:
		return err
	case !d.second:
		return d.runV1(int(int8(head)))
	}
	switch head >> 6 {
	case 0:
		return d.shortRepeat(int(head))
	case 1:
		return d.direct(int(head))
	case 2:
		return d.patched(int(head))
	default:
		return d.delta(int(head))
	}
}

// runV1 reads a run of version 1: a number and a step, or literal numbers.
func (d *ints) runV1(head int) error {
	if head < 0 {
		for i := range -head {
			v, err := d.varint(d.signed)
			if err != nil {
				return err
			}
			d.run[i] = v
		}
		d.n = -head
		return nil
	}
	step, err := d.stream.byte()
	if err != nil {
		return err
	}
	v, err := d.varint(d.signed)
	if err != nil {
		return err
	}
	d.fixed(v, int64(int8(step)), head+3)
	return nil
}

// fixed sets the run to n numbers that begin at v and grow by step.
func (d *ints) fixed(v, step int64, n int) {
	for i := range n {
		d.run[i] = v
		v += step
	}
	d.n = n
}

func (d *ints) varint(signed bool) (int64, error) {
	var v uint64
	for shift := 0; shift < 64; shift += 7 {
		b, err := d.stream.byte()
		if err != nil {
			return 0, err
		}
		v |= (uint64(b) & 0x7f) << shift
		if b < 0x80 {
			if signed {
				return unzigzag(v), nil
			}
			return int64(v), nil
		}
	}
	return 0, errRun
}

func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// bigEndian reads an n-byte big-endian number.
func (d *ints) bigEndian(n int) (v uint64, err error) {
	b, err := d.stream.take(n)
	for _, b := range b {
		v = (v << 8) | uint64(b)
	}
	return v, err
}

func (d *ints) shortRepeat(head int) error {
	u, err := d.bigEndian((head>>3)&7 + 1)
	if err != nil {
		return err
	}
	v := int64(u)
	if d.signed {
		v = unzigzag(u)
	}
	d.fixed(v, 0, head&7+3)
	return nil
}

// sizes reads the bit width of a run's numbers and their count.
func (d *ints) sizes(head int) (width, n int, err error) {
	low, err := d.stream.byte()
	return widthOf((head >> 1) & 0x1f), (((head & 1) << 8) | int(low)) + 1, err
}

// widthOf returns the bit width of a five-bit code.
func widthOf(code int) int {
	if code < 24 {
		return code + 1
	}
	return [...]int{26, 28, 30, 32, 40, 48, 56, 64}[code-24]
}

// closestWidth returns the smallest width of at least n bits that has a code.
func closestWidth(n int) int {
	code := 0
	for widthOf(code) < n {
		code++
	}
	return widthOf(code)
}

func (d *ints) direct(head int) error {
	width, n, err := d.sizes(head)
	if err != nil {
		return err
	}
	if err := d.unpack(d.run[:n], width); err != nil {
		return err
	}
	if d.signed {
		for i, v := range d.run[:n] {
			d.run[i] = unzigzag(uint64(v))
		}
	}
	d.n = n
	return nil
}

// unpack reads numbers of width bits, the highest bit first.
func (d *ints) unpack(dst []int64, width int) error {
	b, err := d.stream.take((len(dst)*width + 7) / 8)
	if err == nil {
		unpackBits(dst, b[:len(b)+slack], width)
	}
	return err
}

// unpackBits unpacks numbers of width bits, the highest bit first. width is at most 56, or 64. The numbers must be followed by eight bytes of any value.
func unpackBits(dst []int64, b []byte, width int) {
	if width == 64 {
		for i := range dst {
			dst[i] = int64(binary.BigEndian.Uint64(b[8*i:]))
		}
		return
	}
	bit := 0
	for i := range dst {
		word := binary.BigEndian.Uint64(b[bit>>3:])
		dst[i] = int64((word << (bit & 7)) >> (64 - width))
		bit += width
	}
}

// patched reads a run of offsets from a base, with patches that add higher bits to some of them.
func (d *ints) patched(head int) error {
	width, n, err := d.sizes(head)
	if err != nil {
		return err
	}
	b, err := d.stream.take(2)
	if err != nil {
		return err
	}
	baseBytes, patchWidth, gapWidth, patches := int(b[0]>>5)+1, widthOf(int(b[0]&0x1f)), int(b[1]>>5)+1, int(b[1]&0x1f)
	if patchWidth+gapWidth > 64 || patches == 0 {
		return errRun
	}
	u, err := d.bigEndian(baseBytes)
	if err != nil {
		return err
	}
	base := int64(u)
	if sign := uint64(1) << (8*baseBytes - 1); (u & sign) != 0 { // sign and magnitude
		base = -int64(u &^ sign)
	}
	if err := d.unpack(d.run[:n], width); err != nil {
		return err
	}
	var list [32]int64
	if err := d.unpack(list[:patches], closestWidth(patchWidth+gapWidth)); err != nil {
		return err
	}
	at := 0
	for _, p := range list[:patches] {
		gap := uint64(p) >> patchWidth
		if gap > 255 {
			return errRun
		}
		at += int(gap)
		patch := uint64(p) & ((1 << patchWidth) - 1)
		if patch == 0 {
			continue // this entry only extends a gap longer than 255
		}
		if at >= n || width+bits.Len64(patch) > 64 {
			return errRun
		}
		d.run[at] |= int64(patch << width)
	}
	for i := range d.run[:n] {
		d.run[i] += base
	}
	d.n = n
	return nil
}

// delta reads a run of a first number and differences, which all have the same sign.
func (d *ints) delta(head int) error {
	width, n, err := d.sizes(head)
	if err != nil {
		return err
	}
	v, err := d.varint(d.signed)
	if err != nil {
		return err
	}
	step, err := d.varint(true)
	if err != nil {
		return err
	}
	if (head>>1)&0x1f == 0 {
		d.fixed(v, step, n)
		return nil
	}
	d.run[0] = v
	if n == 1 {
		d.n = 1
		return nil
	}
	v += step
	d.run[1] = v
	rest := d.run[2:n]
	if err := d.unpack(rest, width); err != nil {
		return err
	}
	for i, more := range rest {
		if step < 0 {
			more = -more
		}
		v += more
		rest[i] = v
	}
	d.n = n
	return nil
}
