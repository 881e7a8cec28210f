package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"

	"bulkload/pkg/setting"
)

// encoding is the encoding of a page's values, with the numbers of parquet.thrift.
type encoding int32

const (
	encPlain           encoding = 0
	encPlainDict       encoding = 2
	encRLE             encoding = 3
	encBitPacked       encoding = 4 // of levels, in old files
	encDeltaBinary     encoding = 5
	encDeltaLength     encoding = 6
	encDeltaBytes      encoding = 7
	encRLEDict         encoding = 8
	encByteStreamSplit encoding = 9
)

const (
	pageData       = 0
	pageDictionary = 2
	pageDataV2     = 3
)

// pageHeader has the required fields of a PageHeader of parquet.thrift.
type pageHeader struct {
	kind             int32
	unpacked, packed int // bytes
	crc              uint32
	hasCRC           bool
	values           int // nulls included
	encoding         encoding
	defEncoding      encoding // data page V1
	repEncoding      encoding // data page V1
	defLen, repLen   int      // data page V2
	plainV2          bool     // data page V2 that is not compressed
}

var errShortHeader = errors.New("the page header is cut off or damaged")

// parsePageHeader reads a page header, in Thrift's compact protocol, and returns its length.
func parsePageHeader(b []byte) (pageHeader, int, error) {
	t := thrift{b: b}
	h := pageHeader{kind: -1, encoding: -1}
	unpacked, packed, values := int64(-1), int64(-1), int64(-1)
	var defLen, repLen int64
	t.structure(func(id int16, typ byte) {
		switch {
		case id == 1 && typ == thriftI32:
			h.kind = int32(t.int())
		case id == 2 && typ == thriftI32:
			unpacked = t.int()
		case id == 3 && typ == thriftI32:
			packed = t.int()
		case id == 4 && typ == thriftI32:
			h.crc, h.hasCRC = uint32(t.int()), true
		case (id == 5 || id == 7 || id == 8) && typ == thriftStruct:
			page := id
			t.structure(func(id int16, typ byte) {
				v2 := page == 8
				switch {
				case id == 1 && typ == thriftI32:
					values = t.int()
				case typ == thriftI32 && (id == 2 && !v2 || id == 4 && v2):
					h.encoding = encoding(t.int())
				case typ == thriftI32 && id == 3 && page == 5:
					h.defEncoding = encoding(t.int())
				case typ == thriftI32 && id == 4 && page == 5:
					h.repEncoding = encoding(t.int())
				case typ == thriftI32 && id == 5 && v2:
					defLen = t.int()
				case typ == thriftI32 && id == 6 && v2:
					repLen = t.int()
				case (typ == thriftTrue || typ == thriftFalse) && id == 7 && v2:
					h.plainV2 = typ == thriftFalse
				default:
					t.skip(1, typ)
				}
			})
		default:
			t.skip(0, typ)
		}
	})
	if t.bad {
		return h, 0, errShortHeader
	}
	switch {
	case unpacked < 0 || packed < 0 || unpacked > maxPage || packed > maxPage:
		return h, 0, fmt.Errorf("a page of %s, packed into %d: these sizes are impossible", setting.Count(unpacked, "byte"), packed)
	case (h.kind == pageData || h.kind == pageDictionary || h.kind == pageDataV2) && (values < 0 || h.encoding < 0):
		return h, 0, errors.New("the page header does not say how many values the page has")
	case defLen < 0 || repLen < 0 || defLen+repLen > unpacked || defLen+repLen > packed:
		return h, 0, errors.New("the levels are longer than the page")
	}
	h.unpacked, h.packed, h.values = int(unpacked), int(packed), int(values)
	h.defLen, h.repLen = int(defLen), int(repLen)
	return h, t.at, nil
}

// Types of the compact protocol.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
)

// thrift reads Thrift's compact protocol. A fault sets bad and ends the reading; the results are then invalid.
type thrift struct {
	b   []byte
	at  int
	bad bool
	// room is the number of bytes of memory that the elements of lists may still take. Below zero, the reading ends too.
	room int64
}

const thriftDepth = 16

func (t *thrift) byte() byte {
	if t.at >= len(t.b) {
		t.bad = true
		return 0
	}
	t.at++
	return t.b[t.at-1]
}

func (t *thrift) uvarint() uint64 {
	v, n := binary.Uvarint(t.b[min(t.at, len(t.b)):])
	if n <= 0 {
		t.bad = true
		return 0
	}
	t.at += n
	return v
}

// int reads a zigzag number.
func (t *thrift) int() int64 {
	v := t.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

func (t *thrift) advance(n uint64) {
	if n > uint64(len(t.b)-t.at) {
		t.bad = true
		return
	}
	t.at += int(n)
}

// binary reads bytes, without copying them.
func (t *thrift) binary() []byte {
	n := t.uvarint()
	at := t.at
	if t.advance(n); t.bad {
		return nil
	}
	return t.b[at:t.at]
}

// list reads a list and calls element for each of its elements. element must read it. Every element has at least one byte.
func (t *thrift) list(element func(typ byte)) {
	head := t.byte()
	n := uint64(head >> 4)
	if n == 15 {
		n = t.uvarint()
	}
	if n > uint64(len(t.b)-t.at) {
		t.bad = true
	}
	for range n {
		if t.bad {
			return
		}
		element(head & 0x0f)
	}
}

// structures reads a list of structs and calls element for each, which takes cost bytes of memory. element must read it.
func (t *thrift) structures(cost int64, element func()) {
	t.list(func(typ byte) {
		if t.room -= cost; typ != thriftStruct || t.room < 0 {
			t.bad = true
			return
		}
		element()
	})
}

// structure reads a struct and calls field for each of its fields. field must read or skip it.
func (t *thrift) structure(field func(id int16, typ byte)) {
	id := int16(0)
	for !t.bad {
		head := t.byte()
		if head == 0 {
			return
		}
		if delta := head >> 4; delta != 0 {
			id += int16(delta)
		} else {
			id = int16(t.int())
		}
		field(id, head&0x0f)
	}
}

func (t *thrift) skip(depth int, typ byte) {
	if depth > thriftDepth {
		t.bad = true
	}
	if t.bad {
		return
	}
	switch typ {
	case thriftTrue, thriftFalse:
	case thriftByte:
		t.advance(1)
	case thriftI16, thriftI32, thriftI64:
		t.uvarint()
	case thriftDouble:
		t.advance(8)
	case thriftBinary:
		t.advance(t.uvarint())
	case thriftList, thriftSet:
		head := t.byte()
		n := uint64(head >> 4)
		if n == 15 {
			n = t.uvarint()
		}
		t.elements(depth, n, head&0x0f)
	case thriftMap:
		n := t.uvarint()
		if n == 0 {
			return
		}
		types := t.byte()
		for range n {
			t.elements(depth, 1, types>>4)
			t.elements(depth, 1, types&0x0f)
			if t.bad {
				return
			}
		}
	case thriftStruct:
		t.structure(func(_ int16, typ byte) { t.skip(depth+1, typ) })
	default:
		t.bad = true
	}
}

// elements skips n elements of a collection. A bool in a collection has one byte.
func (t *thrift) elements(depth int, n uint64, typ byte) {
	for range n {
		if t.bad {
			return
		}
		if typ == thriftTrue || typ == thriftFalse {
			t.advance(1)
		} else {
			t.skip(depth+1, typ)
		}
	}
}
