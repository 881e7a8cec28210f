package dialects

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"strconv"

	"bulkload/pkg/source"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/zstd"
)

const avroSchema = `{"type":"record","name":"row","fields":[{"name":"c1","type":"string"},{"name":"c2","type":["null","string"]},` +
	`{"name":"c3","type":"bytes"},{"name":"c4","type":["long","null"]},{"name":"c5","type":["null","string"]}]}`

// avroMarker follows each block. Values have parts of it, but never the whole: its last byte is in no text and begins
// no number.
const avroMarker = "012301230123012\xff"

// containers returns object container files with blocks of each codec.
func containers() (all []kind) {
	for _, codec := range []string{"null", "deflate", "snappy", "zstandard"} {
		own := judge{How: "avro", Cols: 5}
		if codec == "zstandard" {
			own.Packages, own.How = true, "fastavro"
		}
		k := kind{name: "avro-" + codec, format: source.FormatAvro, cols: 5, nulls: true, container: codec, judges: []judge{own},
			tokens: join(marks, unicode, []string{"\x00", avroMarker[:15], avroMarker[:12], avroMarker[:8] + avroMarker[:15], avroMarker[1:15]})}
		if codec != "zstandard" {
			k.judges = append(k.judges, judge{How: "fastavro", Cols: 5, Packages: true})
		}
		all = append(all, k)
	}
	return all
}

// avroRow converts a row to the schema: c4 is a number, c1 and c3 are never NULL.
func avroRow(row []value, n int64) []value {
	out := append([]value(nil), row...)
	for _, c := range []int{0, 2} {
		out[c].null = false
	}
	if !out[3].null {
		out[3].text = strconv.AppendInt(nil, int64(uint64(n)*0x9e3779b97f4a7c15)>>(n&63), 10)
	}
	return out
}

func appendAvro(dst []byte, row []value) []byte {
	text := func(v value) { dst = append(binary.AppendVarint(dst, int64(len(v.text))), v.text...) }
	union := func(v value) {
		if v.null {
			dst = binary.AppendVarint(dst, 0)
			return
		}
		dst = binary.AppendVarint(dst, 1)
		text(v)
	}
	text(row[0])
	union(row[1])
	text(row[2])
	if row[3].null {
		dst = binary.AppendVarint(dst, 1)
	} else {
		n, _ := strconv.ParseInt(string(row[3].text), 10, 64)
		dst = binary.AppendVarint(binary.AppendVarint(dst, 0), n)
	}
	union(row[4])
	return dst
}

// avroHeader returns the header of a file, with the given number of bytes of metadata that are not read.
func avroHeader(codec string, pad int) []byte {
	dst := binary.AppendVarint([]byte("Obj\x01"), 3)
	for _, kv := range [][2]string{{"avro.schema", avroSchema}, {"pad", string(bytes.Repeat([]byte{'p'}, pad))}, {"avro.codec", codec}} {
		for _, s := range kv {
			dst = append(binary.AppendVarint(dst, int64(len(s))), s...)
		}
	}
	return append(append(dst, 0), avroMarker...)
}

// avroBlocks packs records into blocks of any length.
type avroBlocks struct {
	codec   string
	out     []byte
	block   []byte
	records int64
	r       *rand.Rand
	zstd    *zstd.Encoder
}

func (a *avroBlocks) add(row []value) {
	a.block = appendAvro(a.block, row)
	if a.records++; a.r.IntN(200) == 0 || len(a.block) > 64<<10 {
		a.end()
	}
}

func (a *avroBlocks) end() {
	if a.records == 0 {
		return
	}
	packed := a.block
	switch a.codec {
	case "deflate":
		var b bytes.Buffer
		w, _ := flate.NewWriter(&b, 1)
		_, _ = w.Write(a.block)
		_ = w.Close()
		packed = b.Bytes()
	case "snappy":
		packed = binary.BigEndian.AppendUint32(snappy.Encode(nil, a.block), crc32.ChecksumIEEE(a.block))
	case "zstandard":
		packed = a.zstd.EncodeAll(a.block, nil)
	}
	a.out = binary.AppendVarint(binary.AppendVarint(a.out, a.records), int64(len(packed)))
	a.out = append(append(a.out, packed...), avroMarker...)
	a.block, a.records = a.block[:0], 0
}

// newContainer writes a file of about the given number of bytes before compression.
func newContainer(k *kind, size int64, seed uint64) *text {
	t := &text{k: k, rest: newDigest(k.cols), seed: seed, size: size}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		panic(err)
	}
	a := &avroBlocks{codec: k.container, r: rand.New(rand.NewPCG(seed, 9)), zstd: z}
	for row := range t.rows() {
		d := rowOf(row)
		t.rest.append(&d)
		a.add(row)
	}
	a.end()
	_ = z.Close()
	t.body = a.out
	return t
}

// avroRows returns the approximate number of rows of a size.
func (t *text) avroRows(yield func(row []value) bool) {
	tab := newTable(t.k, t.seed)
	for n := int64(0); n < t.size/60; n++ {
		if !yield(avroRow(tab.row(n%4 == 0), n+1)) {
			return
		}
	}
}
