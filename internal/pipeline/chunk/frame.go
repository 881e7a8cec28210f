package chunk

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// FrameWriter writes chunks one after the other. It does not buffer.
type FrameWriter struct {
	w   io.Writer
	buf []byte
}

// NewFrameWriter returns a FrameWriter on w.
func NewFrameWriter(w io.Writer) *FrameWriter { return &FrameWriter{w: w} }

// Chunk implements [Sink].
func (f *FrameWriter) Chunk(key, value []byte) error {
	f.buf = append(binary.BigEndian.AppendUint32(f.buf[:0], uint32(len(key))), key...)
	f.buf = binary.BigEndian.AppendUint32(f.buf, uint32(len(value)))
	if _, err := f.w.Write(f.buf); err != nil {
		return err
	}
	_, err := f.w.Write(value)
	return err
}

// A Source returns chunks by region and first key.
type Source interface {
	// Next returns the next chunk. It may use the arguments as buffers. The result belongs to the caller. The error is io.EOF at the end.
	Next(key, value []byte) ([]byte, []byte, error)
}

// FrameReader is a [Source] of the output of a [FrameWriter]. Reads are as large as the chunks.
type FrameReader struct {
	r     io.Reader
	at    int64 // bytes read
	began int64 // offset of the current chunk
	name  string
}

// NewFrameReader returns a reader of r, which messages call name.
func NewFrameReader(r io.Reader, name string) *FrameReader { return &FrameReader{r: r, name: name} }

// Next implements [Source]. It returns [ErrDamaged] if the input ends inside of a frame.
func (f *FrameReader) Next(key, value []byte) ([]byte, []byte, error) {
	key, err := f.nextKey(key)
	if err == nil {
		value, err = f.nextValue(value)
	}
	return key, value, err
}

// nextKey reads the key of the next chunk; io.EOF if there is none.
func (f *FrameReader) nextKey(key []byte) ([]byte, error) {
	f.began = f.at
	n, err := f.length()
	if err == io.EOF {
		return key, io.EOF
	}
	if err == nil && n > MaxKey {
		return key, damaged("%s, byte %d: a chunk's key of %d bytes, more than %d", f.name, f.began, n, MaxKey)
	}
	if err == nil {
		key, err = f.bytes(key[:0], n)
	}
	return key, f.truncated(err)
}

// nextValue reads the value after a key.
func (f *FrameReader) nextValue(value []byte) ([]byte, error) {
	n, err := f.length()
	if err == nil && n > MaxValue {
		return value, damaged("%s, byte %d: a chunk of %d bytes, more than %d", f.name, f.began, n, MaxValue)
	}
	if err == nil {
		value, err = f.bytes(value[:0], n)
	}
	return value, f.truncated(err)
}

// truncated converts an error that occurs within a frame.
func (f *FrameReader) truncated(err error) error {
	switch {
	case err == nil:
		return nil
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return damaged("%s ends within the chunk that begins at byte %d", f.name, f.began)
	}
	return fmt.Errorf("%w: %s at byte %d: %w", ErrRead, f.name, f.at, err)
}

// length reads a length; io.EOF only before its first byte.
func (f *FrameReader) length() (int64, error) {
	var b [4]byte
	n, err := io.ReadFull(f.r, b[:])
	f.at += int64(n)
	return int64(binary.BigEndian.Uint32(b[:])), err
}

// firstRead limits the memory that is allocated for a length before any of its bytes arrives.
const firstRead = 1 << 20

// bytes appends n bytes. The buffer grows with the bytes that have arrived, regardless of the length.
func (f *FrameReader) bytes(dst []byte, n int64) ([]byte, error) {
	for int64(len(dst)) < n {
		at := len(dst)
		step := int(min(n-int64(at), int64(max(firstRead, at, cap(dst)-at))))
		dst = slices.Grow(dst, step)[:at+step]
		m, err := io.ReadFull(f.r, dst[at:])
		f.at += int64(m)
		if err != nil {
			return dst[:at+m], err
		}
	}
	return dst, nil
}

// Joined is a source of the chunks of several sources, by region and first key. It holds only the keys of their next chunks.
type Joined struct {
	heads []joinedHead // a heap by key
	began bool
}

type joinedHead struct {
	source *FrameReader
	key    []byte
}

// Join returns a source that joins sources.
func Join(sources ...*FrameReader) *Joined {
	j := &Joined{}
	for _, s := range sources {
		j.heads = append(j.heads, joinedHead{source: s})
	}
	return j
}

// Next implements [Source].
func (j *Joined) Next(key, value []byte) ([]byte, []byte, error) {
	if !j.began {
		if err := j.begin(); err != nil {
			return key, value, err
		}
	}
	if len(j.heads) == 0 {
		return key, value, io.EOF
	}
	h := &j.heads[0]
	value, err := h.source.nextValue(value)
	if err != nil {
		return key, value, err
	}
	found := h.key
	if err := h.next(key); err != nil {
		return found, value, err
	}
	if h.source == nil {
		last := len(j.heads) - 1
		j.heads[0] = j.heads[last]
		j.heads = j.heads[:last]
	}
	j.sink(0)
	return found, value, nil
}

// begin reads the first key of each source.
func (j *Joined) begin() error {
	j.began = true
	for i := range j.heads {
		if err := j.heads[i].next(nil); err != nil {
			return err
		}
	}
	j.heads = slices.DeleteFunc(j.heads, func(h joinedHead) bool { return h.source == nil })
	for i := len(j.heads)/2 - 1; i >= 0; i-- {
		j.sink(i)
	}
	return nil
}

// next reads the next key into the given buffer; at the end, it sets the source to nil.
func (h *joinedHead) next(key []byte) error {
	var err error
	if h.key, err = h.source.nextKey(key); err == io.EOF {
		h.source = nil
		return nil
	}
	return err
}

// sink restores the heap order below i.
func (j *Joined) sink(i int) {
	for {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(j.heads); c++ {
			if string(j.heads[c].key) < string(j.heads[least].key) {
				least = c
			}
		}
		if least == i {
			return
		}
		j.heads[i], j.heads[least] = j.heads[least], j.heads[i]
		i = least
	}
}
