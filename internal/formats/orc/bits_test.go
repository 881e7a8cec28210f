package orc

import (
	"bytes"
	"encoding/binary"
	"math/big"
	"testing"

	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
)

// plainBits does the work of unpackBits bit by bit.
func plainBits(dst []int64, b []byte, width int) {
	for i := range dst {
		var v uint64
		for j := i * width; j < (i+1)*width; j++ {
			v = (v << 1) | uint64((b[j/8]>>(7-j%8))&1)
		}
		dst[i] = int64(v)
	}
}

// TestBits compares the words that unpackBits loads with single bits, for each width that a run can have.
func TestBits(t *testing.T) {
	r := testcheck.Rand(t)
	for n := range race.Cases(t, 20_000) {
		width := widthOf(n % 32)
		got, want := make([]int64, 1+r.IntN(60)), make([]int64, 60)
		want = want[:len(got)]
		b := make([]byte, (len(got)*width+7)/8+slack)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		unpackBits(got, b, width)
		plainBits(want, b, width)
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("%d bits, number %d: %x, want %x", width, i, got[i], want[i])
			}
		}
	}
	for n := range 65 {
		w := closestWidth(n)
		for code := range 32 {
			if other := widthOf(code); w < n || other >= n && other < w {
				t.Errorf("%d bits have the width %d and not %d", n, w, other)
			}
		}
	}
}

// TestDecimalBits compares numbers of up to 128 bits with math/big.
func TestDecimalBits(t *testing.T) {
	r := testcheck.Rand(t)
	for range race.Cases(t, 20_000) {
		hi, lo := r.Uint64()>>r.IntN(65), r.Uint64()>>r.IntN(65)
		n := new(big.Int).Add(new(big.Int).Lsh(new(big.Int).SetUint64(hi), 64), new(big.Int).SetUint64(lo))
		var b []byte
		for low := new(big.Int); n.BitLen() > 7; n.Rsh(n, 7) {
			b = append(b, byte(low.And(n, big.NewInt(127)).Uint64())|0x80)
		}
		b = append(b, byte(n.Uint64()))
		gotHi, gotLo, err := streamOf(b).uvarint128()
		if err != nil || gotHi != hi || gotLo != lo {
			t.Fatalf("%x: %x %x, %v, want %x %x", b, gotHi, gotLo, err, hi, lo)
		}
	}
	if _, _, err := streamOf(bytes.Repeat([]byte{0xff}, 30)).uvarint128(); err != errDecimal {
		t.Error(err)
	}
}

// streamOf returns an uncompressed stream of these bytes.
func streamOf(b []byte) *stream {
	return &stream{source: &source{raw: bytes.NewReader(b), limit: limited(1 << 20)}, end: int64(len(b))}
}

// TestRuns reads the examples of the specification, and damaged runs.
func TestRuns(t *testing.T) {
	for _, tt := range []struct {
		bytes          string
		signed, second bool
		want           []int64
	}{
		{"\x61\x00\x07", false, false, repeat(7, 0, 100)}, {"\x61\xff\x64", false, false, repeat(100, -1, 100)}, {"\xfb\x02\x03\x04\x07\x0b", false, false, []int64{2, 3, 4, 7, 11}},
		{"\x0a\x27\x10", false, true, repeat(10000, 0, 5)}, {"\x5e\x03\x5c\xa1\xab\x1e\xde\xad\xbe\xef", false, true, []int64{23713, 43806, 57005, 48879}},
		{"\x8e\x13\x2b\x21\x07\xd0\x1e\x00\x14\x70\x28\x32\x3c\x46\x50\x5a\x64\x6e\x78\x82\x8c\x96\xa0\xaa\xb4\xbe\xfc\xe8", false, true,
			[]int64{2030, 2000, 2020, 1000000, 2040, 2050, 2060, 2070, 2080, 2090, 2100, 2110, 2120, 2130, 2140, 2150, 2160, 2170, 2180, 2190}},
		{"\xc6\x09\x02\x02\x22\x42\x42\x46", false, true, []int64{2, 3, 5, 7, 11, 13, 17, 19, 23, 29}},
		{"\x07", true, true, nil}, {"\xc6\x09\x02", true, true, nil}, {"\xfb\x02", false, false, nil}, {"\x61\x00" + string(bytes.Repeat([]byte{0x80}, 11)), false, false, nil},
		{"\x8e\x13\x2b\x20\x07\xd0", false, true, nil},
	} {
		d := ints{stream: streamOf([]byte(tt.bytes)), signed: tt.signed, second: tt.second}
		got := make([]int64, max(len(tt.want), 1))
		err := d.read(got)
		if (err != nil) != (tt.want == nil) {
			t.Errorf("%x: %v", tt.bytes, err)
		}
		for i, w := range tt.want {
			if got[i] != w {
				t.Errorf("%x: number %d is %d, want %d", tt.bytes, i, got[i], w)
			}
		}
	}
}

func repeat(v, step int64, n int) (all []int64) {
	for range n {
		all = append(all, v)
		v += step
	}
	return all
}

// FuzzRuns reads any bytes as runs of numbers, and checks that nothing panics and that no numbers exceed the run.
func FuzzRuns(f *testing.F) {
	f.Add([]byte("\x8e\x13\x2b\x21\x07\xd0\x1e\x00\x14\x70\x28\x32\x3c\x46\x50\x5a\x64\x6e\x78\x82\x8c\x96\xa0\xaa\xb4\xbe\xfc\xe8"), true, true)
	f.Add([]byte("\xc6\x09\x02\x02\x22\x42\x42\x46"), false, true)
	f.Add(binary.AppendUvarint([]byte{0x10, 1}, 1<<63), true, false)
	f.Fuzz(func(t *testing.T, data []byte, signed, second bool) {
		d := ints{stream: streamOf(data), signed: signed, second: second}
		for n := 0; ; n++ {
			if _, err := d.next(); err != nil {
				return
			}
			if n > maxRun*len(data) {
				t.Fatal("more numbers than the runs can have")
			}
		}
	})
}
