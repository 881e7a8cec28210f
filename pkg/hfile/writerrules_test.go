package hfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"testing"

	"bulkload/internal/test/testcheck"
)

// TestTimeRangeOfDeletes checks that a file's time range is the result of HBase's TimeRangeTracker for its cells. A delete of a whole column
// or family covers every timestamp down to 0: a get of older timestamps alone must read the file.
func TestTimeRangeOfDeletes(t *testing.T) {
	for _, tt := range []struct {
		typ  Type
		from int64
	}{{Put, 40}, {Delete, 40}, {DeleteFamilyVersion, 40}, {DeleteColumn, 0}, {DeleteFamily, 0}} {
		var out bytes.Buffer
		w, err := NewWriter(&out, Options{})
		testcheck.Must(t, err)
		testcheck.Must(t, w.Append(&Cell{Row: []byte("a"), Family: []byte("f"), Timestamp: 40, Type: tt.typ}))
		testcheck.Must(t, w.Append(&Cell{Row: []byte("b"), Family: []byte("f"), Timestamp: 60, Type: Put}))
		_, err = w.Finish()
		testcheck.Must(t, err)
		r, err := Open(bytes.NewReader(out.Bytes()), int64(out.Len()), ReaderOptions{})
		testcheck.Must(t, err)
		if got := r.Meta().Info["TIMERANGE"]; len(got) != 16 || binary.BigEndian.Uint64(got) != uint64(tt.from) || binary.BigEndian.Uint64(got[8:]) != 60 {
			t.Errorf("%s at 40, Put at 60: the time range is %x, not %d to 60", tt.typ, got, tt.from)
		}
	}
}

// TestTypesAndTags checks that a writer refuses the types and tags that a check of the file calls damage, and accepts all others.
func TestTypesAndTags(t *testing.T) {
	write := func(c Cell) error {
		w, err := NewWriter(io.Discard, Options{})
		testcheck.Must(t, err)
		c.Row, c.Family = []byte("a"), []byte("f")
		return w.Append(&c)
	}
	for typ := range 256 {
		if err := write(Cell{Type: Type(typ)}); (err == nil) != cellTypes[typ] {
			t.Errorf("type %d: %v", typ, err)
		}
	}
	for tags, fits := range map[string]bool{"": true, "\x00\x02\x01x": true, "\x00\x01\x01\x00\x01\x02": true, "\x00\x09\x0812345678": true,
		"owner": false, "\x00": false, "\x00\x00": false, "\x00\x02\x01": false, "\x00\x02\x081": false} {
		if err := write(Cell{Type: Put, Tags: []byte(tags)}); (err == nil) != fits {
			t.Errorf("tags %q: %v", tags, err)
		}
	}
}

// TestChecksumsOfABlock checks that a block has exactly one checksum for each piece; the last piece may be short (ChecksumUtil.numChunks).
func TestChecksumsOfABlock(t *testing.T) {
	for _, perSum := range []int{1, 16, headerSize, 64, 100} {
		for size := range 300 {
			payload := bytes.Repeat([]byte{byte(size)}, size)
			o := Options{BytesPerChecksum: perSum, Checksum: ChecksumCRC32C}.withDefaults()
			b := newBlockWriter(io.Discard, &o)
			b.write(kindData, payload)
			testcheck.Must(t, b.err)
			var sums []byte
			for rest := b.buf[:headerSize+size]; len(rest) > 0; rest = rest[min(perSum, len(rest)):] {
				sums = binary.BigEndian.AppendUint32(sums, crc32.Checksum(rest[:min(perSum, len(rest))], crc32.MakeTable(crc32.Castagnoli)))
			}
			if got := b.buf[headerSize+size:]; !bytes.Equal(got, sums) {
				t.Fatalf("%d bytes, a checksum for each %d: checksums %x, not %x", headerSize+size, perSum, got, sums)
			}
			if got := int(binary.BigEndian.Uint32(b.buf[8:])); got != size+len(sums) {
				t.Fatalf("%d bytes, a checksum for each %d: the block says that %d follow its header", headerSize+size, perSum, got)
			}
		}
	}
}

// TestEqualCellsStayInOneBlock checks that no block ends between cells with equal keys, as in HBase (HFileWriterImpl.append): a seek to the
// key must find the first.
func TestEqualCellsStayInOneBlock(t *testing.T) {
	for _, encoding := range []Encoding{EncodingNone, EncodingPrefix, EncodingDiff, EncodingFastDiff, EncodingRowIndexV1} {
		var out bytes.Buffer
		w, err := NewWriter(&out, Options{Encoding: encoding, BlockSize: 100})
		testcheck.Must(t, err)
		for row := range 3 {
			for i := range 7 {
				value := bytes.Repeat([]byte{byte('a' + i)}, 90)
				testcheck.Must(t, w.Append(&Cell{Row: fmt.Appendf(nil, "row %d", row), Family: []byte("f"), Qualifier: []byte("q"), Timestamp: 1, Type: Put, Value: value}))
			}
		}
		stats, err := w.Finish()
		testcheck.Must(t, err)
		if stats.Blocks != 3 || stats.Cells != 21 {
			t.Errorf("%s: three keys of seven cells each are in %d blocks, %d cells", encoding, stats.Blocks, stats.Cells)
		}
	}
}

// shortWriter writes half of what it is given, and returns no error.
type shortWriter struct{}

func (shortWriter) Write(p []byte) (int, error) { return len(p) / 2, nil }

// TestShortWrites checks that bytes that are not written are an error.
func TestShortWrites(t *testing.T) {
	w, err := NewWriter(shortWriter{}, Options{Family: []byte("f")})
	if err == nil {
		err = w.Append(&Cell{Row: []byte("k"), Family: []byte("f"), Timestamp: 1, Type: Put})
	}
	if err == nil {
		_, err = w.Finish()
	}
	if !errors.Is(err, io.ErrShortWrite) {
		t.Error(err)
	}
}
