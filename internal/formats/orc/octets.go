package orc

import "errors"

// octets reads byte runs.
type octets struct {
	stream  *stream
	left    int // in the current run
	literal bool
	value   byte
}

func (d *octets) next() (byte, error) {
	if d.left == 0 {
		head, err := d.stream.byte()
		if err != nil {
			return 0, err
		}
		if d.literal = head >= 0x80; d.literal {
			d.left = 0x100 - int(head)
		} else {
			d.left = int(head) + 3
			if d.value, err = d.stream.byte(); err != nil {
				return 0, err
			}
		}
	}
	d.left--
	if d.literal {
		return d.stream.byte()
	}
	return d.value, nil
}

// flags reads bits, from the highest bit of a byte to the lowest.
type flags struct {
	octets
	bits byte
	n    int // bits that are left
}

func (d *flags) next() (byte, error) {
	if d.n == 0 {
		b, err := d.octets.next()
		if err != nil {
			return 0, err
		}
		d.bits, d.n = b, 8
	}
	v := d.bits >> 7
	d.bits <<= 1
	d.n--
	return v, nil
}

// uvarint128 reads a varint of at most 128 bits.
func (s *stream) uvarint128() (hi, lo uint64, err error) {
	for shift := 0; shift < 128; shift += 7 {
		b, err := s.byte()
		if err != nil {
			return 0, 0, err
		}
		v := uint64(b) & 0x7f
		switch {
		case shift < 64:
			lo |= v << shift
			hi |= v >> (64 - shift) // 0 for shifts up to 57
		default:
			hi |= v << (shift - 64)
			if shift == 126 && v > 3 {
				return 0, 0, errDecimal
			}
		}
		if b < 0x80 {
			return hi, lo, nil
		}
	}
	return 0, 0, errDecimal
}

var errDecimal = errors.New("a decimal has more than 38 digits")
