package hfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestCheckOfManyLeavesHoldsOneOfThem checks that the memory of a check stays
// below its limit with an index that is larger than the limit.
func TestCheckOfManyLeavesHoldsOneOfThem(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(&out, Options{Family: []byte("f"), BlockSize: 1, IndexBlockSize: 4096, Compression: CompressionSnappy})
	if err != nil {
		t.Fatal(err)
	}
	long := bytes.Repeat([]byte("x"), 2000)
	index := 0
	for i := range 40_000 {
		c := Cell{Row: append(fmt.Appendf(nil, "%06d", i), long...), Family: []byte("f"), Timestamp: 1, Type: Put}
		if i%2 == 1 { // versions of one column have whole keys in the index
			c.Row = append(fmt.Appendf(nil, "%06d", i-1), long...)
			c.Timestamp = 0
			index += len(c.Row)
		}
		if err := w.Append(&c); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	most := peakOf(t, func() {
		if res := Check(bytes.NewReader(out.Bytes()), int64(out.Len()), CheckOptions{}); !res.OK || res.IndexLevels < 3 {
			t.Errorf("%+v", res)
		}
	})
	if limit := uint64(index / 3); most > limit {
		t.Errorf("a check of an index with %d bytes of keys allocates %d bytes, more than %d", index, most, limit)
	}
}

// TestHugeCountsTakeNoMemory checks index blocks and filters that claim more
// entries than they can hold.
func TestHugeCountsTakeNoMemory(t *testing.T) {
	leaf := binary.BigEndian.AppendUint32(nil, 1<<31-1)
	meta := (&bloomWriter{sizing: bloomSizing{hashes: 7}}).meta()
	binary.BigEndian.PutUint32(meta[36:], 1<<31-1)
	for name, damage := range map[string]func(*forged){
		"leaf":  func(f *forged) { f.levels, f.leaf = 2, append(leaf, make([]byte, 100)...) },
		"bloom": func(f *forged) { f.bloom = meta },
		"root":  func(f *forged) { f.entries = 1<<31 - 1 },
	} {
		f := forge(Options{})
		f.data = []byte{0}
		damage(f)
		b := f.bytes()
		most := peakOf(t, func() {
			if res := Check(bytes.NewReader(b), int64(len(b)), CheckOptions{}); res.OK || len(strings.Join(res.Errors, "")) > 1000 {
				t.Errorf("%s: %+v", name, res)
			}
		})
		if most > 8<<20 {
			t.Errorf("%s: %d bytes are allocated", name, most)
		}
	}
}

// peakOf returns the total allocation of f, which is an upper bound of its peak.
func peakOf(t *testing.T, f func()) uint64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestCheckReadsOnceAndInOrder checks that the walk reads each byte once, and
// that additional reads are few.
func TestCheckReadsOnceAndInOrder(t *testing.T) {
	s, keys, rows, _ := checkRows(20_000)
	var out bytes.Buffer
	w, err := NewRowWriter(&out, Options{Family: []byte("f"), Compression: CompressionSnappy, Encoding: EncodingFastDiff, Bloom: BloomRow}, s)
	if err != nil {
		t.Fatal(err)
	}
	for i, k := range keys {
		if err := w.AppendRow(k, rows[i]); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	r := &countingReader{r: bytes.NewReader(out.Bytes())}
	if res := Check(r, int64(out.Len()), CheckOptions{}); !res.OK {
		t.Fatal(res.Errors)
	}
	if most := int64(out.Len()) + int64(out.Len())/4 + 1<<20; r.bytes > most {
		t.Errorf("%d bytes read of a file of %d", r.bytes, out.Len())
	}
	if r.back > 20 {
		t.Errorf("%d reads go back", r.back)
	}
}

type countingReader struct {
	r     *bytes.Reader
	bytes int64
	end   int64
	back  int
}

func (c *countingReader) ReadAt(b []byte, off int64) (int, error) {
	if off < c.end {
		c.back++
	}
	n, err := c.r.ReadAt(b, off)
	c.bytes, c.end = c.bytes+int64(n), off+int64(n)
	return n, err
}
