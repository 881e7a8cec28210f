package source

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"bulkload/pkg/source/dialect"

	hamba "github.com/hamba/avro/v2"
	"github.com/hamba/avro/v2/ocf"
)

// toAvro returns a file of records of texts, with a given number of records in each block. With null, "" is NULL.
func toAvro(t testing.TB, columns []string, rows [][]string, codec ocf.CodecName, block int, null bool) []byte {
	t.Helper()
	typ := `"string"`
	if null {
		typ = `["null","string"]`
	}
	var fields []string
	for _, c := range columns {
		fields = append(fields, fmt.Sprintf(`{"name":%q,"type":%s}`, c, typ))
	}
	var b bytes.Buffer
	w, err := ocf.NewEncoder(fmt.Sprintf(`{"type":"record","name":"r","fields":[%s]}`, strings.Join(fields, ",")), &b,
		ocf.WithCodec(codec), ocf.WithBlockLength(block), ocf.WithSyncBlock([16]byte([]byte("a marker of text"))))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		record := map[string]any{}
		for i, v := range row {
			if record[columns[i]] = v; null && v == "" {
				record[columns[i]] = nil
			}
		}
		if err := w.Encode(record); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestAvroEqualsDump reads rows with all codecs, in blocks and splits of many sizes, and compares them with the rows
// that were written.
func TestAvroEqualsDump(t *testing.T) {
	rows := checkRows(300)
	for i, codec := range []ocf.CodecName{ocf.Null, ocf.Deflate, ocf.Snappy, ocf.ZStandard} {
		for _, block := range []int{1, 7, 100, 1000} {
			data := toAvro(t, checkColumns, rows, codec, block, i%2 == 1)
			for _, o := range []Options{{}, {SplitSize: 1000}, {SplitSize: 50, ChunkSize: 1}, {SplitSize: 1 << 14}} {
				for _, name := range []string{"x.avro", "x"} {
					got, err := loadAvro(t, o, name, data)
					if err != nil {
						t.Fatal(err)
					}
					if !slices.EqualFunc(got, rows, slices.Equal) {
						t.Fatalf("%s, blocks of %d, %+v: other rows", codec, block, o)
					}
				}
			}
		}
	}
}

// loadAvro reads a file and checks the data of its batches: their bytes add up to the file's, and their numbers to the
// records of each split.
func loadAvro(t testing.TB, o Options, name string, data []byte) (rows [][]string, err error) {
	in, err := Open(t.Context(), memory("/"+name, data), []string{"/" + name}, o)
	if err != nil {
		return nil, err
	}
	size := int64(0)
	r := in.NewReader()
	for split := range in.Splits() {
		next := int64(0)
		err := r.Read(t.Context(), split, func(b *Batch) error {
			size += b.Bytes
			if b.First != next+1 || b.Rows == 0 {
				return fmt.Errorf("%d rows from %d after %d", b.Rows, b.First, next)
			}
			for row := range b.Rows {
				if b.Offsets[row] != next {
					return fmt.Errorf("offset %d, want %d", b.Offsets[row], next)
				}
				next++
				var values []string
				for c := range b.Cols {
					values = append(values, string(b.Field(row, c)))
				}
				rows = append(rows, values)
			}
			return nil
		})
		if err != nil {
			return rows, err
		}
	}
	e, err := in.Extent(t.Context())
	rough, errRough := in.RoughExtent(t.Context())
	if err != nil || errRough != nil || e != rough || !e.Exact || e.Rows != 0 || e.Text != size || in.Records() != int64(len(rows)) {
		return nil, fmt.Errorf("extent %+v, %+v of %d bytes and %d rows read: %v, %v", e, rough, size, len(rows), err, errRough)
	}
	return rows, nil
}

// TestAvroEverySplitSize splits a small file at every position, and reads it with several workers.
func TestAvroEverySplitSize(t *testing.T) {
	rows := checkRows(20)
	for i := range rows {
		rows[i] = rows[i][:3]
	}
	data := toAvro(t, checkColumns[:3], rows, ocf.Snappy, 3, true)
	for size := 1; size < len(data)+10; size++ {
		got, err := loadAvro(t, Options{SplitSize: int64(size)}, "x.avro", data)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(rows) {
			t.Fatalf("splits of %d: %v\n%q", size, err, got)
		}
	}
	data = toAvro(t, checkColumns[:3], rows, ocf.Null, 3, true)
	in, err := Open(t.Context(), memory("/x.avro", data), []string{"/x.avro"}, Options{SplitSize: 300})
	if err != nil {
		t.Fatal(err)
	}
	var sums []uint32
	for _, workers := range []int{1, 2, 7} {
		parts := make([][]string, len(in.Splits()))
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				r := in.NewReader()
				for split := w; split < len(parts); split += workers {
					if err := r.Read(t.Context(), split, func(b *Batch) error {
						for row := range b.Rows {
							parts[split] = append(parts[split], string(b.Field(row, 0)))
						}
						return nil
					}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		for i, id := range slices.Concat(parts...) {
			if id != rows[i][0] {
				t.Errorf("%d workers, row %d: %s", workers, i, id)
			}
		}
	}
	for split := range in.Splits() {
		sum, ok := in.Sum(split)
		if !ok {
			t.Fatal(split)
		}
		sums = append(sums, sum)
	}
	// A changed value in one block changes only the checksum of its split.
	changed := bytes.Clone(data)
	changed[bytes.LastIndex(changed, []byte(rows[19][2]))]++
	in, err = Open(t.Context(), memory("/x.avro", changed), []string{"/x.avro"}, Options{SplitSize: 300})
	if err != nil || len(in.Splits()) != len(sums) {
		t.Fatal(err, len(in.Splits()), len(sums))
	}
	if _, err := readAvroAll(t, in); err != nil {
		t.Fatal(err)
	}
	other := 0
	for split := range in.Splits() {
		if sum, _ := in.Sum(split); sum != sums[split] {
			other++
		}
	}
	if other != 1 {
		t.Errorf("%d splits have other sums", other)
	}
}

func readAvroAll(t testing.TB, in *Input) (n int, err error) {
	r := in.NewReader()
	for split := range in.Splits() {
		if err := r.Read(t.Context(), split, func(b *Batch) error { n += b.Rows; return nil }); err != nil {
			return n, err
		}
	}
	return n, nil
}

// nestedSchema has a column of every kind that affects the choice of columns.
const nestedSchema = `{"type":"record","name":"r","fields":[
	{"name":"id","type":"long"},
	{"name":"addr","type":["null",{"type":"record","name":"a","fields":[{"name":"city","type":"string"},{"name":"zip","type":"int"}]}]},
	{"name":"tags","type":{"type":"array","items":"string"}},
	{"name":"at","type":{"type":"long","logicalType":"timestamp-millis"}},
	{"name":"span","type":{"type":"fixed","name":"f","size":12,"logicalType":"duration"}}]}`

type nestedRecord struct {
	ID   int64    `avro:"id"`
	Addr *address `avro:"addr"`
	Tags []string `avro:"tags"`
	At   int64    `avro:"at"`
	Span [12]byte `avro:"span"`
}

type address struct {
	City string `avro:"city"`
	Zip  int    `avro:"zip"`
}

func nested(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	marker := [16]byte([]byte("a marker of text"))
	var records []byte
	for _, r := range []nestedRecord{{1, &address{"上海", 200000}, []string{"a", "b"}, 1500, [12]byte{}}, {2, nil, nil, 0, [12]byte{}}} {
		// The library has its own type for durations.
		data, err := hamba.Marshal(hamba.MustParse(strings.Replace(nestedSchema, `,"logicalType":"duration"`, "", 1)), map[string]any{
			"id": r.ID, "addr": r.Addr, "tags": r.Tags, "at": r.At, "span": r.Span})
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, data...)
	}
	w, err := ocf.NewEncoder(nestedSchema, &b, ocf.WithSyncBlock(marker))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	b.WriteByte(4) // 2 records
	for n := uint64(len(records)) << 1; ; n >>= 7 {
		if n < 0x80 {
			b.WriteByte(byte(n))
			break
		}
		b.WriteByte(byte(n) | 0x80)
	}
	b.Write(records)
	b.Write(marker[:])
	return b.Bytes()
}

// TestAvroColumns checks which columns are read, and which are rejected.
func TestAvroColumns(t *testing.T) {
	data := nested(t)
	for _, tt := range []struct {
		o    Options
		want string
	}{
		{Options{}, "column span: a duration has no text: choose columns, or give `extra` ignore"},
		{Options{Extra: ExtraIgnore}, `["id" "addr" "tags" "at"] [["1" "{\"city\":\"上海\",\"zip\":200000}" "[\"a\",\"b\"]" "1970-01-01 00:00:01.5"] ["2" "" "[]" "1970-01-01 00:00:00"]]`},
		{Options{Columns: []string{"at", "addr.city", "id"}}, `["at" "addr.city" "id"] [["1970-01-01 00:00:01.5" "上海" "1"] ["1970-01-01 00:00:00" "" "2"]]`},
		{Options{Columns: []string{"addr.zip", "addr"}}, `["addr.zip" "addr"] [["200000" "{\"city\":\"上海\",\"zip\":200000}"] ["" ""]]`},
		{Options{Columns: []string{"id", "new"}, Missing: MissingNull}, `["id" "new"] [["1" ""] ["2" ""]]`},
		{Options{Columns: []string{"id", "new"}}, `column "new" is missing`},
		{Options{Columns: []string{"id", "span"}}, "a duration has no text"},
		{Options{Columns: []string{"id", "tags.x"}}, "only the whole of it can be a column"},
		{Options{Extra: ExtraFail}, "a duration has no text"},
		{Options{Columns: []string{"id"}, Extra: ExtraFail}, "a duration has no text"},
	} {
		in, err := Open(t.Context(), memory("/x.avro", data), []string{"/x.avro"}, tt.o)
		got := ""
		if err == nil {
			var rows [][]string
			rows, err = loadAvro(t, tt.o, "x.avro", data)
			got = fmt.Sprintf("%q %q", in.Columns(), rows)
		}
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, tt.want) {
			t.Errorf("%+v:\n%s, want\n%s", tt.o, got, tt.want)
		}
	}
}

// TestAvroOfPolars reads a file whose record has an empty name, with the result of fastavro.
func TestAvroOfPolars(t *testing.T) {
	rows, err := chosenRows(t, Options{}, "../../testdata/source/avro/polars.avro")
	const want = `[map["at":"2026-03-05 08:09:10.123456" "d":"2026-03-05" "flag":"true" "id":"1" "name":"a" "s":"{\"p\":1,\"q\":\"z\"}" "tags":"[\"a\",\"b\"]" "x":"1.5"]` +
		` map["at":<nil> "d":"1582-10-04" "flag":"false" "id":"2" "name":<nil> "s":"{\"p\":null,\"q\":\"y\"}" "tags":"[]" "x":<nil>]]`
	if got := fmt.Sprintf("%q", rows); err != nil || got != want {
		t.Errorf("%s, %v, want\n%s", got, err, want)
	}
}

// TestAvroBadRecord checks that the position of a bad record is its block and its number there, and that its values are
// kept as a line of CSV, which is read again.
func TestAvroBadRecord(t *testing.T) {
	var rows [][]string
	for i := range 20 {
		rows = append(rows, []string{strconv.Itoa(i), "a,\"b\"\n" + strconv.Itoa(i)})
	}
	data := toAvro(t, []string{"id", "text"}, rows, ocf.Null, 8, false)
	second := bytes.Index(data, []byte("\"b\"\n8")) - 8 // before it: count, length of two bytes, length, id, length, two bytes
	in, err := Open(t.Context(), memory("/x.avro", data), []string{"/x.avro"}, Options{ChunkSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() + "/rejects"
	f := NewRejectFile(path)
	err = in.NewReader().Read(t.Context(), 0, func(b *Batch) error {
		for row := range b.Rows {
			if string(b.Field(row, 0)) != "10" {
				continue
			}
			e := b.RowError(row)
			e.Reason = "it is ten"
			if want := fmt.Sprintf("/x.avro: record 3 of the block at byte %d: it is ten", second); e.Error() != want {
				t.Errorf("%v, want %s", &e, want)
			}
			if err := f.Write(e); err != nil {
				return err
			}
		}
		return nil
	})
	if n, errFinish := f.Finish(); err != nil || n != 1 || errFinish != nil {
		t.Fatal(err, n, errFinish)
	}
	if text, _ := os.ReadFile(path); !bytes.Contains(text, []byte(fmt.Sprintf(`"offset":%d,"record":3,"since":%d,`, second, second))) {
		t.Errorf("%s", text)
	}
	got, err := load(t, Options{Format: FormatRejects}, path)
	if err != nil || fmt.Sprintf("%q", values(got)) != `[["10" "a,\"b\"\n10"]]` {
		t.Errorf("%q, %v", values(got), err)
	}
}

// TestAvroDamage checks that a damaged block ends the reading of the file, with an error that names the file.
func TestAvroDamage(t *testing.T) {
	data := toAvro(t, checkColumns, checkRows(100), ocf.Snappy, 10, false)
	random := rand.New(rand.NewPCG(1, 2))
	wrong := 0
	for range 500 {
		damaged := bytes.Clone(data)
		damaged[random.IntN(len(data))] ^= byte(1 + random.IntN(255))
		if random.IntN(4) == 0 {
			damaged = damaged[:random.IntN(len(damaged))]
		}
		rows, err := loadBytesAvro(t, Options{SplitSize: 4000}, damaged)
		if err != nil && (!strings.Contains(err.Error(), "/x.avro") || len(rows) > 100) {
			t.Errorf("%v, %d rows", err, len(rows))
		}
		if err != nil {
			wrong++
		}
	}
	if wrong < 400 {
		t.Errorf("%d of 500 damaged files are refused", wrong)
	}
}

func loadBytesAvro(t testing.TB, o Options, data []byte) ([]string, error) {
	in, err := Open(t.Context(), memory("/x.avro", data), []string{"/x.avro"}, o)
	if err != nil {
		return nil, err
	}
	var rows []string
	r := in.NewReader()
	for split := range in.Splits() {
		if err := r.Read(t.Context(), split, func(b *Batch) error {
			for row := range b.Rows {
				rows = append(rows, string(b.raw(row)))
			}
			return nil
		}); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// TestAvroMemory checks that a block that exceeds a reader's memory is a MemoryError, and that the memory that it
// requests is enough.
func TestAvroMemory(t *testing.T) {
	large := [][]string{{"1", strings.Repeat("x", 3<<20)}, {"2", "y"}}
	for _, rows := range [][][]string{large, {{"0", "small"}, large[0]}} { // the error is returned at opening for the first block, else at reading
		data := toAvro(t, []string{"id", "text"}, rows, ocf.Snappy, 1, false)
		_, err := loadBytesAvro(t, Options{Memory: 8 << 20}, data)
		e, ok := errors.AsType[*MemoryError](err)
		if !ok || e.Have != 8<<20 || e.Need < 12<<20 {
			t.Fatalf("%v", err)
		}
		if got, err := loadBytesAvro(t, Options{Memory: e.Need}, data); err != nil || len(got) != 2 {
			t.Errorf("%v, %d rows", err, len(got))
		}
	}
	in, err := Open(t.Context(), memory("/x.avro", toAvro(t, []string{"id", "text"}, large, ocf.Null, 1, false)), []string{"/x.avro"}, Options{})
	if err != nil || in.ReaderMemory() < 12<<20 {
		t.Errorf("%d, %v", in.ReaderMemory(), err)
	}
}

// TestAvroRefusals checks files that are not Avro, or must not be read as Avro.
func TestAvroRefusals(t *testing.T) {
	data := toAvro(t, []string{"a"}, [][]string{{"1"}}, ocf.Null, 1, false)
	for name, tt := range map[string]struct {
		data []byte
		want string
	}{
		"x.avro":    {[]byte("a,b\n1,2\n"), "does not begin as an Avro object container file"},
		"x.avro.gz": {data, "unpack it first"},
		"xz.avro":   {bytes.Replace(data, []byte("\x08null"), []byte("\x08lzma"), 1), "codec lzma is not supported"},
	} {
		if _, err := Open(t.Context(), memory("/"+name, tt.data), []string{"/" + name}, Options{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	d := &dialect.Dialect{Name: "lines", FieldSep: "\t", RecordSep: "\n", Map: dialect.Literal, Header: dialect.HeaderNo, Trim: dialect.TrimNone}
	if in, err := Open(t.Context(), memory("/x", data), []string{"/x"}, Options{Dialect: d, Columns: []string{"a"}}); err != nil || in.Files()[0].Format != FormatAvro {
		t.Errorf("with a dialect for the text among the inputs: %v", err)
	}
}

// BenchmarkAvro reads the rows of BenchmarkDump; MB/s count the unpacked bytes of the blocks.
func BenchmarkAvro(b *testing.B) {
	rows := checkRows(benchRows)
	size := int64(len(toAvro(b, checkColumns, rows, ocf.Null, 400, false)))
	for _, codec := range []ocf.CodecName{ocf.Null, ocf.Snappy, ocf.ZStandard, ocf.Deflate} {
		path := writeFile(b, "check.avro", toAvro(b, checkColumns, rows, codec, 400, false))
		b.Run(string(codec), func(b *testing.B) { benchmark(b, path, Options{}, size) })
	}
}

// FuzzAvro reads damaged files in one split and in several, and checks that nothing panics and that both have the same
// rows unless one fails.
func FuzzAvro(f *testing.F) {
	rows := checkRows(12)
	for i, codec := range []ocf.CodecName{ocf.Null, ocf.Deflate, ocf.Snappy, ocf.ZStandard} {
		f.Add(toAvro(f, checkColumns[:4], rowsOfColumns(rows, 4), codec, 1+3*i, i > 1), uint16(200), uint16(10))
	}
	f.Fuzz(func(t *testing.T, data []byte, split, chunk uint16) {
		o := Options{Memory: 16 << 20, SplitSize: 1 << 40}
		whole, err := loadBytesAvro(t, o, data)
		o.SplitSize, o.ChunkSize = int64(split)+1+int64(len(data)/100), int(chunk)+1
		cut, errCut := loadBytesAvro(t, o, data)
		if err == nil && errCut == nil && !slices.Equal(whole, cut) {
			t.Fatalf("%q\n%q", whole, cut)
		}
	})
}

func rowsOfColumns(rows [][]string, n int) (cut [][]string) {
	for _, row := range rows {
		cut = append(cut, row[:n])
	}
	return cut
}
