package keygen

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"strconv"
)

// A function of the language: how a call is checked, and what it compiles to.
type function struct {
	name    string
	maxInts int
	compile func(c Call, in input, o Options) (op, error)
}

func functions() []function {
	return []function{
		{name: "salt", maxInts: 1, compile: compileSalt},
		{name: "md5hex", compile: compileMD5Hex},
	}
}

func findFunction(name string) (function, bool) {
	for _, f := range functions() {
		if f.name == name {
			return f, true
		}
	}
	return function{}, false
}

func functionNames() []string {
	var names []string
	for _, f := range functions() {
		names = append(names, f.name)
	}
	return names
}

func (f function) check(c Call) error {
	if len(c.Args) == 0 {
		return fmt.Errorf("%s(…) has nothing to work on", f.name)
	}
	if len(c.Ints) > f.maxInts {
		return fmt.Errorf("%s(…) takes %d numbers at most, not %d", f.name, f.maxInts, len(c.Ints))
	}
	return nil
}

// saltOp appends |hashCode mod n| with leading zeros.
type saltOp struct {
	in    input
	n     int32
	width int
}

func compileSalt(c Call, in input, o Options) (op, error) {
	n := o.Regions
	if len(c.Ints) > 0 {
		n = c.Ints[0]
	}
	if n < 1 || n > 1<<30 {
		return nil, fmt.Errorf("the modulus %d of %s is outside 1..%d", n, c, 1<<30)
	}
	return &saltOp{in: in, n: int32(n), width: len(strconv.Itoa(n - 1))}, nil
}

func (s *saltOp) append(dst []byte, fields [][]byte) ([]byte, error) {
	b, err := s.in.bytes(fields)
	if err != nil {
		return dst, err
	}
	// the remainder first: |−2³¹| does not fit in 32 bits
	r := JavaHash(b) % s.n
	if r < 0 {
		r = -r
	}
	at := len(dst)
	for range s.width {
		dst = append(dst, '0')
	}
	for i := len(dst) - 1; r > 0 && i >= at; i-- {
		dst[i] = byte('0' + r%10)
		r /= 10
	}
	return dst, nil
}

// md5HexOp appends a digest. Exports often hold the rows of a query key one
// after the other, so the last digest is kept.
type md5HexOp struct {
	in   input
	last []byte
	out  [2 * md5.Size]byte
	set  bool
}

func compileMD5Hex(_ Call, in input, _ Options) (op, error) { return &md5HexOp{in: in}, nil }

func (m *md5HexOp) append(dst []byte, fields [][]byte) ([]byte, error) {
	b, err := m.in.bytes(fields)
	if err != nil {
		return dst, err
	}
	if !m.set || !bytes.Equal(b, m.last) {
		sum := md5.Sum(b)
		hex.Encode(m.out[:], sum[:])
		m.last = append(m.last[:0], b...)
		m.set = true
	}
	return append(dst, m.out[:]...), nil
}
