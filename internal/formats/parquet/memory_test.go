package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/formats/valuetext"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/source/span"

	"github.com/klauspost/compress/zstd"
)

// header returns a PageHeader in Thrift's compact protocol.
func header(kind pageKind, unpacked, packed, values int, enc encoding) []byte {
	field := func(b []byte, v int) []byte { return binary.AppendVarint(append(b, 0x15), int64(v)) }
	b := field(field(field(nil, int(kind)), unpacked), packed)
	page := field(field(nil, values), int(enc))
	if kind == pageData {
		page = field(field(page, int(encRLE)), int(encRLE))
		b = append(b, 0x2c) // field 5
	} else {
		b = append(b, 0x4c) // field 7
	}
	b = append(append(b, page...), 0)
	return append(b, 0)
}

type pageKind int

// readPages reads a column of one row group with the given pages, and returns its number of values.
func readPages(typ columnType, how codec, unpacked int64, rows int, limit int64, pages ...[]byte) (values int, err error) {
	data := bytes.Join(pages, nil)
	f := &File{leaves: []leaf{{typ: typ}}, flat: 1,
		chunks: []columnChunk{{end: int64(len(data)), codec: how, values: int64(rows), unpacked: unpacked}}}
	p := NewReader(limited(limit), 1<<20)
	if err := p.Begin(f, bytes.NewReader(data), 0, nil); err != nil {
		return 0, err
	}
	for values < rows {
		c := &p.cols[0]
		if err := c.load(&p.pageReader); err != nil {
			return values, err
		}
		n := min(c.left, MaxRows, rows-values)
		p.arena.reset()
		if err := c.take(&p.pageReader, make([]span.Span, n), 1, n); err != nil {
			return values, err
		}
		values += n
	}
	return values, nil
}

// limited returns a limit of the given number of bytes.
func limited(bytes int64) Limit {
	return Limit{bytes, func(what string, need, have int64) error {
		mebibytes := func(n int64) string { return fmt.Sprintf("%d MiB", (n+1<<20-1)>>20) }
		return fmt.Errorf("%s needs %s of memory, and a reader has %s", what, mebibytes(need), mebibytes(have))
	}}
}

// deltaHead returns the beginning of count numbers in DELTA_BINARY_PACKED.
func deltaHead(count int) []byte {
	b := binary.AppendUvarint(binary.AppendUvarint(nil, 128), 4)
	return append(binary.AppendUvarint(b, uint64(count)), 0)
}

// sameDeltas returns count numbers 0 in as few bytes as possible.
func sameDeltas(count int) []byte {
	b := deltaHead(count)
	for left := count - 1; left > 0; left -= 128 {
		b = append(b, 0, 0, 0, 0, 0)
	}
	return b
}

// zstdOf compresses n zeros.
func zstdOf(t *testing.T, n int) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(make([]byte, n), nil)
}

// TestPagesCannotAskForMemory checks that pages whose headers or contents require far more memory than they have bytes
// are errors.
func TestPagesCannotAskForMemory(t *testing.T) {
	const room = 8 << 20
	number := columnType{kind: kindInt, width: 8}
	text := columnType{kind: kindText, bytes: true}
	boolean := columnType{kind: kindBool, width: 1}
	page := func(kind pageKind, unpacked, values int, enc encoding, data []byte) []byte {
		return append(header(kind, unpacked, len(data), values, enc), data...)
	}
	packed := zstdOf(t, 512<<20)
	long := bytes.Repeat([]byte{'x'}, 64<<10)
	// 20,000 values, each with the 64 KiB of the previous one as its prefix. The second number of each list is the first
	// one of a miniblock of 17 bits, all later miniblocks have width 0.
	list := func(first, second int64) []byte {
		b := binary.AppendVarint(binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(nil, 128), 4), 20_000), first)
		b = append(binary.AppendVarint(b, 0), 17, 0, 0, 0)
		mini := make([]byte, 32*17/8)
		binary.LittleEndian.PutUint32(mini, uint32(second))
		b = append(b, mini...)
		for range 156 {
			b = append(b, 0, 0, 0, 0, 0)
		}
		return b
	}
	prefixes := list(0, int64(len(long)))
	zeros := zstdOf(t, 1<<20)
	stored := make([]byte, 64<<20)
	// The first length is that of the only value with its own bytes.
	lengths := binary.AppendVarint(binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(nil, 128), 4), 20_000), int64(len(long)))
	down := make([]byte, 32*17/8)
	for i := 1; i < 32; i++ { // −65536 + 0, then −65536 + 65536
		bit := i*17 + 16
		down[bit/8] |= 1 << (bit % 8)
	}
	lengths = append(binary.AppendVarint(lengths, -int64(len(long))), 17, 17, 17, 17)
	rest := bytes.Clone(down)
	rest[16/8] |= 1 << (16 % 8)
	lengths = slices.Concat(lengths, down, rest, rest, rest)
	for range 156 {
		lengths = append(lengths, 0, 0, 0, 0, 0)
	}
	for _, tt := range []struct {
		name     string
		typ      columnType
		how      codec
		unpacked int64 // the size in the footer
		rows     int
		data     []byte
		err      string
	}{
		{"a page as large as can be", text, codecZstd, 1 << 40, 1 << 30, page(pageData, 1<<30, 1000, encPlain, []byte{1, 2, 3}), "page at byte 0: the page needs 1024 MiB of memory, and a reader has 8 MiB"},
		{"a page that unpacks to what the footer says", text, codecZstd, 1 << 29, 1 << 30, page(pageData, 512<<20, 1000, encPlain, packed), "page at byte 0: the page needs 512 MiB of memory, and a reader has 8 MiB"},
		{"a small page that unpacks to more", text, codecZstd, 1 << 29, 1000, page(pageData, 100, 10, encPlain, packed), "page at byte 0: unpack ZSTD: decompressed size exceeds configured limit"},
		{"a dictionary as large as can be", text, codecZstd, 1 << 40, 1000, page(pageDictionary, 1<<30, 10, encPlain, []byte{1, 2, 3}), "page at byte 0: the page needs 1024 MiB of memory, and a reader has 8 MiB"},
		{"a dictionary of numbers", number, codecZstd, 1 << 40, 1000, page(pageDictionary, 1<<30, 10, encPlain, []byte{1, 2, 3}), "page at byte 0: the page needs 1024 MiB of memory, and a reader has 8 MiB"},
		{"more values than the row group has rows", number, codecNone, 1 << 20, 1000, page(pageData, 8, 1001, encPlain, make([]byte, 8)), "page at byte 0: it has 1001 values, and the column has 1000 left"},
		{"deltas for every row", number, codecNone, 1 << 24, 1 << 27, page(pageData, len(sameDeltas(1<<27)), 1<<27, encDeltaBinary, sameDeltas(1<<27)), "page at byte 0: the page needs 1024 MiB of memory, and a reader has 8 MiB"},
		{"lengths for every row", text, codecNone, 1 << 24, 1 << 27, page(pageData, len(sameDeltas(1<<27)), 1<<27, encDeltaLength, sameDeltas(1<<27)), "page at byte 0: the page needs 1024 MiB of memory, and a reader has 8 MiB"},
		{"prefixes that grow", text, codecNone, 1 << 20, 1 << 20, page(pageData, len(prefixes)+len(lengths)+len(long), 20_000, encDeltaBytes, slices.Concat(prefixes, lengths, long)), "page at byte 0: the page needs 9 MiB of memory, and a reader has 8 MiB"},
		{"a dictionary of long decimals", columnType{kind: kindDecimalInt, width: 4, scale: valuetext.MaxScale}, codecZstd, 1 << 20, 1000, page(pageDictionary, 1<<20, 1<<18, encPlain, zeros), "page at byte 0: the page needs 9 MiB of memory, and a reader has 8 MiB"},
		{"a dictionary of empty texts", text, codecZstd, 5 << 20, 1000, page(pageDictionary, 5<<20, 5<<18, encPlain, zstdOf(t, 5<<20)), "page at byte 0: the page needs 9 MiB of memory, and a reader has 8 MiB"},
		{"a page that is larger packed", text, codecSnappy, 1 << 20, 1000, page(pageData, 1<<20, 1000, encPlain, stored), "page at byte 0: the page needs 64 MiB of memory, and a reader has 8 MiB"},
		{"a run of bools", boolean, codecNone, 1 << 20, 1 << 30, page(pageData, 10, 1<<30, encRLE, []byte{6, 0, 0, 0, 0x80, 0x80, 0x80, 0x80, 0x08, 1}), "page at byte 0: the page needs 1024 MiB of memory, and a reader has 8 MiB"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var err error
			used := testcheck.Allocated(func() { _, err = readPages(tt.typ, tt.how, tt.unpacked, tt.rows, room, tt.data) })
			if fmt.Sprint(err) != tt.err {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			if allowed := int64(8*room + len(tt.data)); used > allowed {
				t.Errorf("%d bytes were allocated, more than %d", used, allowed)
			}
		})
	}
}

// TestPagesWithinTheBudgetAreRead checks that pages within the memory limit are read.
func TestPagesWithinTheBudgetAreRead(t *testing.T) {
	const rows = 100_000
	data := sameDeltas(rows)
	n, err := readPages(columnType{kind: kindInt, width: 8}, codecNone, 1<<20, rows, 8<<20, append(header(pageData, len(data), len(data), rows, encDeltaBinary), data...))
	if err != nil || n != rows {
		t.Errorf("%d values, %v", n, err)
	}
}

// TestFooterPartsAreLimited checks that the parts of a footer, which have a byte or two each, are held to the limit of a reader.
func TestFooterPartsAreLimited(t *testing.T) {
	const n = 16 << 20
	many := binary.AppendUvarint(nil, n)
	group := slices.Concat([]byte{0x15, 2, 0x39, 0x1c, 0x19, 0xfc}, many) // version, then a list of one row group with its list of columns
	for name, head := range map[string][]byte{
		"schema": append([]byte{0x15, 2, 0x19, 0xfc}, many...), "row groups": append([]byte{0x15, 2, 0x39, 0xfc}, many...), "columns": group, "metadata": append([]byte{0x15, 2, 0x49, 0xfc}, many...),
	} {
		footer := append(head, make([]byte, n+2)...)
		data := append([]byte("PAR1"), footer...)
		data = append(binary.LittleEndian.AppendUint32(data, uint32(len(footer))), "PAR1"...)
		var err error
		used := testcheck.Allocated(func() { _, err = Open(bytes.NewReader(data), int64(len(data)), limited(32<<20)) })
		if err == nil || !strings.Contains(err.Error(), "the footer needs 33 MiB of memory, and a reader has 32 MiB") || used > 256<<20 {
			t.Errorf("%s: %d MiB were allocated, error %v", name, used>>20, err)
		}
	}
}

// TestFooterCannotAskForMemory checks that lists with a stated length of two billion elements do not allocate it.
func TestFooterCannotAskForMemory(t *testing.T) {
	for name, footer := range map[string][]byte{
		"schema":     binary.AppendUvarint([]byte{0x15, 2, 0x19, 0xfc}, 1<<31-1),
		"row groups": binary.AppendUvarint([]byte{0x15, 2, 0x39, 0xfc}, 1<<31-1),
		"a string":   append(binary.AppendUvarint([]byte{0x15, 2, 0x58}, 1<<31-1), 'x'),
	} {
		data := append([]byte("PAR1"), footer...)
		data = append(binary.LittleEndian.AppendUint32(data, uint32(len(footer))), "PAR1"...)
		var err error
		used := testcheck.Allocated(func() { _, err = Open(bytes.NewReader(data), int64(len(data)), limited(1<<40)) })
		if err == nil || used > 64<<20 {
			t.Errorf("%s: %d bytes were allocated, error %v", name, used, err)
		}
	}
}
