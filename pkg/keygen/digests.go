package keygen

import (
	"bytes"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
)

// hashNumber is a 32-bit hash of text as an integer.
type hashNumber struct {
	in *input
	fn func(text []byte) int64
}

func (h *hashNumber) value(fields [][]byte) (int64, error) {
	b, err := h.in.bytes(fields)
	if err != nil {
		return 0, err
	}
	return h.fn(b), nil
}

func hashed(fn func([]byte) int64, chars bool) func(*compiler, Call) (number, error) {
	return func(c *compiler, call Call) (number, error) {
		in, err := c.input(call.Args, chars)
		return &hashNumber{in, fn}, err
	}
}

func javaHash(b []byte) int64 { return int64(JavaHash(b)) }
func murmur(b []byte) int64   { return int64(murmur3(b, 0)) }
func crc(b []byte) int64      { return int64(crc32.ChecksumIEEE(b)) }

// saltOp appends |hash mod n|: in decimal with leading zeros, or as one byte.
type saltOp struct {
	in    *input
	n     int64
	width int  // 0: one byte
	sign  bool // the byte keeps the remainder's
	fn    func(text []byte) int64
}

func (s *saltOp) append(dst []byte, fields [][]byte) ([]byte, error) {
	b, err := s.in.bytes(fields)
	if err != nil {
		return dst, err
	}
	// the remainder first: |−2³¹| does not fit in Java's 32 bits
	r := s.fn(b) % s.n
	if r < 0 && !s.sign {
		r = -r
	}
	if s.width == 0 {
		return append(dst, byte(r)), nil
	}
	return appendPadded(dst, r, s.width), nil
}

func compileSalt(c *compiler, call Call) (op, error) {
	n, err := c.modulus(call, maxModulus)
	if err != nil {
		return nil, err
	}
	in, err := c.input(call.Args, true)
	return &saltOp{in: in, n: int64(n), width: decimals(int64(n) - 1), fn: javaHash}, err
}

func compileByteSalt(c *compiler, call Call) (op, error) {
	n, err := c.modulus(call, 256)
	if err != nil {
		return nil, err
	}
	in, err := c.input(call.Args, true)
	return &saltOp{in: in, n: int64(n), fn: javaHash}, err
}

func compileJavaSalt(c *compiler, call Call) (op, error) {
	op, err := compileByteSalt(c, call)
	if s, ok := op.(*saltOp); ok {
		s.sign = true
	}
	return op, err
}

// compileSpread makes a salt of murmur3, taken as unsigned: String.hashCode of ascending keys ascends too, so their salts would not look
// random.
func compileSpread(c *compiler, call Call) (op, error) {
	n := spreadDefault
	if len(call.Ints) > 0 {
		n = call.Ints[0]
	}
	in, err := c.input(call.Args, false)
	return &saltOp{in: in, n: int64(n), width: decimals(int64(n) - 1), fn: func(b []byte) int64 { return int64(uint32(murmur3(b, 0))) }}, err
}

// digestOp appends a digest. Exports often hold the rows of a query key consecutively, so the last digest is kept.
type digestOp struct {
	in   *input
	sum  func(dst, text []byte) []byte
	last []byte
	out  []byte
}

func digest(sum func(dst, text []byte) []byte) func(*compiler, Call) (op, error) {
	return func(c *compiler, call Call) (op, error) {
		in, err := c.input(call.Args, false)
		return &digestOp{in: in, sum: sum}, err
	}
}

func (d *digestOp) append(dst []byte, fields [][]byte) ([]byte, error) {
	b, err := d.in.bytes(fields)
	if err != nil {
		return dst, err
	}
	if len(d.out) == 0 || !bytes.Equal(b, d.last) {
		d.out = d.sum(d.out[:0], b)
		d.last = append(d.last[:0], b...)
	}
	return append(dst, d.out...), nil
}

func md5Raw(dst, b []byte) []byte {
	sum := md5.Sum(b)
	return append(dst, sum[:]...)
}

func md5Hex(dst, b []byte) []byte {
	sum := md5.Sum(b)
	return hex.AppendEncode(dst, sum[:])
}

// md5Shift returns the prefix of tables split by MD5StringSplit: the first seven hex digits of the digest as a number, shifted right by
// one.
func md5Shift(dst, b []byte) []byte {
	sum := md5.Sum(b)
	v := binary.BigEndian.Uint32(sum[:]) >> 4 >> 1
	const digits = "0123456789abcdef"
	for shift := 24; shift >= 0; shift -= 4 {
		dst = append(dst, digits[(v>>shift)&15])
	}
	return dst
}

func sha1Raw(dst, b []byte) []byte {
	sum := sha1.Sum(b)
	return append(dst, sum[:]...)
}

func sha1Hex(dst, b []byte) []byte {
	sum := sha1.Sum(b)
	return hex.AppendEncode(dst, sum[:])
}

func sha256Raw(dst, b []byte) []byte {
	sum := sha256.Sum256(b)
	return append(dst, sum[:]...)
}

func sha256Hex(dst, b []byte) []byte {
	sum := sha256.Sum256(b)
	return hex.AppendEncode(dst, sum[:])
}

func crc32Raw(dst, b []byte) []byte {
	return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(b))
}

func crc32Hex(dst, b []byte) []byte {
	var sum [4]byte
	binary.BigEndian.PutUint32(sum[:], crc32.ChecksumIEEE(b))
	return hex.AppendEncode(dst, sum[:])
}

func murmur3Raw(dst, b []byte) []byte {
	return binary.BigEndian.AppendUint32(dst, uint32(murmur3(b, 0)))
}

func murmur3Hex(dst, b []byte) []byte {
	var sum [4]byte
	binary.BigEndian.PutUint32(sum[:], uint32(murmur3(b, 0)))
	return hex.AppendEncode(dst, sum[:])
}
