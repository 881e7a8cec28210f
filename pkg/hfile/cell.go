package hfile

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"strconv"
)

// Type is the type of a cell, with HBase's codes (KeyValue.Type).
type Type byte

// The cell types that a file can hold. Bulk loads usually hold only puts.
const (
	Put                 Type = 4
	Delete              Type = 8  // hides the version of its own timestamp
	DeleteFamilyVersion Type = 10 // hides all columns of the family at its own timestamp
	DeleteColumn        Type = 12 // hides all versions up to its timestamp
	DeleteFamily        Type = 14 // hides all columns of the family up to its timestamp

	// typeMaximum occurs only in synthetic index and Bloom keys.
	typeMaximum Type = 255
)

// LatestTimestamp is HBase's HConstants.LATEST_TIMESTAMP. In a request it means
// "now", in a synthetic key "before every version".
const LatestTimestamp = math.MaxInt64

// typeNames holds HBase's names of the types.
var typeNames = [256]string{Put: "Put", Delete: "Delete", DeleteFamilyVersion: "DeleteFamilyVersion", DeleteColumn: "DeleteColumn",
	DeleteFamily: "DeleteFamily", typeMaximum: "Maximum"}

// String returns HBase's name of the type.
func (t Type) String() string {
	if name := typeNames[t]; name != "" {
		return name
	}
	return fmt.Sprintf("Type(%d)", byte(t))
}

// ParseType is the inverse of [Type.String] for the types that a file can hold.
func ParseType(s string) (Type, error) {
	for _, t := range []Type{Put, Delete, DeleteFamilyVersion, DeleteColumn, DeleteFamily} {
		if s == t.String() {
			return t, nil
		}
	}
	return 0, fmt.Errorf("unknown cell type %q", s)
}

// Limits of a cell (HConstants and KeyValue, 2.6.4). HBase's writer accepts
// 65,535 bytes of tags, but its readers take a length above 32,767 as negative.
const (
	MaxRowLen    = math.MaxInt16
	MaxFamilyLen = math.MaxInt8
	MaxTagsLen   = math.MaxInt16
)

// A Cell is one value of one column of one row at one timestamp. Its slices are
// owned by the code that created it.
type Cell struct {
	Row       []byte // 0 to 32,767 bytes; servers refuse an empty one
	Family    []byte // 1 to 127 bytes, the same in the whole file
	Qualifier []byte // may be empty
	Timestamp int64  // milliseconds since 1970, at least 0
	Type      Type
	Value     []byte // may be empty
	Tags      []byte // concatenated (u16 length of the rest, u8 type, payload), at most 32,767 bytes
}

// Compare returns the order of two cells in a file: negative if a sorts first.
func Compare(a, b *Cell) int {
	if c := bytes.Compare(a.Row, b.Row); c != 0 {
		return c
	}
	if c := bytes.Compare(a.Family, b.Family); c != 0 {
		return c
	}
	if c := bytes.Compare(a.Qualifier, b.Qualifier); c != 0 {
		return c
	}
	if c := cmp.Compare(b.Timestamp, a.Timestamp); c != 0 {
		return c
	}
	return cmp.Compare(b.Type, a.Type)
}

// keyOverhead is the size of a flat key without row, family and qualifier: two
// lengths, the timestamp and the type.
const keyOverhead = 2 + 1 + 8 + 1

// flat is a cell with a contiguous key, as the encoders need it: u16 row length,
// row, u8 family length, family, qualifier, i64 timestamp, u8 type.
type flat struct {
	key    []byte
	rowLen int
	famLen int
	value  []byte
	tags   []byte
}

func (f *flat) row() []byte       { return f.key[2 : 2+f.rowLen] }
func (f *flat) family() []byte    { return f.key[3+f.rowLen : 3+f.rowLen+f.famLen] }
func (f *flat) qualifier() []byte { return f.key[3+f.rowLen+f.famLen : len(f.key)-9] }
func (f *flat) timestamp() int64 {
	return int64(binary.BigEndian.Uint64(f.key[len(f.key)-9:]))
}
func (f *flat) typ() Type { return Type(f.key[len(f.key)-1]) }

// setKey sets f's key from its fields, reusing f.key.
func (f *flat) setKey(row, family, qualifier []byte, ts int64, t Type) {
	f.key = appendKey(f.key[:0], row, family, qualifier, ts, t)
	f.rowLen, f.famLen = len(row), len(family)
}

func appendKey(dst, row, family, qualifier []byte, ts int64, t Type) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(row)))
	dst = append(dst, row...)
	dst = append(dst, byte(len(family)))
	dst = append(dst, family...)
	dst = append(dst, qualifier...)
	dst = binary.BigEndian.AppendUint64(dst, uint64(ts))
	return append(dst, byte(t))
}

// parseKey splits a flat key. The lengths in it must fit its own length.
func parseKey(key []byte) (flat, error) {
	if len(key) < keyOverhead {
		return flat{}, fmt.Errorf("key of %d bytes is shorter than an empty key", len(key))
	}
	rowLen := int(binary.BigEndian.Uint16(key))
	if rowLen+keyOverhead > len(key) {
		return flat{}, fmt.Errorf("row length %d goes past the key of %d bytes", rowLen, len(key))
	}
	famLen := int(key[2+rowLen])
	if rowLen+famLen+keyOverhead > len(key) {
		return flat{}, fmt.Errorf("family length %d goes past the key of %d bytes", famLen, len(key))
	}
	return flat{key: key, rowLen: rowLen, famLen: famLen}, nil
}

// compareFlat orders flat keys like [Compare].
func compareFlat(a, b *flat) int {
	if c := bytes.Compare(a.row(), b.row()); c != 0 {
		return c
	}
	if c := bytes.Compare(a.family(), b.family()); c != 0 {
		return c
	}
	if c := bytes.Compare(a.qualifier(), b.qualifier()); c != 0 {
		return c
	}
	if c := cmp.Compare(b.timestamp(), a.timestamp()); c != 0 {
		return c
	}
	return cmp.Compare(b.typ(), a.typ())
}

// describe formats a key for an error message.
func (f *flat) describe() string {
	return fmt.Sprintf("%q/%s:%q/%d/%s", f.row(), f.family(), f.qualifier(), f.timestamp(), f.typ())
}

// commonPrefix returns the number of leading bytes that a and b share.
func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:])
		if x != 0 {
			return i + bits.TrailingZeros64(x)>>3
		}
	}
	for ; i < n && a[i] == b[i]; i++ {
	}
	return i
}

func (f *flat) setFlat(from *flat) {
	f.key = append(f.key[:0], from.key...)
	f.rowLen, f.famLen = from.rowLen, from.famLen
}

// AppendCellText appends a cell as one line of text without a line end. Its fields
// are separated by tabs: row, family and qualifier in base64, the timestamp, the
// type's name, the value in base64 and, if the cell has any, its tags in base64.
func AppendCellText(dst []byte, c *Cell) []byte {
	e := base64.StdEncoding
	dst = append(e.AppendEncode(dst, c.Row), '\t')
	dst = append(e.AppendEncode(dst, c.Family), '\t')
	dst = append(e.AppendEncode(dst, c.Qualifier), '\t')
	dst = append(strconv.AppendInt(dst, c.Timestamp, 10), '\t')
	dst = append(append(dst, c.Type.String()...), '\t')
	dst = e.AppendEncode(dst, c.Value)
	if len(c.Tags) > 0 {
		dst = e.AppendEncode(append(dst, '\t'), c.Tags)
	}
	return dst
}

// ParseCellText reads a line written by [AppendCellText]. The timestamp
// "LATEST" becomes now. The cell owns its slices.
func ParseCellText(line []byte, now int64) (Cell, error) {
	f := bytes.Split(line, []byte{'\t'})
	if len(f) < 6 || len(f) > 7 {
		return Cell{}, fmt.Errorf("cell line has %d fields, not 6 or 7", len(f))
	}
	var c Cell
	for _, part := range []struct {
		dst  *[]byte
		at   int
		name string
	}{{&c.Row, 0, "row"}, {&c.Family, 1, "family"}, {&c.Qualifier, 2, "qualifier"}, {&c.Value, 5, "value"}, {&c.Tags, 6, "tags"}} {
		if part.at >= len(f) {
			continue
		}
		b, err := base64.StdEncoding.AppendDecode(nil, f[part.at])
		if err != nil {
			return Cell{}, fmt.Errorf("%s of the cell line: %w", part.name, err)
		}
		*part.dst = b
	}
	c.Timestamp = now
	if string(f[3]) != "LATEST" {
		ts, err := strconv.ParseInt(string(f[3]), 10, 64)
		if err != nil {
			return Cell{}, fmt.Errorf("timestamp of the cell line: %w", err)
		}
		c.Timestamp = ts
	}
	var err error
	c.Type, err = ParseType(string(f[4]))
	return c, err
}
