package parquet

import (
	"math"
	"strings"
	"testing"
	"time"

	"bulkload/internal/formats/valuetext"
	"bulkload/pkg/source/span"
)

// FuzzParquetPage gives pages directly to the decoders, since FuzzParquet's damage is mostly found by checksums or in
// compressed pages.
func FuzzParquetPage(f *testing.F) {
	f.Add([]byte{4, 0, 0, 0, 0x03, 0xff, 1, 0, 3, 0, 0, 0, 'a', 'b', 'c'}, byte(0), byte(0), uint16(8), true)
	f.Add([]byte{128, 1, 4, 3, 2, 2, 1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}, byte(5), byte(2), uint16(3), false)
	f.Add([]byte{3, 0x11, 0x05, 0x02}, byte(8), byte(0), uint16(40), false)
	f.Add([]byte{128, 1, 4, 1, 2, 0, 128, 1, 4, 1, 2, 'x'}, byte(7), byte(0), uint16(1), false)
	f.Fuzz(func(t *testing.T, data []byte, enc, typ byte, values uint16, optional bool) {
		types := []columnType{{kind: kindText, bytes: true}, {kind: kindText, width: 3, bytes: true}, {kind: kindInt, width: 4}, {kind: kindTimestamp, width: 8, unit: 1e6},
			{kind: kindBool, width: 1}, {kind: kindDecimal, bytes: true, scale: 3}, {kind: kindDouble, width: 8}}
		p := &pageReader{levels: make([]uint32, MaxRows), index: make([]uint32, MaxRows), limit: limited(1 << 20), pages: &pageSource{}}
		c := columnReader{typ: types[int(typ)%len(types)]}
		if optional {
			c.typ.def = 1 + int(typ>>4)%4
			c.typ.rep = min(int(values>>14), c.typ.def)
		}
		p.arena.want(c.pageRegion(), 0)
		p.arena.want(c.dictRegion(), 0)
		entries := len(data) / 8
		if c.dictionary(p, pageHeader{kind: pageDictionary, unpacked: len(data), packed: len(data), values: entries}, data) != nil {
			c.dict = c.dict[:0]
		}
		h := pageHeader{kind: pageData, unpacked: len(data), packed: len(data), values: int(values), encoding: encoding(enc % 10), defEncoding: encRLE, repEncoding: encRLE}
		if enc >= 128 {
			h.defEncoding, h.repEncoding = encBitPacked, encBitPacked
		}
		if c.page(p, h, data) != nil {
			return
		}
		if n := len(p.arena.buf); n > 1<<21 {
			t.Fatalf("%d bytes beyond a memory of %d", n, p.limit.Bytes)
		}
		for c.left > 0 {
			n := min(c.left, MaxRows)
			p.arena.reset()
			spans := make([]span.Span, n)
			var err error
			if c.typ.rep > 0 {
				err = c.takeEntries(p, make([]uint32, n), make([]uint32, n), spans)
			} else {
				err = c.take(p, spans, 1, n)
			}
			if err != nil {
				return
			}
			for _, s := range spans {
				_ = s.Of(p.arena.buf)
			}
		}
	})
}

func TestFloatText(t *testing.T) {
	for _, tt := range []struct {
		f    float64
		size int
		want string
	}{
		{3, 64, "3"}, {0.1, 64, "0.1"}, {float64(float32(0.1)), 32, "0.1"}, {1e20, 64, "100000000000000000000"}, {1e21, 64, "1e+21"},
		{1e-6, 64, "0.000001"}, {1.5e-7, 64, "1.5e-07"}, {math.Inf(-1), 64, "-Infinity"}, {math.NaN(), 32, "NaN"}, {math.Copysign(0, -1), 64, "-0"},
	} {
		if got := string(valuetext.AppendFloat(nil, tt.f, tt.size)); got != tt.want {
			t.Errorf("%g: %s, want %s", tt.f, got, tt.want)
		}
	}
}

// TestDateText compares the calendar with the standard library's.
func TestDateText(t *testing.T) {
	for day := int64(-720000); day < 2932896; day += 13 {
		want := time.Unix(day*86400, 0).UTC().Format("2006-01-02")
		if got := string(valuetext.AppendDate(nil, day)); got != want {
			t.Fatalf("day %d: %s, want %s", day, got, want)
		}
	}
}

func TestDecimalText(t *testing.T) {
	for _, tt := range []struct {
		bytes string
		scale int
		want  string
	}{
		{"\x00", 2, "0.00"}, {"\xff", 2, "-0.01"}, {"\x04\xd2", 2, "12.34"}, {"\x04\xd2", 0, "1234"}, {"", 1, "0.0"}, {"\x05", 5, "0.00005"},
		{"\x80" + strings.Repeat("\x00", 15), 0, "-170141183460469231731687303715884105728"},
		{"\x7f" + strings.Repeat("\xff", 15), 38, "1.70141183460469231731687303715884105727"},
		{"\x01" + strings.Repeat("\x00", 16), 1, "34028236692093846346337460743176821145.6"},
		{"\xfe" + strings.Repeat("\x00", 16), 0, "-680564733841876926926749214863536422912"},
		{strings.Repeat("\xff", 20) + "\x9c", 1, "-10.0"},
	} {
		if got := string(valuetext.AppendDecimal(nil, []byte(tt.bytes), tt.scale)); got != tt.want {
			t.Errorf("%x: %s, want %s", tt.bytes, got, tt.want)
		}
	}
}

// TestLargeDecimals checks that a decimal of very many bytes is an error of the file: the time for its digits grows with their square. Redundant bytes of the sign do
// not count.
func TestLargeDecimals(t *testing.T) {
	for v, fault := range map[string]bool{strings.Repeat("\x00", 5000) + "\x07": false, strings.Repeat("x", 1024): false, strings.Repeat("x", 1025): true} {
		c := columnType{kind: kindDecimal, bytes: true}
		text := c.append(nil, []byte(v))
		if (c.fault != nil) != fault || fault == (len(text) > 0) {
			t.Errorf("%d bytes: %.20s, %v", len(v), text, c.fault)
		}
	}
}
