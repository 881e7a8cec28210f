package charset

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// mark is the byte order mark, decoded.
const mark = "\ufeff"

// evident is the factor by which one byte order must give more ASCII characters than the other. With swapped bytes, some common characters become ASCII:
// U+3000 and U+4E00 become 0 and N.
const evident = 2

// markOf returns the byte order of a mark at the start of p, or nil.
func markOf(p []byte) binary.ByteOrder {
	if len(p) >= 2 {
		switch {
		case p[0] == 0xff && p[1] == 0xfe:
			return binary.LittleEndian
		case p[0] == 0xfe && p[1] == 0xff:
			return binary.BigEndian
		}
	}
	return nil
}

// orders counts the code units of p that are ASCII characters common in tables, once read with the low byte first (little) and once with it last (big).
func orders(p []byte) (little, big int) {
	common := func(b byte) bool { return b == '\t' || b == '\n' || b == '\r' || 0x20 <= b && b < 0x7f }
	for ; len(p) >= 2; p = p[2:] {
		switch {
		case p[1] == 0 && common(p[0]):
			little++
		case p[0] == 0 && common(p[1]):
			big++
		}
	}
	return little, big
}

// ordered returns the UTF-16 set with a byte order.
func ordered(order binary.ByteOrder) *Charset {
	name := "utf-16le"
	if order == binary.BigEndian {
		name = "utf-16be"
	}
	c, _ := Lookup(name)
	return c
}

// guessOrder returns the set of a UTF-16 text without a mark, nil for an empty text. Text is an error unless it is evidently little endian.
func guessOrder(p []byte) (*Charset, error) {
	little, big := orders(p)
	switch {
	case len(p) == 0:
		return nil, nil
	case little > evident*big:
		return ordered(binary.LittleEndian), nil
	case big > evident*little:
		return nil, fmt.Errorf("no byte order mark, and %d ASCII characters in the first %d bytes are big endian, %d little endian; declare utf-16be", big, len(p), little)
	}
	return nil, errors.New("no byte order mark, and neither order of bytes is evident from the first bytes; declare utf-16le or utf-16be")
}
