package hfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// ErrCorrupt is wrapped by every error about bytes that are not valid in an HFile.
var ErrCorrupt = errors.New("damaged hfile")

// errNotHFile is the error for a file of another kind. It matches ErrCorrupt too.
var errNotHFile error = notHFile{}

type notHFile struct{}

func (notHFile) Error() string        { return "not an HFile" }
func (notHFile) Is(target error) bool { return target == ErrCorrupt }

// decbuf reads numbers and bytes from a slice. After the first failed read,
// every read returns zero and err describes the failure.
type decbuf struct {
	b   []byte
	at  int
	err error
}

func (d *decbuf) fail(what string) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %s at position %d of %d", ErrCorrupt, what, d.at, len(d.b))
	}
}

func (d *decbuf) bytes(n int) []byte {
	if d.err != nil || n < 0 || n > len(d.b)-d.at {
		d.fail(fmt.Sprintf("%d bytes wanted", n))
		return nil
	}
	b := d.b[d.at : d.at+n : d.at+n]
	d.at += n
	return b
}

func (d *decbuf) u8() byte {
	if b := d.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decbuf) u16() int {
	if b := d.bytes(2); b != nil {
		return int(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (d *decbuf) i32() int {
	if b := d.bytes(4); b != nil {
		return int(int32(binary.BigEndian.Uint32(b)))
	}
	return 0
}

func (d *decbuf) i64() int64 {
	if b := d.bytes(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// uvarint reads an unsigned LEB128 number of up to 64 bits.
func (d *decbuf) uvarint() uint64 {
	if d.err != nil {
		return 0
	}
	v, n := binary.Uvarint(d.b[d.at:])
	if n <= 0 {
		d.fail("a number is cut off or too long")
		return 0
	}
	d.at += n
	return v
}

// length reads a LEB128 number that is a length or size: at most 2³¹−1.
func (d *decbuf) length() int {
	if d.err == nil && d.at < len(d.b) && d.b[d.at] < 0x80 {
		d.at++
		return int(d.b[d.at-1])
	}
	v := d.uvarint()
	if v > 1<<31-1 {
		d.fail("a length is over 2^31")
		return 0
	}
	if d.err == nil && d.b[d.at-1] == 0 {
		d.fail("a length takes more bytes than it needs")
		return 0
	}
	return int(v)
}

func (d *decbuf) vlong() int64 {
	if d.err != nil {
		return 0
	}
	v, n := readVlong(d.b[d.at:])
	if n == 0 {
		d.fail("a vlong is cut off")
		return 0
	}
	if n > 1 && n != vlongSize(v) {
		d.fail("a vlong takes more bytes than it needs")
		return 0
	}
	d.at += n
	return v
}

// vbytes reads a vlong length and as many bytes.
func (d *decbuf) vbytes() []byte {
	n := d.vlong()
	if n < 0 || n > int64(len(d.b)) {
		d.fail(fmt.Sprintf("a length is %d", n))
		return nil
	}
	return d.bytes(int(n))
}

func (d *decbuf) rest() int { return len(d.b) - d.at }

// protoFields calls f for each field of a protobuf message, whose fields must
// be varint or length-delimited.
func protoFields(b []byte, f func(number int, v uint64, bytes []byte)) error {
	d := &decbuf{b: b}
	for d.rest() > 0 && d.err == nil {
		tag := d.uvarint()
		switch tag & 7 {
		case 0:
			v := d.uvarint()
			if d.err == nil {
				f(int(tag>>3), v, nil)
			}
		case 2:
			v := d.bytes(d.length())
			if d.err == nil {
				f(int(tag>>3), 0, v)
			}
		default:
			d.fail(fmt.Sprintf("protobuf wire type %d", tag&7))
		}
	}
	return d.err
}

// appendLEB appends v in LEB128: 7 bits per byte, low bits first. Values are lengths,
// so v is never negative except for trailer offsets, where -1 takes ten bytes.
func appendLEB(dst []byte, v int) []byte {
	if uint(v) < 0x80 {
		return append(dst, byte(v))
	}
	return binary.AppendUvarint(dst, uint64(v))
}

// appendVlong appends v as Hadoop's WritableUtils.writeVLong does.
func appendVlong(dst []byte, v int64) []byte {
	if v >= -112 && v <= 127 {
		return append(dst, byte(v))
	}
	first := -112
	if v < 0 {
		v = ^v
		first = -120
	}
	n := (bits.Len64(uint64(v)) + 7) / 8
	dst = append(dst, byte(first-n))
	for i := n - 1; i >= 0; i-- {
		dst = append(dst, byte(v>>(8*i)))
	}
	return dst
}

// vlongSize returns the number of bytes that appendVlong writes for v.
func vlongSize(v int64) int {
	if v >= -112 && v <= 127 {
		return 1
	}
	if v < 0 {
		v = ^v
	}
	return 1 + (bits.Len64(uint64(v))+7)/8
}

// readVlong reads a number written by appendVlong and returns the number of
// bytes read, 0 if b is too short.
func readVlong(b []byte) (v int64, n int) {
	if len(b) == 0 {
		return 0, 0
	}
	first := int8(b[0])
	if first >= -112 {
		return int64(first), 1
	}
	size := int(-112 - int(first))
	negative := first < -120
	if negative {
		size = int(-120 - int(first))
	}
	if len(b) < 1+size {
		return 0, 0
	}
	for _, x := range b[1 : 1+size] {
		v = v<<8 | int64(x)
	}
	if negative {
		v = ^v
	}
	return v, 1 + size
}
