package orc

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"bulkload/pkg/setting"
)

// Magic is the text at the start of files and at the end of their post script.
const Magic = "ORC"

// Ends reports whether a file that begins with [Magic] is an ORC file and not text, given its beginning and its last four bytes. These are Magic and the
// length of the post script, unless the file is truncated; then NUL bytes in the beginning show that it is not text.
func Ends(head, tail []byte) bool {
	return len(tail) == 4 && string(tail[:3]) == Magic && tail[3] >= 8 || bytes.IndexByte(head, 0) >= 0
}

// The metadata in a file's tail. Fields are numbered as in orc_proto.proto.
type (
	postScript struct {
		footer uint64 // bytes
		codec  codec
		block  uint64
		magic  string
	}
	footer struct {
		stripes   []stripe
		types     []typeMessage
		rows      uint64
		writer    uint64 // 0: Java
		calendar  uint64 // 0: not set
		encrypted []uint64
		budget    int64 // bytes of memory that its parts may take
	}
	// stripe locates a stripe: its indexes, its data and its footer follow one another.
	stripe struct{ offset, index, data, footer, rows uint64 }
	// typeMessage is a type of the schema. All types are in one list.
	typeMessage struct {
		kind  kind
		kids  []uint64
		names []string
		scale uint64
	}
)

// tailError returns an error about a file that does not end like an ORC file.
func tailError(format string, args ...any) error {
	return fmt.Errorf("it is not an ORC file, or it is truncated or damaged: %w", fmt.Errorf(format, args...))
}

// maxTail is the number of bytes read first. A post script has at most 255 bytes, and most footers fit into the rest.
const maxTail = 16 << 10

// readTail reads the post script and the footer.
func readTail(r *source, size int64) (*footer, error) {
	n := min(size, maxTail)
	tail := make([]byte, n)
	if read, err := r.raw.ReadAt(tail, size-n); read < len(tail) {
		return nil, fmt.Errorf("read its end: %w", err)
	}
	if n < int64(len(Magic))+1 {
		return nil, tailError("it has %s", setting.Count(size, "byte"))
	}
	at := int(n) - 1 - int(tail[n-1])
	if at < 0 {
		return nil, tailError("its post script is longer than the file")
	}
	ps, err := readPostScript(tail[at : n-1])
	if err != nil {
		return nil, err
	}
	end := size - 1 - int64(tail[n-1])
	if ps.footer > uint64(end) {
		return nil, tailError("its footer is longer than the file")
	}
	r.codec, r.block = ps.codec, int(ps.block)
	message, err := r.message(end-int64(ps.footer), end, "the footer")
	if err != nil {
		return nil, tailError("%w", err)
	}
	f := &footer{budget: r.limit.Bytes}
	if err := fields(message, f.field); err != nil {
		return nil, tailError("footer: %w", err)
	}
	if f.budget < 0 {
		return nil, r.limit.Exceeded("the footer", r.limit.Bytes-f.budget, r.limit.Bytes)
	}
	return f, f.check(end - int64(ps.footer))
}

func readPostScript(message []byte) (ps postScript, err error) {
	ps.block = 256 << 10
	var version []uint64
	err = fields(message, func(f field) error {
		switch f.number {
		case 1:
			ps.footer = f.value
		case 2:
			ps.codec = codec(min(f.value, math.MaxInt32))
		case 3:
			ps.block = f.value
		case 4:
			return f.numbers(func(v uint64) { version = append(version, v) })
		case 8000:
			ps.magic = string(f.data)
		}
		return nil
	})
	switch {
	case err != nil || ps.magic != Magic:
		return ps, tailError("it does not end with a post script")
	case len(version) > 1 && (version[0] > 0 || version[1] > 12):
		return ps, fmt.Errorf("it is of version %d.%d of ORC, which cannot be read: write version 0.12", version[0], version[1])
	}
	return ps, ps.check()
}

// check returns an error if the compression or the size of chunks is not supported.
func (ps *postScript) check() error {
	switch {
	case ps.codec == codecNone:
		return nil
	case int(ps.codec) >= len(codecNames) || ps.codec == codecLZO || ps.codec == codecBrotli:
		return fmt.Errorf("it is packed with %s, which cannot be read: write it with zlib, snappy, zstd, lz4 or not packed", ps.codec)
	case ps.block == 0 || ps.block > maxChunk:
		return fmt.Errorf("its chunks have %s, and the format allows %d", setting.Count(ps.block, "byte"), maxChunk)
	}
	return nil
}

// cost is the approximate memory of a part of the footer, without its names.
const cost = 128

func (f *footer) field(m field) (err error) {
	switch m.number {
	case 3, 4:
		if f.budget -= cost + 8*int64(len(m.data)); f.budget < 0 {
			return nil
		}
		if m.number == 3 {
			var s stripe
			err = fields(m.data, into(&s.offset, &s.index, &s.data, &s.footer, &s.rows))
			f.stripes = append(f.stripes, s)
			return err
		}
		var t typeMessage
		err = fields(m.data, t.field)
		f.types = append(f.types, t)
		return err
	case 6:
		f.rows = m.value
	case 9:
		f.writer = m.value
	case 10:
		return fields(m.data, func(m field) error {
			if m.number != 3 { // Encryption.variants
				return nil
			}
			return fields(m.data, func(m field) error {
				if m.number == 1 { // EncryptionVariant.root
					f.budget -= 16
					f.encrypted = append(f.encrypted, m.value)
				}
				return nil
			})
		})
	case 11:
		f.calendar = m.value
	}
	return nil
}

func (t *typeMessage) field(m field) error {
	switch m.number {
	case 1:
		t.kind = kind(min(m.value, math.MaxInt32))
	case 2:
		return m.numbers(func(v uint64) { t.kids = append(t.kids, v) })
	case 3:
		t.names = append(t.names, string(m.data))
	case 6:
		t.scale = m.value
	}
	return nil
}

// check checks that all stripes end before the offset end, and that their row counts add up to that of the footer.
func (f *footer) check(end int64) error {
	var rows uint64
	for i, s := range f.stripes {
		total := uint64(0)
		for _, n := range []uint64{s.offset, s.index, s.data, s.footer} {
			if n > uint64(end)-total {
				return tailError("stripe %d is not within the file", i)
			}
			total += n
		}
		if s.rows > math.MaxInt64-rows {
			return tailError("stripe %d has too many rows", i)
		}
		rows += s.rows
	}
	if rows != f.rows {
		return tailError("its stripes have %s, and the file %d", setting.Count(rows, "row"), f.rows)
	}
	return nil
}

// stripeFooter locates the streams of a stripe.
type stripeFooter struct {
	streams   map[streamKey]extent
	encodings []encoding
	zone      string // of the writer; "": not set
}

type (
	streamKey struct{ column, kind uint64 }
	extent    struct{ at, end int64 }
	encoding  struct{ kind, entries uint64 }
)

// Stream kinds.
const (
	streamPresent    = 0
	streamData       = 1
	streamLength     = 2
	streamDictionary = 3
	streamSecondary  = 5
)

var errStripe = errors.New("the footer of the stripe is damaged")

func readStripe(r *source, s stripe) (*stripeFooter, error) {
	end := int64(s.offset + s.index + s.data)
	message, err := r.message(end, end+int64(s.footer), "the footer of the stripe")
	if err != nil {
		return nil, err
	}
	f := &stripeFooter{streams: map[streamKey]extent{}}
	at, budget := int64(s.offset), r.limit.Bytes
	err = fields(message, func(m field) error {
		if budget -= cost; budget < 0 {
			return r.limit.Exceeded("the footer of the stripe", r.limit.Bytes-budget, r.limit.Bytes)
		}
		switch m.number {
		case 1:
			var key streamKey
			var length uint64
			err := fields(m.data, into(&key.kind, &key.column, &length))
			if err != nil || length > uint64(end-at) {
				return errStripe
			}
			if key.kind <= streamSecondary {
				f.streams[key] = extent{at, at + int64(length)}
			}
			at += int64(length)
		case 2:
			var e encoding
			err := fields(m.data, into(&e.kind, &e.entries))
			f.encodings = append(f.encodings, e)
			return err
		case 3:
			f.zone = string(m.data)
		}
		return nil
	})
	return f, err
}

// message reads a message, which is compressed like streams.
func (r *source) message(at, end int64, what string) ([]byte, error) {
	s := stream{source: r, next: at, end: end}
	var message []byte
	for s.next < s.end {
		if err := s.fill(); err != nil {
			return nil, err
		}
		if need := int64(len(message) + len(s.buf)); need > r.limit.Bytes {
			return nil, r.limit.Exceeded(what, need, r.limit.Bytes)
		}
		message = append(message, s.buf...)
	}
	r.held -= int64(cap(s.buf))
	return message, nil
}
