package avro

import (
	"errors"
	"io"

	"bulkload/internal/formats/valuetext"
)

const (
	// MaxHeader is the largest size of a file's header, 8 MiB: its metadata with the schema.
	MaxHeader = 8 << 20

	magic    = "Obj\x01"
	syncSize = 16
)

// ErrFormat is wrapped by the error for a file that is not an Avro object container file.
var ErrFormat = errors.New("the file does not begin as an Avro object container file")

// Header holds the metadata of a file. It is immutable, and may be used by several goroutines at once.
type Header struct {
	// Size is the file's size in bytes.
	Size int64
	// Data is the offset of the first block. The header's marker is just before it.
	Data int64
	// Codec is the compression of blocks: null, deflate, snappy, zstandard, bzip2, xz.
	Codec string
	// Sync is the marker that follows each block.
	Sync [syncSize]byte
	// Columns are the fields of the top record, in their order, and Types their types, such as "long or null".
	Columns, Types []string
	// Meta is all metadata, including avro.schema and avro.codec.
	Meta map[string][]byte

	root *node
}

// ReadHeader reads the header of a file of size bytes, at most [MaxHeader] of them. Errors are [ErrFormat], [Error], [SizeError], read errors of r,
// and [CodecError] for an unknown codec, in which case the header is returned too.
func ReadHeader(r io.ReaderAt, size int64) (*Header, error) {
	for n := int64(64 << 10); ; n *= 4 {
		n = min(n, size, MaxHeader)
		data := make([]byte, n)
		if err := readFull(r, data, 0); err != nil {
			return nil, err
		}
		h := &Header{Size: size}
		c := cursor{buf: data, end: len(data)}
		switch {
		case h.parse(&c):
			return h.finish()
		case !c.short || n == size:
			if len(data) < len(magic) || string(data[:len(magic)]) != magic {
				return nil, ErrFormat
			}
			return nil, &Error{Reason: c.reason}
		case n == MaxHeader:
			return nil, &SizeError{What: "header", Need: MaxHeader + 1, AtLeast: true, Limit: MaxHeader}
		}
	}
}

// parse takes the magic, the metadata and the marker.
func (h *Header) parse(c *cursor) bool {
	at, ok := c.take(len(magic))
	if !ok {
		return false
	}
	if string(c.buf[at:c.at]) != magic {
		return c.fail("the magic is not Obj and 1")
	}
	h.Meta = map[string][]byte{}
	for {
		count, _, ok := c.items(0)
		if !ok {
			return false
		}
		if count == 0 {
			break
		}
		for range count { // each entry takes at least two bytes
			key, ok := c.text()
			if !ok {
				return false
			}
			value, ok := c.text()
			if !ok {
				return false
			}
			h.Meta[string(key)] = value
		}
	}
	if at, ok = c.take(syncSize); !ok {
		return false
	}
	copy(h.Sync[:], c.buf[at:])
	h.Data = int64(c.at)
	return true
}

// text takes a length and then as many bytes.
func (c *cursor) text() ([]byte, bool) {
	n, ok := c.length()
	if !ok {
		return nil, false
	}
	at := c.at
	c.at += n
	return c.buf[at:c.at:c.at], true
}

// finish reads the schema and the codec from the metadata.
func (h *Header) finish() (*Header, error) {
	schema, ok := h.Meta["avro.schema"]
	if !ok {
		return nil, &Error{Reason: "the metadata has no avro.schema"}
	}
	root, err := parseSchema(schema)
	if err != nil {
		return nil, &Error{Reason: "avro.schema", Err: err}
	}
	h.root = root
	text := map[string]string{}
	for key, value := range h.Meta {
		text[key] = string(value)
	}
	if c := valuetext.AvroCalendars(text, root.name); c != (valuetext.Calendars{}) {
		root.setCalendar(c, map[*node]bool{})
	}
	for _, f := range root.fields {
		h.Columns = append(h.Columns, f.name)
		h.Types = append(h.Types, f.node.typeName())
	}
	h.Codec = string(h.Meta["avro.codec"])
	switch h.Codec {
	case "":
		h.Codec = "null"
	case "null", "deflate", "snappy", "zstandard", "bzip2", "xz":
	default:
		return h, &CodecError{Codec: h.Codec}
	}
	return h, nil
}

// readFull reads data at offset off. If the file has become shorter, the error is io.ErrUnexpectedEOF.
func readFull(r io.ReaderAt, data []byte, off int64) error {
	if len(data) == 0 {
		return nil
	}
	n, err := r.ReadAt(data, off)
	switch {
	case n == len(data):
		return nil
	case err == nil || err == io.EOF:
		return io.ErrUnexpectedEOF
	}
	return err
}
