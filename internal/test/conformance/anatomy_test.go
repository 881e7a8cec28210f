package conformance

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/s2"

	"bulkload/pkg/hfile"
)

const (
	headerSize  = 33
	trailerSize = 4096
)

// An anatomy is a dissected file, so that a field or a byte in it can be changed and the file reassembled with
// correct sizes, offsets and checksums, except those that the change concerns.
type anatomy struct {
	compression hfile.Compression
	parts       []*part
	trailer     []field
	version     uint32
	levels      int
}

// A part is a decompressed block.
type part struct {
	magic   string
	payload []byte
	packed  []byte // replaces the compressed payload, if a mutation sets it
	was     []byte // a payload and its compressed form, so that an unchanged payload keeps its bytes
	wasIn   []byte
	prev    int64
	sum     byte
	perSum  int
	old     int64 // original offset and size
	oldSize int32
	header  func(h []byte) // changes the finished header, before the checksums are made
}

// A field of the trailer: a number or bytes.
type field struct {
	number int
	v      uint64
	bytes  []byte
}

func dissect(file []byte) (*anatomy, error) {
	a := &anatomy{}
	end := len(file) - trailerSize
	t := file[end:]
	a.version = binary.BigEndian.Uint32(t[trailerSize-4:])
	n, k := binary.Uvarint(t[8:])
	for b := t[8+k : 8+k+int(n)]; len(b) > 0; {
		tag, k := binary.Uvarint(b)
		v, m := binary.Uvarint(b[k:])
		b = b[k+m:]
		f := field{number: int(tag >> 3), v: v}
		if tag&7 == 2 {
			f.bytes, b = b[:v:v], b[v:]
		}
		a.trailer = append(a.trailer, f)
	}
	switch a.number(12) {
	case 1:
		a.compression = hfile.CompressionGZ
	case 2:
		a.compression = hfile.CompressionNone
	case 3:
		a.compression = hfile.CompressionSnappy
	default:
		return nil, fmt.Errorf("compression %d", a.number(12))
	}
	a.levels = int(a.number(8))
	for at := 0; at < end; {
		h := file[at:]
		onDisk, raw, onData := int(binary.BigEndian.Uint32(h[8:])), int(binary.BigEndian.Uint32(h[12:])), int(binary.BigEndian.Uint32(h[29:]))
		p := &part{magic: string(h[:8]), prev: int64(binary.BigEndian.Uint64(h[16:])), sum: h[24], perSum: int(binary.BigEndian.Uint32(h[25:])),
			old: int64(at), oldSize: int32(headerSize + onDisk)}
		var err error
		if p.payload, err = a.unpack(h[headerSize:onData], raw); err != nil {
			return nil, err
		}
		p.was, p.wasIn = bytes.Clone(p.payload), bytes.Clone(h[headerSize:onData])
		a.parts = append(a.parts, p)
		at += headerSize + onDisk
	}
	return a, nil
}

// number returns a field of the trailer.
func (a *anatomy) number(n int) uint64 {
	for _, f := range a.trailer {
		if f.number == n {
			return f.v
		}
	}
	return 0
}

func (a *anatomy) set(n int, v uint64) {
	for i := range a.trailer {
		if a.trailer[i].number == n {
			a.trailer[i].v = v
		}
	}
}

func (a *anatomy) unpack(data []byte, raw int) ([]byte, error) {
	switch a.compression {
	case hfile.CompressionGZ:
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(r)
	case hfile.CompressionSnappy:
		var out []byte
		for data = data[4:]; len(out) < raw; {
			n := int(binary.BigEndian.Uint32(data))
			piece, err := snappy.Decode(nil, data[4:4+n])
			if err != nil {
				return nil, err
			}
			out, data = append(out, piece...), data[4+n:]
		}
		return out, nil
	}
	return bytes.Clone(data), nil
}

func (a *anatomy) pack(p *part) []byte {
	if p.packed != nil {
		return p.packed
	}
	if p.wasIn == nil || !bytes.Equal(p.payload, p.was) {
		p.was, p.wasIn = bytes.Clone(p.payload), a.compress(p.payload)
	}
	return p.wasIn
}

func (a *anatomy) compress(payload []byte) []byte {
	switch a.compression {
	case hfile.CompressionGZ:
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write(payload)
		_ = w.Close()
		return b.Bytes()
	case hfile.CompressionSnappy:
		b := binary.BigEndian.AppendUint32(nil, uint32(len(payload)))
		if len(payload) == 0 {
			return b
		}
		piece := s2.EncodeSnappy(nil, payload)
		return append(binary.BigEndian.AppendUint32(b, uint32(len(piece))), piece...)
	}
	return payload
}

// assemble reassembles the file. It updates the offsets and sizes that were correct in the old file.
func (a *anatomy) assemble() ([]byte, error) {
	for range 20 { // a new offset can change the packed size of a block, and so all blocks after it
		file, settled := a.layOut()
		if settled {
			return file, nil
		}
	}
	return nil, errors.New("the offsets do not settle")
}

func (a *anatomy) layOut() (file []byte, settled bool) {
	type place struct {
		at   int64
		size int32
	}
	moved := map[int64]place{}
	var at int64
	packed := make([][]byte, len(a.parts))
	for i, p := range a.parts {
		packed[i] = a.pack(p)
		n := headerSize + len(packed[i])
		size := int32(n + 4*((n+p.perSum-1)/p.perSum))
		moved[p.old] = place{at, size}
		at += int64(size)
	}
	settled = true
	for _, p := range a.parts {
		if m := moved[p.old]; m.at != p.old || m.size != p.oldSize {
			settled = false
		}
	}
	if !settled {
		sizes := map[int64]int32{}
		for _, p := range a.parts {
			sizes[p.old] = p.oldSize
		}
		for _, p := range a.parts {
			for _, ref := range a.references(p) {
				off, size := int64(binary.BigEndian.Uint64(ref)), int32(binary.BigEndian.Uint32(ref[8:]))
				if old, ok := sizes[off]; ok && old == size {
					binary.BigEndian.PutUint64(ref, uint64(moved[off].at))
					binary.BigEndian.PutUint32(ref[8:], uint32(moved[off].size))
				}
			}
			if m, ok := moved[p.prev]; ok {
				p.prev = m.at
			}
		}
		for i, f := range a.trailer {
			if f.number <= 2 || f.number == 9 || f.number == 10 {
				if m, ok := moved[int64(f.v)]; ok {
					a.trailer[i].v = uint64(m.at)
				}
			}
		}
		for _, p := range a.parts {
			m := moved[p.old]
			p.old, p.oldSize = m.at, m.size
		}
		return nil, false
	}
	for i, p := range a.parts {
		file = append(file, p.block(packed[i])...)
	}
	return append(file, a.marshalTrailer()...), true
}

// block returns a part with header and checksums.
func (p *part) block(packed []byte) []byte {
	n := headerSize + len(packed)
	sums := (n + p.perSum - 1) / p.perSum
	b := make([]byte, headerSize, n+4*sums)
	copy(b, p.magic)
	binary.BigEndian.PutUint32(b[8:], uint32(n-headerSize+4*sums))
	binary.BigEndian.PutUint32(b[12:], uint32(len(p.payload)))
	binary.BigEndian.PutUint64(b[16:], uint64(p.prev))
	b[24] = p.sum
	binary.BigEndian.PutUint32(b[25:], uint32(p.perSum))
	binary.BigEndian.PutUint32(b[29:], uint32(n))
	b = append(b, packed...)
	kind, per := p.sum, p.perSum
	if p.header != nil {
		p.header(b)
		kind = b[24]
		if v := int32(binary.BigEndian.Uint32(b[25:])); v >= 64 {
			per = int(v)
		}
	}
	for from := range sums {
		from *= per
		var crc uint32
		if from < n {
			piece := b[from:min(from+per, n)]
			switch kind {
			case 1:
				crc = crc32.ChecksumIEEE(piece)
			case 2:
				crc = crc32.Checksum(piece, crc32.MakeTable(crc32.Castagnoli))
			}
		}
		b = binary.BigEndian.AppendUint32(b, crc)
	}
	return b
}

func (a *anatomy) marshalTrailer() []byte {
	var body []byte
	for _, f := range a.trailer {
		if f.bytes != nil {
			body = binary.AppendUvarint(body, uint64(f.number<<3|2))
			body = binary.AppendUvarint(body, uint64(len(f.bytes)))
			body = append(body, f.bytes...)
			continue
		}
		body = binary.AppendUvarint(body, uint64(f.number<<3))
		body = binary.AppendUvarint(body, f.v)
	}
	t := append([]byte("TRABLK\"$"), binary.AppendUvarint(nil, uint64(len(body)))...)
	t = append(t, body...)
	t = append(t[:min(len(t), trailerSize)], make([]byte, max(trailerSize-len(t), 0))...)
	binary.BigEndian.PutUint32(t[trailerSize-4:], a.version)
	return t
}

// find returns the parts with a magic.
func (a *anatomy) find(magic string) []*part {
	var found []*part
	for _, p := range a.parts {
		if p.magic == magic || magic == "data" && p.magic[:7] == "DATABLK" {
			found = append(found, p)
		}
	}
	return found
}

// references returns the places in a payload that hold an offset and a size, as far as the payload can be parsed.
func (a *anatomy) references(p *part) [][]byte {
	var refs [][]byte
	for _, e := range a.entries(p) {
		refs = append(refs, e.place)
	}
	if i := slices.Index(a.parts, p); p.magic == "IDXROOT2" && a.levels > 1 && len(p.payload) >= 16 && i > 0 && a.parts[i-1].magic != "IDXROOT2" {
		refs = append(refs, p.payload[len(p.payload)-16:])
	}
	return refs
}

// An entry of an index or of a filter's chunks: slices of the payload.
type entry struct{ place, key []byte }

func (a *anatomy) entries(p *part) []entry {
	var entries []entry
	switch p.magic {
	case "IDXLEAF2", "IDXINTE2":
		n := int(int32(binary.BigEndian.Uint32(p.payload)))
		base := 4 + 4*(n+1)
		for i := range n {
			if 12+4*i > len(p.payload) {
				return entries
			}
			from, to := base+int(int32(binary.BigEndian.Uint32(p.payload[4+4*i:]))), base+int(int32(binary.BigEndian.Uint32(p.payload[8+4*i:])))
			if from < 0 || to > len(p.payload) || to < from+12 {
				return entries
			}
			entries = append(entries, entry{p.payload[from : from+12], p.payload[from+12 : to]})
		}
	case "IDXROOT2":
		b := p.payload
		if a.levels > 1 && len(b) >= 16 {
			b = b[:len(b)-16]
		}
		return rootEntries(b)
	case "BLMFMET2", "DFBLMET2":
		n, k := vlong(p.payload[40:])
		if k > 0 && 40+k+int(n) <= len(p.payload) && n >= 0 {
			return rootEntries(p.payload[40+k+int(n):])
		}
	}
	return entries
}

func rootEntries(b []byte) []entry {
	var entries []entry
	for len(b) > 12 {
		n, k := vlong(b[12:])
		if k == 0 || n < 0 || 12+k+int(n) > len(b) {
			break
		}
		entries = append(entries, entry{b[:12], b[12+k : 12+k+int(n)]})
		b = b[12+k+int(n):]
	}
	return entries
}

// vlong parses Hadoop's variable-length number with at most two bytes after the first.
func vlong(b []byte) (v int64, n int) {
	switch {
	case len(b) > 0 && int8(b[0]) >= -112:
		return int64(int8(b[0])), 1
	case len(b) > 1 && int8(b[0]) == -113:
		return int64(b[1]), 2
	case len(b) > 2 && int8(b[0]) == -114:
		return int64(b[1])<<8 | int64(b[2]), 3
	}
	return 0, 0
}

// A pair of the file info.
type pair struct {
	key   string
	value []byte
}

func (a *anatomy) info() []pair {
	b := a.find("FILEINF2")[0].payload[4:]
	n, k := binary.Uvarint(b)
	b = b[k : k+int(n)]
	take := func() []byte {
		_, k := binary.Uvarint(b)
		n, m := binary.Uvarint(b[k:])
		v := b[k+m : k+m+int(n)]
		b = b[k+m+int(n):]
		return v
	}
	var pairs []pair
	for len(b) > 0 {
		outer := take()
		rest := b
		b = outer
		p := pair{key: string(take()), value: bytes.Clone(take())}
		pairs = append(pairs, p)
		b = rest
	}
	return pairs
}

func (a *anatomy) setInfo(pairs []pair) {
	delimited := func(dst []byte, number int, v []byte) []byte {
		dst = binary.AppendUvarint(append(dst, byte(number<<3|2)), uint64(len(v)))
		return append(dst, v...)
	}
	var body []byte
	for _, p := range pairs {
		body = delimited(body, 1, delimited(delimited(nil, 1, []byte(p.key)), 2, p.value))
	}
	a.find("FILEINF2")[0].payload = append(binary.AppendUvarint([]byte("PBUF"), uint64(len(body))), body...)
}
