package keygen

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
)

// decimalOp appends an integer in decimal.
type decimalOp struct{ n number }

func (d decimalOp) append(dst []byte, fields [][]byte) ([]byte, error) {
	v, err := d.n.value(fields)
	return strconv.AppendInt(dst, v, 10), err
}

// textNumber reads an integer from text.
type textNumber struct{ in *input }

func (t *textNumber) value(fields [][]byte) (int64, error) {
	b, err := t.in.bytes(fields)
	if err != nil {
		return 0, err
	}
	v, err := parseInt(b)
	if err != nil {
		return 0, t.in.fail(valueError(b, "is %w", err))
	}
	return v, nil
}

// parseInt is strconv.ParseInt for bytes, without the allocation of a string.
func parseInt(b []byte) (int64, error) {
	digits, negative := b, false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		digits, negative = b[1:], b[0] == '-'
	}
	if len(digits) == 0 {
		return 0, ErrNumber
	}
	v := uint64(0)
	over := false
	for _, c := range digits {
		if !isDigit(c) {
			return 0, ErrNumber
		}
		over = over || v > math.MaxInt64/10
		v = v*10 + uint64(c-'0')
	}
	switch {
	case over || v > 1<<63 || v == 1<<63 && !negative:
		return 0, fmt.Errorf("a %w of 64 bits", ErrRange)
	case negative:
		return -int64(v), nil
	}
	return int64(v), nil
}

// appendPadded appends a v that is not negative, with leading zeros up to the width.
func appendPadded(dst []byte, v int64, width int) []byte {
	at := len(dst)
	for range width {
		dst = append(dst, '0')
	}
	for i := len(dst) - 1; v > 0 && i >= at; i-- {
		dst[i] = byte('0' + v%10)
		v /= 10
	}
	return dst
}

// mapNumber is a function of one integer.
type mapNumber struct {
	in  number
	arg int64
	fn  func(v, arg int64) (int64, error)
}

func (m *mapNumber) value(fields [][]byte) (int64, error) {
	v, err := m.in.value(fields)
	if err != nil {
		return 0, err
	}
	return m.fn(v, m.arg)
}

func mapped(fn func(v, arg int64) (int64, error)) func(*compiler, Call) (number, error) {
	return func(c *compiler, call Call) (number, error) {
		in, err := c.number(call.Args[0])
		m := &mapNumber{in: in, fn: fn}
		if len(call.Ints) > 0 {
			m.arg = int64(call.Ints[0])
		}
		return m, err
	}
}

func identity(v, _ int64) (int64, error) { return v, nil }

// remainder has the sign of v, as in Java and Go.
func remainder(v, n int64) (int64, error) { return v % n, nil }

func absolute(v, _ int64) (int64, error) {
	if v == math.MinInt64 {
		return 0, &FieldError{Err: valueError(strconv.AppendInt(nil, v, 10), "has in abs a %w of 64 bits", ErrRange)}
	}
	return max(v, -v), nil
}

// toShort converts like Java's (short).
func toShort(v, _ int64) (int64, error) { return int64(int16(v)), nil }

// longHash returns Java's Long.hashCode.
func longHash(v, _ int64) (int64, error) { return int64(int32(uint64(v) ^ uint64(v)>>32)), nil }

// numberOp appends bytes that are made from an integer.
type numberOp struct {
	in  number
	arg int
	fn  func(dst []byte, v int64, arg int) ([]byte, error)
}

func (n *numberOp) append(dst []byte, fields [][]byte) ([]byte, error) {
	v, err := n.in.value(fields)
	if err != nil {
		return dst, err
	}
	return n.fn(dst, v, n.arg)
}

func fromNumber(fn func(dst []byte, v int64, arg int) ([]byte, error)) func(*compiler, Call) (op, error) {
	return func(c *compiler, call Call) (op, error) {
		in, err := c.number(call.Args[0])
		n := &numberOp{in: in, fn: fn}
		if len(call.Ints) > 0 {
			n.arg = call.Ints[0]
		}
		if err == nil {
			n.fn = named(fn, call.Args[0])
		}
		return n, err
	}
}

// named adds the name of the column to errors of fn.
func named(fn func([]byte, int64, int) ([]byte, error), arg Expr) func([]byte, int64, int) ([]byte, error) {
	names := Columns(arg)
	if len(names) != 1 {
		return fn
	}
	return func(dst []byte, v int64, n int) ([]byte, error) {
		dst, err := fn(dst, v, n)
		if f, ok := err.(*FieldError); ok && f.Column == "" {
			f.Column = names[0]
		}
		return dst, err
	}
}

// appendLong appends HBase's Bytes.toBytes(long).
func appendLong(dst []byte, v int64, _ int) ([]byte, error) {
	return binary.BigEndian.AppendUint64(dst, uint64(v)), nil
}

// appendInt appends HBase's Bytes.toBytes(int).
func appendInt(dst []byte, v int64, _ int) ([]byte, error) {
	if v != int64(int32(v)) {
		return dst, &FieldError{Err: valueError(strconv.AppendInt(nil, v, 10), "is a %w of 32 bits", ErrRange)}
	}
	return binary.BigEndian.AppendUint32(dst, uint32(v)), nil
}

// latest returns Long.MAX_VALUE − t: later times sort first.
func latest(t int64) (int64, error) {
	if t < 0 {
		return 0, &FieldError{Err: valueError(strconv.AppendInt(nil, t, 10), "is a time in ms before 1970: %w", ErrRange)}
	}
	return math.MaxInt64 - t, nil
}

func appendRevTime(dst []byte, t int64, _ int) ([]byte, error) {
	v, err := latest(t)
	return appendPadded(dst, v, 19), err
}

func appendRevTimeRaw(dst []byte, t int64, _ int) ([]byte, error) {
	v, err := latest(t)
	return binary.BigEndian.AppendUint64(dst, uint64(v)), err
}
