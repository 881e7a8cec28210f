package avro

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"

	hamba "github.com/hamba/avro/v2"
	"github.com/hamba/avro/v2/ocf"
)

// numbered returns a file of n records, each with a number and a text.
func numbered(t testing.TB, n int, o ...ocf.EncoderFunc) []byte {
	t.Helper()
	text := `{"type":"record","name":"r","fields":[{"name":"id","type":"long"},{"name":"text","type":"string"}]}`
	schema := hamba.MustParse(text)
	var records [][]byte
	for i := range n {
		data, err := hamba.Marshal(schema, map[string]any{"id": int64(i), "text": strings.Repeat("x", i%50)})
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, data)
	}
	return container(t, text, records, o...)
}

// TestSplits checks that each record is read once, however the file is cut: at every byte into two splits, and at
// random into many.
func TestSplits(t *testing.T) {
	for _, codec := range []ocf.CodecName{ocf.Null, ocf.Deflate} {
		data := numbered(t, 90, ocf.WithCodec(codec), ocf.WithBlockLength(7))
		size := int64(len(data))
		whole, err := readAll(t, data, []string{"id", "text"}, 0, size, Options{})
		if err != nil || len(whole) != 90 {
			t.Fatal(len(whole), err)
		}
		check := func(cuts []int64) {
			t.Helper()
			var got [][]any
			for i := range len(cuts) - 1 {
				rows, err := readAll(t, data, []string{"id", "text"}, cuts[i], cuts[i+1], Options{})
				if err != nil {
					t.Fatalf("split %d to %d: %v", cuts[i], cuts[i+1], err)
				}
				got = append(got, rows...)
			}
			if !slices.EqualFunc(got, whole, slices.Equal[[]any]) {
				t.Fatalf("cuts %v: %d rows, want %d", cuts, len(got), len(whole))
			}
		}
		for cut := range size + 1 {
			check([]int64{0, cut, size})
		}
		r := rand.New(rand.NewPCG(1, 2))
		for range 30 {
			cuts := []int64{0, size}
			for range r.IntN(40) {
				cuts = append(cuts, r.Int64N(size+1))
			}
			slices.Sort(cuts)
			check(cuts)
		}
	}
}

// TestFarMarker checks that the search finds a sync marker that crosses the boundary of two reads.
func TestFarMarker(t *testing.T) {
	for shift := range 40 {
		text := `{"type":"record","name":"r","fields":[{"name":"b","type":"bytes"}]}`
		schema := hamba.MustParse(text)
		var records [][]byte
		for _, n := range []int{chunk - 20 + shift, 3} {
			data, err := hamba.Marshal(schema, map[string]any{"b": bytes.Repeat([]byte{1}, n)})
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, data)
		}
		data := container(t, text, records, ocf.WithBlockLength(1))
		h, err := ReadHeader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		rows, err := readAll(t, data, []string{"b"}, h.Data, int64(len(data)), Options{})
		if err != nil || len(rows) != 1 || rows[0][0] != "\x01\x01\x01" {
			t.Fatalf("shift %d: %d rows, %v", shift, len(rows), err)
		}
	}
}

// TestCutOff checks that only a file that is cut off after its header or after a block is read without an error, with
// the rows of its blocks.
func TestCutOff(t *testing.T) {
	data := numbered(t, 20, ocf.WithBlockLength(7))
	h, err := ReadHeader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	clean := 0
	for n := range len(data) {
		rows, err := readAll(t, data[:n], []string{"id"}, 0, int64(n), Options{})
		if err == nil {
			clean++
			if len(rows)%7 != 0 {
				t.Errorf("%d bytes: %d rows", n, len(rows))
			}
		}
		if e := new(Error); err != nil && n >= int(h.Data) && (!errors.As(err, &e) || e.Offset < h.Data) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if clean != 3 { // after the header and after two of three blocks
		t.Errorf("%d", clean)
	}
}

// TestDamage changes each byte of a file, and checks that reading it does not panic, and that Snappy's checksum reveals
// damage of a block.
func TestDamage(t *testing.T) {
	for _, codec := range []ocf.CodecName{ocf.Null, ocf.Deflate, ocf.Snappy, ocf.ZStandard} {
		data := numbered(t, 20, ocf.WithBlockLength(7), ocf.WithCodec(codec))
		h, err := ReadHeader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		for i := range data {
			bad := slices.Clone(data)
			bad[i] ^= 0x41
			rows, err := readAll(t, bad, []string{"id", "text"}, 0, int64(len(bad)), Options{})
			if codec == ocf.Snappy && int64(i) >= h.Data && err == nil {
				t.Errorf("byte %d: %d rows, no error", i, len(rows))
			}
		}
	}
}

// TestLimits checks that the error for a block that exceeds the limit has the required size.
func TestLimits(t *testing.T) {
	for _, codec := range []ocf.CodecName{ocf.Null, ocf.Deflate, ocf.Snappy, ocf.ZStandard} {
		data := numbered(t, 5000, ocf.WithBlockLength(5000), ocf.WithCodec(codec))
		h, err := ReadHeader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		b := NewBlocks(60000)
		b.Open(h, bytes.NewReader(data), 0, int64(len(data)))
		_, _, err = b.Next(nil)
		var e *SizeError
		if !errors.As(err, &e) || e.Need <= 60000 || e.Limit != 60000 || e.Offset != h.Data {
			t.Errorf("%s: %v", codec, err)
		}
		if codec != ocf.Deflate && codec != ocf.ZStandard && e.AtLeast {
			t.Errorf("%s: %v", codec, err)
		}
		if _, _, again := b.Next(nil); again != err {
			t.Error(again)
		}
	}
}

// TestXZ checks that the checksums of xz reveal damage of a block, and that a dictionary may not exceed the limit.
func TestXZ(t *testing.T) {
	data := sample(t, "fastavro/xz.avro")
	h, err := ReadHeader(bytes.NewReader(data), int64(len(data)))
	testcheck.Must(t, err)
	for i := h.Data; i < int64(len(data)); i += 7 { // each takes a new dictionary of 8 MiB
		bad := slices.Clone(data)
		bad[i] ^= 0x41
		if rows, err := readAll(t, bad, []string{"id", "remark"}, 0, int64(len(bad)), Options{}); err == nil {
			t.Errorf("byte %d: %d rows, no error", i, len(rows))
		}
	}
	b := NewBlocks(60000)
	b.Open(h, bytes.NewReader(data), 0, int64(len(data)))
	var e *SizeError
	if _, _, err := b.Next(nil); !errors.As(err, &e) || e.Need != 8<<20 || e.Limit != 60000 {
		t.Error(err)
	}
}

// TestLies checks that counts and lengths that contradict the file are errors.
func TestLies(t *testing.T) {
	data := numbered(t, 0)
	h, err := ReadHeader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	long := func(v int64) []byte {
		var b []byte
		u := uint64(v)<<1 ^ uint64(v>>63)
		for ; u >= 0x80; u >>= 7 {
			b = append(b, byte(u)|0x80)
		}
		return append(b, byte(u))
	}
	block := func(count, size int64, body string) []byte {
		return slices.Concat(data, long(count), long(size), []byte(body), h.Sync[:])
	}
	for want, file := range map[string][]byte{
		"the count of records is negative":                            block(-1, 2, "\x02\x00"),
		"the length is negative":                                      block(1, -2, "\x02\x00"),
		"the block ends 998 bytes after the file does":                block(1, 1000, "\x02\x00"),
		"cannot hold the number of records that it declares, 1000000": block(1e6, 2, "\x02\x00"),
		"cannot hold the number of records that it declares, 0":       block(0, 2, "\x02\x00"),
		"data follow the last record of the block":                    block(1, 4, "\x02\x00\x02\x00"),
		"record 1, field text: a length exceeds the data":             block(1, 2, "\x02\x10"),
		"record 1, field text: a length is negative":                  block(1, 2, "\x02\x01"),
		"record 2, field id: the data end within a number":            block(2, 4, "\x02\x02x\x80"),
		"record 1, field id: a number has more than 64 bits":          block(1, 12, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00"),
		"no sync marker follows the block":                            block(1, 1, "\x02\x00"),
		fmt.Sprintf("Avro block at byte %d: the data end", h.Data):    append(slices.Clone(data), 0x80),
	} {
		_, err := readAll(t, file, []string{"id", "text"}, 0, int64(len(file)), Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	// Blocks without records are skipped.
	rows, err := readAll(t, append(block(0, 0, ""), append(append(long(1), long(2)...), append([]byte("\x02\x00"), h.Sync[:]...)...)...), []string{"id"}, 0, 1<<40, Options{})
	if err != nil || len(rows) != 1 {
		t.Error(rows, err)
	}
}

// TestShrunk checks that a file that is shorter than its given size is an error.
func TestShrunk(t *testing.T) {
	data := numbered(t, 20)
	size := int64(len(data))
	if _, err := ReadHeader(bytes.NewReader(data[:40]), size); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	h, err := ReadHeader(bytes.NewReader(data), size)
	if err != nil {
		t.Fatal(err)
	}
	b := NewBlocks(0)
	b.Open(h, bytes.NewReader(data[:size-10]), 0, size)
	if _, _, err := b.Next(nil); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}
