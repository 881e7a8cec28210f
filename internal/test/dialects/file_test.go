package dialects

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"math/rand/v2"
	"path"
	"slices"
	"time"

	"bulkload/pkg/source"
)

// zone is the distance between the positions of a file around which its rows are awkward: the bytes that package source
// reads together to find splits. The default split is a multiple of it.
const zone = 256 << 10

// A text is a file of a kind, with the digest of its rows.
type text struct {
	k      *kind
	before []byte // the first record
	first  []value
	body   []byte // all after the first record
	rest   digest // of its rows
	seed   uint64
	size   int64
	small  bool
}

// newText writes a file of about the given number of bytes. In a small one all rows are awkward.
func newText(k *kind, size int64, small bool, seed uint64) *text {
	if k.container != "" {
		return newContainer(k, size, seed)
	}
	t := &text{k: k, small: small, before: k.before(), rest: newDigest(k.cols), seed: seed}
	t.size = size
	t.first = make([]value, k.cols)
	for c := range t.first {
		t.first[c] = value{text: []byte("first")}
	}
	t.body = make([]byte, 0, size+4096)
	var head int
	t.walk(func(row []value, record []byte) bool {
		if record == nil {
			t.body = append(t.body, k.encode([]byte(k.tail))...)
			return true
		}
		if head == 0 {
			head = len(record)
			return true // with a different first value each time
		}
		t.body = append(t.body, record...)
		d := rowOf(row)
		t.rest.append(&d)
		return true
	})
	return t
}

// walk generates all rows again, with their records, and nil at the end.
func (t *text) walk(each func(row []value, record []byte) bool) {
	tab := newTable(t.k, t.seed)
	r := rand.New(rand.NewPCG(t.seed, 7))
	first := t.k.encode(t.k.write(nil, t.first, quiet()))
	more := each(t.first, first)
	at, record := int64(len(first)), []byte(nil)
	put := func(row []value) {
		record = t.k.write(record[:0], row, r)
		if t.k.charset != nil {
			record = t.k.encode(record)
		}
		more = more && each(row, record)
		at += int64(len(record))
	}
	for n := int64(1); more && at < t.size; n++ {
		// Records of letters fill the file up to a position before the zone: a different awkward row, at a different
		// byte of it, each time.
		for to := n*zone - 2048; !t.small && more && at < min(to, t.size); {
			put(tab.row(false))
		}
		if !t.small {
			put(filler(t.k, n*zone-1024-16*n%640-at))
		}
		for to := n*zone + 1024; more && at < min(to, t.size); {
			put(tab.row(true))
		}
	}
	if more {
		each(nil, nil)
	}
}

// rows returns the rows of the file without padding.
func (t *text) rows() func(yield func(row []value) bool) {
	if t.k.container != "" {
		return t.avroRows
	}
	return func(yield func(row []value) bool) {
		t.walk(func(row []value, _ []byte) bool { return row == nil || yield(row) })
	}
}

// filler returns a row whose record has about the given number of bytes.
func filler(k *kind, size int64) []value {
	row := make([]value, k.cols)
	for c := range row {
		row[c] = value{text: []byte("x")}
	}
	short := int64(len(k.encode(k.write(nil, row, quiet()))))
	wide := int64(1)
	if k.bom == "\xff\xfe" || k.bom == "\xfe\xff" {
		wide = 2
	}
	row[0].text = bytes.Repeat([]byte{'x'}, 1+int(max(0, size-short)/wide))
	return row
}

// padded returns the file with the given number of additional bytes in its first value, and the digest of its rows.
func (t *text) padded(pad int) (*mem, digest) {
	if t.k.container != "" {
		return &mem{parts: [][]byte{avroHeader(t.k.container, pad), t.body}}, t.rest
	}
	row := slices.Clone(t.first)
	row[0] = value{text: append(bytes.Clone(row[0].text), bytes.Repeat([]byte{'p'}, pad)...)}
	d := rowOf(row)
	d.append(&t.rest)
	return &mem{parts: [][]byte{t.before, t.k.encode(t.k.write(nil, row, quiet())), t.body}}, d
}

// mem is a file in memory, made of parts, and its file system.
type mem struct {
	name  string
	parts [][]byte
}

func (m *mem) resolve(name string) (source.FS, string, error) { return m, name, nil }

func (m *mem) Open(context.Context, string) (fs.File, error)          { return &open{m: m}, nil }
func (m *mem) Stat(context.Context, string) (fs.FileInfo, error)      { return m, nil }
func (m *mem) ReadDir(context.Context, string) ([]fs.FileInfo, error) { return nil, fs.ErrInvalid }
func (m *mem) Name() string                                           { return path.Base(m.name) }
func (m *mem) Mode() fs.FileMode                                      { return 0o644 }
func (m *mem) ModTime() time.Time                                     { return time.Time{} }
func (m *mem) IsDir() bool                                            { return false }
func (m *mem) Sys() any                                               { return nil }
func (m *mem) Size() (n int64) {
	for _, p := range m.parts {
		n += int64(len(p))
	}
	return n
}

func (m *mem) bytes() []byte { return bytes.Join(m.parts, nil) }

// open is an open file of mem.
type open struct{ m *mem }

func (o *open) Stat() (fs.FileInfo, error) { return o.m, nil }
func (o *open) Read([]byte) (int, error)   { return 0, fs.ErrInvalid }
func (o *open) Close() error               { return nil }

func (o *open) ReadAt(p []byte, at int64) (n int, err error) {
	for _, part := range o.m.parts {
		if size := int64(len(part)); at >= size {
			at -= size
			continue
		}
		m := copy(p[n:], part[at:])
		if n, at = n+m, 0; n == len(p) {
			return n, nil
		}
	}
	return n, io.EOF
}
