package parquet

import (
	"bytes"
	"encoding/base64"
	"errors"
	"math"
	"strconv"
	"time"

	"bulkload/internal/formats/valuetext"
)

// Basic types of VARIANTs, in the lowest two bits of a value.
const (
	variantPrimitive = 0
	variantShort     = 1 // a string whose length is in the same byte
	variantObject    = 2
	variantArray     = 3
)

// maxVariantDepth is the largest nesting depth of values.
const maxVariantDepth = 500

var errVariantValue = errors.New("a VARIANT is damaged")

// littleEndian returns the number in the first n bytes of b, at most eight.
func littleEndian(b []byte, n int) (v uint64) {
	for i := n - 1; i >= 0; i-- {
		v = (v << 8) | uint64(b[i])
	}
	return v
}

// variantNames is the metadata of a VARIANT: the names of the fields of its objects.
//
//	+-------------------------------+-------+--------------+---------+
//	| version 1, width of an offset | count | count + 1    | strings |
//	| in the highest two bits       |       | offsets      |         |
//	+-------------------------------+-------+--------------+---------+
type variantNames struct {
	offsets, strings []byte
	width            int
	count            uint64
}

func parseVariantNames(b []byte) (m variantNames, err error) {
	if len(b) == 0 || (b[0]&0xf) != 1 {
		return m, errors.New("the metadata of a VARIANT is of a version that is not known")
	}
	m.width = int(b[0]>>6) + 1
	b = b[1:]
	if len(b) < m.width {
		return m, errVariantValue
	}
	m.count = littleEndian(b, m.width)
	b = b[m.width:]
	if size := (m.count + 1) * uint64(m.width); size <= uint64(len(b)) {
		m.offsets, m.strings = b[:size], b[size:]
		return m, nil
	}
	return m, errVariantValue
}

func (m *variantNames) name(id uint64) ([]byte, error) {
	if id >= m.count {
		return nil, errVariantValue
	}
	at := m.offsets[id*uint64(m.width):]
	from, to := littleEndian(at, m.width), littleEndian(at[m.width:], m.width)
	if from > to || to > uint64(len(m.strings)) {
		return nil, errVariantValue
	}
	return m.strings[from:to], nil
}

// A variantWriter writes values of one VARIANT as JSON, as Spark's to_json does.
type variantWriter struct {
	variantNames
	zone *time.Location // of instants
	most int            // largest end of the JSON
}

// value appends the value at the beginning of b.
func (w *variantWriter) value(dst, b []byte, depth int) ([]byte, error) {
	switch {
	case len(dst) > w.most:
		return dst, errLongJSON
	case len(b) == 0 || depth > maxVariantDepth:
		return dst, errVariantValue
	}
	head, rest := b[0]>>2, b[1:]
	switch b[0] & 3 {
	case variantShort:
		if int(head) > len(rest) {
			return dst, errVariantValue
		}
		return valuetext.AppendJSON(dst, rest[:head]), nil
	case variantObject:
		dst = append(dst, '{')
		first := true
		err := w.fields(b, func(name, v []byte) (err error) {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = append(valuetext.AppendJSON(dst, name), ':')
			dst, err = w.value(dst, v, depth+1)
			return err
		})
		return append(dst, '}'), err
	case variantArray:
		items, err := parseItems(rest, 0, int(head&3)+1, (head&4) != 0)
		dst = append(dst, '[')
		for i := uint64(0); i < items.count && err == nil; i++ {
			if i > 0 {
				dst = append(dst, ',')
			}
			var v []byte
			if v, err = items.value(i); err == nil {
				dst, err = w.value(dst, v, depth+1)
			}
		}
		return append(dst, ']'), err
	}
	return w.primitive(dst, int(head), rest)
}

// fields calls each with every field of an object, in their order.
func (w *variantWriter) fields(b []byte, each func(name, v []byte) error) error {
	if len(b) == 0 || (b[0]&3) != variantObject {
		return errVariantValue
	}
	head := b[0] >> 2
	items, err := parseItems(b[1:], int((head>>2)&3)+1, int(head&3)+1, (head&16) != 0)
	for i := uint64(0); i < items.count && err == nil; i++ {
		var name, v []byte
		if name, err = w.name(littleEndian(items.ids[i*uint64(items.idWidth):], items.idWidth)); err == nil {
			if v, err = items.value(i); err == nil {
				err = each(name, v)
			}
		}
	}
	return err
}

// variantItems are the values of an array, or of an object with the ids of their names.
type variantItems struct {
	ids, offsets, values []byte
	idWidth, width       int
	count                uint64
}

func parseItems(b []byte, idWidth, width int, large bool) (m variantItems, err error) {
	m.idWidth, m.width = idWidth, width
	size := 1
	if large {
		size = 4
	}
	if len(b) < size {
		return m, errVariantValue
	}
	count := littleEndian(b, size)
	b = b[size:]
	ids := count * uint64(idWidth)
	offsets := (count + 1) * uint64(width)
	if ids+offsets > uint64(len(b)) {
		return m, errVariantValue
	}
	m.ids, m.offsets, m.values, m.count = b[:ids], b[ids:ids+offsets], b[ids+offsets:], count
	return m, nil
}

// value returns the bytes from the beginning of value i.
func (m *variantItems) value(i uint64) ([]byte, error) {
	at := littleEndian(m.offsets[i*uint64(m.width):], m.width)
	if at >= uint64(len(m.values)) {
		return nil, errVariantValue
	}
	return m.values[at:], nil
}

// Types of single values.
const (
	variantNull = iota
	variantTrue
	variantFalse
	variantInt8
	variantInt16
	variantInt32
	variantInt64
	variantDouble
	variantDecimal4
	variantDecimal8
	variantDecimal16
	variantDate
	variantInstant
	variantLocal
	variantFloat
	variantBinary
	variantString
	variantTime
	variantInstantNanos
	variantLocalNanos
	variantUUID
)

// variantSizes are the sizes of single values in bytes; for bytes and strings, the size of the length before them.
var variantSizes = [...]int{0, 0, 0, 1, 2, 4, 8, 8, 5, 9, 17, 4, 8, 8, 4, 4, 4, 8, 8, 8, 16}

func (w *variantWriter) primitive(dst []byte, kind int, b []byte) ([]byte, error) {
	if kind >= len(variantSizes) {
		return dst, errors.New("a VARIANT has a type that is not known")
	}
	size := variantSizes[kind]
	if size > len(b) {
		return dst, errVariantValue
	}
	signed := int64(littleEndian(b, min(size, 8)))
	if size < 8 {
		shift := 64 - 8*size
		signed = (signed << shift) >> shift
	}
	switch kind {
	case variantNull:
		return append(dst, "null"...), nil
	case variantTrue, variantFalse:
		return strconv.AppendBool(dst, kind == variantTrue), nil
	case variantInt8, variantInt16, variantInt32, variantInt64:
		return strconv.AppendInt(dst, signed, 10), nil
	case variantDouble:
		return appendJava(dst, math.Float64frombits(uint64(signed)), 64), nil
	case variantFloat:
		return appendJava(dst, float64(math.Float32frombits(uint32(signed))), 32), nil
	case variantDecimal4, variantDecimal8, variantDecimal16:
		if b[0] > 38 {
			return dst, errVariantValue
		}
		return appendShortDecimal(dst, b[1:size], int(b[0])), nil
	case variantBinary, variantString:
		n := littleEndian(b, 4)
		switch {
		case n > uint64(len(b)-4):
			return dst, errVariantValue
		case int64(n) > int64(w.most-len(dst)):
			return dst, errLongJSON
		}
		if kind == variantString {
			return valuetext.AppendJSON(dst, b[4:4+n]), nil
		}
		return append(base64.StdEncoding.AppendEncode(append(dst, '"'), b[4:4+n]), '"'), nil
	}
	dst = append(dst, '"')
	switch kind {
	case variantDate:
		dst = valuetext.AppendDate(dst, signed)
	case variantTime:
		dst = valuetext.AppendClock(dst, valuetext.FloorDiv(signed, 1e6), valuetext.FloorMod(signed, 1e6), 1e6)
	case variantUUID:
		dst = valuetext.AppendUUID(dst, b[:16])
	case variantInstant, variantInstantNanos:
		dst = appendOffsetTime(dst, signed, variantUnit(kind), w.zone)
	default:
		unit := variantUnit(kind)
		dst = valuetext.AppendInstant(dst, valuetext.FloorDiv(signed, unit), valuetext.FloorMod(signed, unit), unit, nil)
	}
	return append(dst, '"'), nil
}

// variantUnit returns the number of units per second of a timestamp.
func variantUnit(kind int) int64 {
	if kind >= variantInstantNanos {
		return 1e9
	}
	return 1e6
}

// appendOffsetTime writes an instant in a zone, with its offset from UTC.
func appendOffsetTime(dst []byte, v, unit int64, zone *time.Location) []byte {
	second := valuetext.FloorDiv(v, unit)
	dst = valuetext.AppendInstant(dst, second, valuetext.FloorMod(v, unit), unit, zone)
	offset := 0
	if zone != nil {
		_, offset = time.Unix(second, 0).In(zone).Zone()
	}
	sign := byte('+')
	if offset < 0 {
		sign, offset = '-', -offset
	}
	dst = valuetext.AppendPadded(append(dst, sign), uint64(offset/3600), 2)
	return valuetext.AppendPadded(append(dst, ':'), uint64(offset/60%60), 2)
}

// appendShortDecimal writes a little-endian decimal without zeros at the end of its fraction.
func appendShortDecimal(dst, b []byte, scale int) []byte {
	var high [16]byte
	for i, v := range b {
		high[len(b)-1-i] = v
	}
	return trimZeros(valuetext.AppendDecimal(dst, high[:len(b)], scale), scale)
}

// trimZeros removes zeros from the end of a fraction of scale digits.
func trimZeros(dst []byte, scale int) []byte {
	if scale == 0 {
		return dst
	}
	return bytes.TrimSuffix(bytes.TrimRight(dst, "0"), []byte{'.'})
}

// appendJava writes a number as Java does: with a point, and an exponent below 1e-3 and from 1e7 up.
func appendJava(dst []byte, f float64, size int) []byte {
	a := math.Abs(f)
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return append(valuetext.AppendFloat(append(dst, '"'), f, size), '"')
	case a == 0 || a >= 1e-3 && a < 1e7:
		start := len(dst)
		if dst = strconv.AppendFloat(dst, f, 'f', -1, size); bytes.IndexByte(dst[start:], '.') < 0 {
			dst = append(dst, ".0"...)
		}
		return dst
	}
	var buf [32]byte
	mantissa, exponent, _ := bytes.Cut(strconv.AppendFloat(buf[:0], f, 'e', -1, size), []byte{'e'})
	if dst = append(dst, mantissa...); bytes.IndexByte(mantissa, '.') < 0 {
		dst = append(dst, ".0"...)
	}
	n, _ := strconv.Atoi(string(exponent)) // written by AppendFloat: valid
	return strconv.AppendInt(append(dst, 'E'), int64(n), 10)
}
