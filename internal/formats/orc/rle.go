package orc

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// mostRun is how many numbers a run has at most.
const mostRun = 512

// ints reads the runs of numbers of a stream, of the first version or of the second one.
type ints struct {
	s      *stream
	signed bool
	second bool
	at, n  int // in the current run
	run    [mostRun]int64
}

// next returns the next number.
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

// read reads the next numbers.
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

// load reads the next run.
func (d *ints) load() error {
	d.at, d.n = 0, 0
	head, err := d.s.byte()
	switch {
	case err != nil:
		return err
	case !d.second:
		return d.first(int(int8(head)))
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

// first reads a run of the first version: of a number that a step is added to, or of numbers.
func (d *ints) first(head int) error {
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
	step, err := d.s.byte()
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

// fixed is a run of n numbers from v on, in steps.
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
		b, err := d.s.byte()
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

// bigEndian returns the number that n bytes hold, the highest first.
func (d *ints) bigEndian(n int) (v uint64, err error) {
	b, err := d.s.take(n)
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

// sizes returns the width of a run's numbers in bits, and how many there are.
func (d *ints) sizes(head int) (width, n int, err error) {
	low, err := d.s.byte()
	return widthOf((head >> 1) & 0x1f), (((head & 1) << 8) | int(low)) + 1, err
}

// widthOf returns the number of bits that a five-bit code means.
func widthOf(code int) int {
	if code < 24 {
		return code + 1
	}
	return [...]int{26, 28, 30, 32, 40, 48, 56, 64}[code-24]
}

// closestWidth returns the lowest width of at least n bits that has a code.
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

// unpack reads numbers of a given number of bits, the highest first.
func (d *ints) unpack(dst []int64, width int) error {
	b, err := d.s.take((len(dst)*width + 7) / 8)
	if err == nil {
		unpackBits(dst, b[:len(b)+slack], width)
	}
	return err
}

// unpackBits unpacks numbers of a given number of bits, the highest first: up to 56, or 64. Eight bytes of any value follow their bytes.
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

// patched reads a run above a base, some of whose numbers have further bits.
func (d *ints) patched(head int) error {
	width, n, err := d.sizes(head)
	if err != nil {
		return err
	}
	b, err := d.s.take(2)
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
	if sign := uint64(1) << (8*baseBytes - 1); (u & sign) != 0 { // and a magnitude
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
			continue // a gap longer than 255
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

// delta reads a run of a number and differences, which are all added or all taken away.
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
