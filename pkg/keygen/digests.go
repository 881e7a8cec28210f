package keygen

import (
	"bytes"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"math/bits"
	"unicode/utf8"
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

// saltOp appends |hash mod n|: in decimal with leading zeros, or as one byte.
type saltOp struct {
	in    *input
	n     int64
	width int  // 0: one byte
	sign  bool // the byte keeps the sign of the remainder
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

// salted compiles a salt of Java's hash: in decimal, or as one byte, n at most 256, which may keep the sign of the remainder.
func salted(text, sign bool) func(*compiler, Call) (op, error) {
	return func(c *compiler, call Call) (op, error) {
		most := 256
		if text {
			most = maxModulus
		}
		n, err := c.modulus(call, most)
		if err != nil {
			return nil, err
		}
		in, err := c.input(call.Args, true)
		s := &saltOp{in: in, n: int64(n), sign: sign, fn: javaHash}
		if text {
			s.width = decimals(s.n - 1)
		}
		return s, err
	}
}

// compileSpread makes a salt of murmur3, taken as unsigned: String.hashCode of ascending keys ascends too, so their salts would not look
// random.
func compileSpread(c *compiler, call Call) (op, error) {
	n := modulusOf(call, spreadDefault)
	in, err := c.input(call.Args, false)
	return &saltOp{in: in, n: int64(n), width: decimals(int64(n) - 1), fn: func(b []byte) int64 { return int64(uint32(murmur3(b, 0))) }}, err
}

// digestOp appends a digest. It remembers the last one, because the rows of a query key are often consecutive in an export.
type digestOp struct {
	in   *input
	sum  func(dst, text []byte) []byte
	hex  bool // in lower-case digits
	last []byte
	raw  []byte
	out  []byte
}

func digest(sum func(dst, text []byte) []byte, hex bool) func(*compiler, Call) (op, error) {
	return func(c *compiler, call Call) (op, error) {
		in, err := c.input(call.Args, false)
		return &digestOp{in: in, sum: sum, hex: hex}, err
	}
}

func (d *digestOp) append(dst []byte, fields [][]byte) ([]byte, error) {
	b, err := d.in.bytes(fields)
	if err != nil {
		return dst, err
	}
	if len(d.out) == 0 || !bytes.Equal(b, d.last) {
		if d.raw = d.sum(d.raw[:0], b); d.hex {
			d.out = hex.AppendEncode(d.out[:0], d.raw)
		} else {
			d.out = append(d.out[:0], d.raw...)
		}
		d.last = append(d.last[:0], b...)
	}
	return append(dst, d.out...), nil
}

func md5Raw(dst, b []byte) []byte {
	sum := md5.Sum(b)
	return append(dst, sum[:]...)
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

func sha256Raw(dst, b []byte) []byte {
	sum := sha256.Sum256(b)
	return append(dst, sum[:]...)
}

func crc32Raw(dst, b []byte) []byte {
	return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(b))
}

func murmur3Raw(dst, b []byte) []byte {
	return binary.BigEndian.AppendUint32(dst, uint32(murmur3(b, 0)))
}

// murmur3 returns MurmurHash3_x86_32 of the bytes: the result of HBase's org.apache.hadoop.hbase.util.MurmurHash3 with seed as its initval,
// and of Guava's Hashing.murmur3_32_fixed(seed) for bytes.
func murmur3(b []byte, seed uint32) int32 {
	const c1, c2 = 0xcc9e2d51, 0x1b873593
	h, n := seed, len(b)
	for ; len(b) >= 4; b = b[4:] {
		k := binary.LittleEndian.Uint32(b)
		h ^= bits.RotateLeft32(k*c1, 15) * c2
		h = bits.RotateLeft32(h, 13)*5 + 0xe6546b64
	}
	k := uint32(0)
	for i := len(b) - 1; i >= 0; i-- {
		k = k<<8 | uint32(b[i])
	}
	h ^= bits.RotateLeft32(k*c1, 15) * c2
	h ^= uint32(n)
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return int32(h ^ h>>16)
}

// JavaHash returns Java's String.hashCode of a UTF-8 text: over UTF-16 units, wrapping in 32 bits. Each byte that is not UTF-8 counts as
// U+FFFD, where Java decodes a cut sequence to a single one; keys reject such bytes before.
func JavaHash(text []byte) int32 {
	h := int32(0)
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			h = h*31 + int32(c)
			i++
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		i += n
		if r >= 0x10000 {
			r -= 0x10000
			h = h*31 + 0xd800 + (r >> 10)
			r = 0xdc00 + r&0x3ff
		}
		h = h*31 + r
	}
	return h
}
