package hfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"bulkload/internal/test/testcheck"

	"pgregory.net/rapid"
)

// TestRowsEqualCells compares the row path with the cell path, byte for byte,
// for random schemas, rows, empty values and settings.
func TestRowsEqualCells(t *testing.T) {
	testcheck.Check(t, func(t *rapid.T) {
		quals := rapid.SliceOfNDistinct(rapid.SliceOfN(rapid.SampledFrom([]byte("abcxyz\x00\xff")), 0, 40), 1, 40,
			func(b []byte) string { return string(b) }).Draw(t, "qualifiers")
		slices.SortFunc(quals, bytes.Compare)
		value := rapid.OneOf(
			rapid.Just([]byte(nil)),
			rapid.SampledFrom([][]byte{{}, []byte("x"), []byte("same"), []byte("拒绝")}),
			rapid.SliceOfN(rapid.Byte(), 0, 300),
		)
		row := rapid.OneOf(
			rapid.SliceOfN(rapid.SampledFrom([]byte("ab\x00\xff")), 1, 6),
			rapid.SliceOfN(rapid.Byte(), 1, 300),
		)
		rows := rapid.SliceOfNDistinct(row, 1, 60, func(b []byte) string { return string(b) }).Draw(t, "rows")
		slices.SortFunc(rows, bytes.Compare)
		o := Options{
			Family:         []byte(rapid.SampledFrom([]string{"f", "family"}).Draw(t, "family")),
			Compression:    rapid.SampledFrom([]Compression{CompressionNone, CompressionSnappy, CompressionGZ}).Draw(t, "compression"),
			Encoding:       Encoding(rapid.IntRange(0, len(encodingNames)-1).Draw(t, "encoding")),
			Bloom:          BloomType(rapid.IntRange(0, len(bloomNames)-1).Draw(t, "bloom")),
			BloomPrefix:    2,
			BlockSize:      rapid.SampledFrom([]int{1, 100, 700, 4096, 0}).Draw(t, "block size"),
			IndexBlockSize: rapid.SampledFrom([]int{128, 0}).Draw(t, "index block size"),
			BloomBlockSize: rapid.SampledFrom([]int{256, 0}).Draw(t, "bloom block size"),
			EncodedRatio:   rapid.SampledFrom([]float64{0, 0, 0.3, 1}).Draw(t, "encoded ratio"),
		}
		s := Schema{Qualifiers: quals, Timestamp: rapid.Int64Range(0, 1<<62).Draw(t, "timestamp")}

		var fast, plain bytes.Buffer
		rw, err := NewRowWriter(&fast, o, s)
		if err != nil {
			t.Fatal(err)
		}
		cw, err := NewWriter(&plain, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range rows {
			values := make([][]byte, len(quals))
			for i := range values {
				values[i] = value.Draw(t, "value")
				if values[i] == nil {
					continue
				}
				c := Cell{Row: key, Family: o.Family, Qualifier: quals[i], Timestamp: s.Timestamp, Type: Put, Value: values[i]}
				if err := cw.Append(&c); err != nil {
					t.Fatal(err)
				}
				// as in the sort, a value is followed by other bytes
				values[i] = append(bytes.Clone(values[i]), "what is behind it"...)[:len(values[i])]
			}
			if err := rw.AppendRow(key, values); err != nil {
				t.Fatal(err)
			}
		}
		a, err := rw.Finish()
		if err != nil {
			t.Fatal(err)
		}
		b, err := cw.Finish()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(fast.Bytes(), plain.Bytes()) {
			at := commonPrefix(fast.Bytes(), plain.Bytes())
			t.Fatalf("files of %d and %d bytes differ at %d", fast.Len(), plain.Len(), at)
		}
		if fmt.Sprint(a) != fmt.Sprint(b) {
			t.Fatalf("stats differ: %+v, %+v", a, b)
		}
	})
}

func TestRowWriterRefuses(t *testing.T) {
	s := Schema{Qualifiers: [][]byte{[]byte("a"), []byte("b")}, Timestamp: 1}
	o := Options{Family: []byte("f"), Encoding: EncodingFastDiff}
	open := func() *RowWriter {
		w, err := NewRowWriter(io.Discard, o, s)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	v := [][]byte{[]byte("1"), nil}
	for name, rows := range map[string][]string{
		"equal rows":    {"k", "k"},
		"falling rows":  {"k2", "k1"},
		"falling short": {"kk", "k"},
	} {
		w := open()
		if err := w.AppendRow([]byte(rows[0]), v); err != nil {
			t.Fatal(err)
		}
		err := w.AppendRow([]byte(rows[1]), v)
		if e, ok := errors.AsType[*OrderError](err); !ok || !errors.Is(err, ErrOrder) || e.Key != strconv.Quote(rows[1]) || e.After != strconv.Quote(rows[0]) {
			t.Errorf("%s: %v", name, err)
		}
		if _, again := w.Finish(); again != err {
			t.Errorf("%s: Finish gives %v after %v", name, again, err)
		}
	}
	if err := open().AppendRow(bytes.Repeat([]byte("x"), MaxRowLen+1), v); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a row over the limit: %v", err)
	}
	if err := open().AppendRow([]byte("k"), v[:1]); fmt.Sprint(err) != "hfile: row of 1 bytes has 1 values for 2 qualifiers" {
		t.Errorf("a row of one value: %v", err)
	}
	if _, err := NewRowWriter(io.Discard, o, Schema{Qualifiers: [][]byte{[]byte("b"), []byte("a")}}); fmt.Sprint(err) != `hfile schema: qualifier "a" does not follow "b"` {
		t.Errorf("qualifiers out of order: %v", err)
	}
}

// checkRows returns rows like those of the check table: 65-byte keys, 18 columns.
func checkRows(n int) (Schema, [][]byte, [][][]byte, int64) {
	names := []string{"artificial_ver_result", "cause_code", "check_id", "create_by", "create_date", "del_flag", "hit_condition", "hit_ind", "id",
		"index_value", "opinin", "remarks", "rule_desc", "rule_no", "rule_type", "trunc_no", "update_by", "update_date"}
	s := Schema{Timestamp: 1700000000000}
	for _, q := range names {
		s.Qualifiers = append(s.Qualifiers, []byte(q))
	}
	r := rand.New(rand.NewPCG(1, 2))
	text := []string{"客户本人已核实", "命中黑名单规则；age < 22 or age > 55", "", "同意放款", "income_ratio >= 0.55 资料不全，退回补件"}
	var keys [][]byte
	var rows [][][]byte
	var size int64
	for range n {
		id := fmt.Sprintf("%016X%016X", r.Uint64(), r.Uint64())
		user := fmt.Sprintf("u%05d", r.IntN(100000))
		keys = append(keys, fmt.Appendf(nil, "%d%016x%016x%s", r.IntN(10), r.Uint64(), r.Uint64(), id))
		v := make([][]byte, len(names))
		for i, q := range names {
			switch q {
			case "id":
				v[i] = []byte(id)
			case "check_id":
				v[i] = fmt.Appendf(nil, "A%017d", r.IntN(1e9))
			case "create_by", "update_by":
				v[i] = []byte(user)
			case "create_date", "update_date":
				v[i] = fmt.Appendf(nil, "2017-%02d-%02d 10:%02d:%02d", 1+r.IntN(12), 1+r.IntN(28), r.IntN(60), r.IntN(60))
			case "hit_condition", "rule_desc", "remarks", "opinin":
				v[i] = []byte(text[r.IntN(len(text))])
			default:
				v[i] = []byte{"0123456789"[r.IntN(10)]}
			}
			size += int64(len(v[i]))
		}
		size += int64(len(keys[len(keys)-1]))
		rows = append(rows, v)
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return bytes.Compare(keys[a], keys[b]) })
	k2, r2 := make([][]byte, n), make([][][]byte, n)
	for i, j := range order {
		k2[i] = keys[j]
		// one slice per row, as the sort returns rows
		piece := bytes.Join(rows[j], nil)
		for _, v := range rows[j] {
			r2[i] = append(r2[i], piece[:len(v)])
			piece = piece[len(v):]
		}
	}
	return s, k2, r2, size
}

func benchmarkRows(b *testing.B, o Options) {
	const n = 50_000
	s, keys, rows, size := checkRows(n)
	o.Family = []byte("f")
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		w, err := NewRowWriter(io.Discard, o, s)
		if err != nil {
			b.Fatal(err)
		}
		for i, k := range keys {
			if err := w.AppendRow(k, rows[i]); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := w.Finish(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(b.N)*n*float64(len(s.Qualifiers))/b.Elapsed().Seconds(), "cells/s")
}

func BenchmarkRowWriter(b *testing.B) {
	b.Run("SnappyFastDiffRow", func(b *testing.B) {
		benchmarkRows(b, Options{Compression: CompressionSnappy, Encoding: EncodingFastDiff, Bloom: BloomRow})
	})
	b.Run("NoneFastDiffRow", func(b *testing.B) {
		benchmarkRows(b, Options{Encoding: EncodingFastDiff, Bloom: BloomRow})
	})
	b.Run("NoneNoneNone", func(b *testing.B) { benchmarkRows(b, Options{}) })
}

func BenchmarkWriter(b *testing.B) {
	const n = 20_000
	s, keys, rows, size := checkRows(n)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		w, err := NewWriter(io.Discard, Options{Compression: CompressionSnappy, Encoding: EncodingFastDiff, Bloom: BloomRow})
		if err != nil {
			b.Fatal(err)
		}
		c := Cell{Family: []byte("f"), Timestamp: s.Timestamp, Type: Put}
		for i, k := range keys {
			c.Row = k
			for j, v := range rows[i] {
				c.Qualifier, c.Value = s.Qualifiers[j], v
				if err := w.Append(&c); err != nil {
					b.Fatal(err)
				}
			}
		}
		if _, err := w.Finish(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*n*18/b.Elapsed().Seconds(), "cells/s")
}
