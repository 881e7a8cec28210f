package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"bulkload/pkg/setting"
)

// footer has the required fields of a FileMetaData of parquet.thrift. This package parses it because Arrow's library panics on
// logical types and converted types that it does not know.
type footer struct {
	elements []schemaElement // depth first, the root before all
	groups   []footerGroup
	grouped  bool   // it has a list of row groups, which may be empty
	rows     int64  // of all groups; -1: not stated
	writer   string // created_by
	meta     map[string]string
}

// footerGroup is a row group.
type footerGroup struct {
	rows   int64
	chunks []footerChunk // one for each leaf of the schema
}

// footerChunk is a column of a row group.
type footerChunk struct {
	elsewhere        bool // its pages are in another file
	encrypted        bool
	known            bool // it has metadata
	codec            codec
	values           int64 // nulls and empty lists included
	unpacked, packed int64
	data, dictionary int64 // offsets of the first data page and the dictionary; 0: not stated
	indexed          bool  // it has a dictionary encoding
}

// schemaElement is a column or a group of columns; its numbers are those of parquet.thrift.
type schemaElement struct {
	name       string
	physical   int32 // Type; -1: a group
	length     int
	repetition int32
	children   int64
	converted  int32 // ConvertedType; -1: none
	logical    int16 // field of LogicalType; 0: none
	scale      int64 // of a decimal
	unit       int16 // of a time: 1 milliseconds, 2 microseconds, 3 nanoseconds
	instant    bool  // a time is adjusted to UTC
	unsigned   bool
}

// Repetitions of schema elements.
const (
	repRequired = 0
	repOptional = 1
	repRepeated = 2
)

const footerTail = 8 // the footer's length and the magic, at the end of the file

func readFooter(raw io.ReaderAt, size int64, limit Limit) (*footer, error) {
	var tail [footerTail]byte
	if size < int64(len(Magic))+footerTail {
		return nil, damagedFooter("it has %s", setting.Count(size, "byte"))
	}
	if err := ReadAt(raw, tail[:], size-footerTail); err != nil {
		return nil, err
	}
	switch string(tail[4:]) {
	case Magic:
	case EncryptedMagic:
		return nil, errors.New("its footer is encrypted: write it without encryption")
	default:
		return nil, damagedFooter("it does not end with PAR1")
	}
	n := int64(binary.LittleEndian.Uint32(tail[:]))
	if n > size-footerTail-int64(len(Magic)) {
		return nil, damagedFooter("its footer of %s is longer than the file", setting.Count(n, "byte"))
	}
	if n > limit.Bytes {
		return nil, limit.Exceeded("the footer", n, limit.Bytes)
	}
	b := make([]byte, n)
	if err := ReadAt(raw, b, size-footerTail-n); err != nil {
		return nil, err
	}
	return parseFooter(b, limit)
}

func damagedFooter(format string, args ...any) error {
	return fmt.Errorf("it is not a Parquet file, or it is truncated or damaged: %w", fmt.Errorf(format, args...))
}

// ReadAt fills b from the byte at of a file.
func ReadAt(raw io.ReaderAt, b []byte, at int64) error {
	n, err := raw.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read at byte %d: %w", at+int64(n), err)
}

// Approximate bytes of memory of a footer's elements: an element of the schema with its node, a row group, a column of a row group, and
// an entry of the metadata without its texts.
const (
	elementMemory = 256
	groupMemory   = 64
	chunkMemory   = 64
	entryMemory   = 64
)

// parseFooter reads a footer in Thrift's compact protocol. It ignores a signature after the footer. The parsed parts may take as much memory
// as the limit allows for the footer itself.
func parseFooter(b []byte, limit Limit) (*footer, error) {
	t := thrift{b: b, room: limit.Bytes}
	f := &footer{rows: -1, meta: map[string]string{}}
	t.structure(func(id int16, typ byte) {
		switch {
		case id == 2 && typ == thriftList:
			t.structures(elementMemory, func() { f.elements = append(f.elements, t.schemaElement()) })
		case id == 3 && typ == thriftI64:
			f.rows = t.int()
		case id == 4 && typ == thriftList:
			f.grouped = true
			t.structures(groupMemory, func() { f.groups = append(f.groups, t.footerGroup()) })
		case id == 5 && typ == thriftList:
			t.structures(entryMemory, func() { t.keyValue(f.meta) })
		case id == 6 && typ == thriftBinary:
			f.writer = string(t.binary())
		default:
			t.skip(0, typ)
		}
	})
	if t.room < 0 {
		return nil, limit.Exceeded("the footer", limit.Bytes-t.room, limit.Bytes)
	}
	if t.bad {
		return nil, damagedFooter("the footer is damaged at its byte %d", t.at)
	}
	if !f.grouped || f.rows < 0 {
		return nil, damagedFooter("the footer states no row groups, or no number of rows")
	}
	var rows int64
	for i, g := range f.groups {
		if g.rows < 0 {
			return nil, damagedFooter("row group %d has %s", i, setting.Count(g.rows, "row"))
		}
		rows += g.rows
	}
	if rows != f.rows { // a damaged list of row groups may end early and still be well formed
		return nil, damagedFooter("its row groups have %s, its footer states %d", setting.Count(rows, "row"), f.rows)
	}
	return f, nil
}

// keyValue reads an entry of the file's metadata.
func (t *thrift) keyValue(meta map[string]string) {
	var key, value string
	t.structure(func(id int16, typ byte) {
		switch {
		case id == 1 && typ == thriftBinary:
			key = string(t.binary())
		case id == 2 && typ == thriftBinary:
			value = string(t.binary())
		default:
			t.skip(0, typ)
		}
	})
	meta[key] = value
}

func (t *thrift) schemaElement() schemaElement {
	e := schemaElement{physical: -1, converted: -1}
	t.structure(func(id int16, typ byte) {
		switch {
		case id == 1 && typ == thriftI32:
			e.physical = int32(t.int())
		case id == 2 && typ == thriftI32:
			e.length = int(t.int())
		case id == 3 && typ == thriftI32:
			e.repetition = int32(t.int())
		case id == 4 && typ == thriftBinary:
			e.name = string(t.binary())
		case id == 5 && typ == thriftI32:
			e.children = t.int()
		case id == 6 && typ == thriftI32:
			e.converted = int32(t.int())
		case id == 7 && typ == thriftI32:
			e.scale = t.int()
		case id == 10 && typ == thriftStruct:
			t.structure(func(id int16, typ byte) {
				e.logical = id
				t.logicalType(&e, typ)
			})
		default:
			t.skip(0, typ)
		}
	})
	return e
}

// logicalType reads the parameters of an element's logical type.
func (t *thrift) logicalType(e *schemaElement, typ byte) {
	if typ != thriftStruct {
		t.skip(0, typ)
		return
	}
	t.structure(func(id int16, typ byte) {
		switch timed := e.logical == logicalTime || e.logical == logicalTimestamp; {
		case timed && id == 1 && (typ == thriftTrue || typ == thriftFalse):
			e.instant = typ == thriftTrue
		case timed && id == 2 && typ == thriftStruct:
			t.structure(func(id int16, typ byte) {
				e.unit = id
				t.skip(0, typ)
			})
		case e.logical == logicalDecimal && id == 1 && typ == thriftI32:
			e.scale = t.int()
		case e.logical == logicalInteger && id == 2 && (typ == thriftTrue || typ == thriftFalse):
			e.unsigned = typ == thriftFalse
		default:
			t.skip(0, typ)
		}
	})
}

func (t *thrift) footerGroup() (g footerGroup) {
	t.structure(func(id int16, typ byte) {
		switch {
		case id == 1 && typ == thriftList:
			t.structures(chunkMemory, func() { g.chunks = append(g.chunks, t.footerChunk()) })
		case id == 3 && typ == thriftI64:
			g.rows = t.int()
		default:
			t.skip(0, typ)
		}
	})
	return g
}

func (t *thrift) footerChunk() (c footerChunk) {
	t.structure(func(id int16, typ byte) {
		switch {
		case id == 1 && typ == thriftBinary:
			c.elsewhere = len(t.binary()) > 0
		case id == 3 && typ == thriftStruct:
			c.known = true
			t.structure(func(id int16, typ byte) { t.chunkField(&c, id, typ) })
		case id == 8 || id == 9:
			c.encrypted = true
			t.skip(0, typ)
		default:
			t.skip(0, typ)
		}
	})
	return c
}

// chunkField reads a field of a ColumnMetaData.
func (t *thrift) chunkField(c *footerChunk, id int16, typ byte) {
	switch {
	case id == 2 && typ == thriftList:
		t.list(func(typ byte) {
			if typ != thriftI32 {
				t.elements(0, 1, typ)
				return
			}
			e := encoding(t.int())
			c.indexed = c.indexed || e == encPlainDict || e == encRLEDict
		})
	case id == 4 && typ == thriftI32:
		c.codec = codec(t.int())
	case typ != thriftI64:
		t.skip(0, typ)
	case id == 5:
		c.values = t.int()
	case id == 6:
		c.unpacked = t.int()
	case id == 7:
		c.packed = t.int()
	case id == 9:
		c.data = t.int()
	case id == 11:
		c.dictionary = t.int()
	default:
		t.skip(0, typ)
	}
}

// oldSize is the number of bytes by which the stored size of a column may be too small: parquet-mr before 1.2.9 did not count the
// header of the dictionary (PARQUET-816). Arrow's readers add the same number.
const oldSize = 100

var parquetMR = regexp.MustCompile(`^parquet-mr(?: version (\d+)\.(\d+)\.(\d+))?`)

// slack returns the number of bytes by which a column may be longer than its stored size.
func (f *footer) slack() int64 {
	m := parquetMR.FindStringSubmatch(f.writer)
	if m == nil {
		return 0
	}
	version := 0
	for _, s := range m[1:] {
		n, _ := strconv.Atoi(s) // digits, or an empty string if the version is missing; then it counts as old
		version = version*1000 + min(n, 999)
	}
	if version < 1_002_009 {
		return oldSize
	}
	return 0
}
