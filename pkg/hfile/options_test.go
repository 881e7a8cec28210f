package hfile

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
)

// writeChecked writes some rows with these options and returns the result of [Check].
func writeChecked(t *testing.T, o Options) CheckResult {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, o)
	testcheck.Must(t, err)
	for i := range 300 {
		testcheck.Must(t, w.Append(&Cell{Row: fmt.Appendf(nil, "row-%06d", i), Family: []byte("f"), Qualifier: []byte("q"), Timestamp: 1, Type: Put, Value: []byte("v")}))
	}
	_, err = w.Finish()
	testcheck.Must(t, err)
	return Check(bytes.NewReader(out.Bytes()), int64(out.Len()), CheckOptions{Probes: 100})
}

// TestLimitsOfOptions checks that options up to their limits give sound files, and that those beyond, which do not fit in the fields of a file or
// make no filter, are refused with the setting's name.
func TestLimitsOfOptions(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	over := math.MaxInt32
	over++
	for _, c := range []struct {
		name      string
		good, bad []Options
	}{
		{"hbase.hstore.bytes.per.checksum", []Options{{BytesPerChecksum: 1}, {BytesPerChecksum: math.MaxInt32}}, []Options{{BytesPerChecksum: -1}, {BytesPerChecksum: over}}},
		{"hfile.index.block.max.size", []Options{{IndexBlockSize: 1, BlockSize: 64}, {IndexBlockSize: math.MaxInt32, BlockSize: 64}}, []Options{{IndexBlockSize: -1}, {IndexBlockSize: over}}},
		{"hfile.index.block.min.entries", []Options{{IndexMinEntries: 2, IndexBlockSize: 64, BlockSize: 64}, {IndexMinEntries: math.MaxInt32, IndexBlockSize: 64, BlockSize: 64}},
			[]Options{{IndexMinEntries: -1}, {IndexMinEntries: 1}, {IndexMinEntries: over}}},
		{"io.storefile.bloom.block.size", []Options{{Bloom: BloomRow, BloomBlockSize: 1}, {Bloom: BloomRowCol, BloomBlockSize: 1000}},
			[]Options{{BloomBlockSize: -1}, {BloomBlockSize: maxBloomBlock + 1}, {BloomBlockSize: 314572800}, {BloomBlockSize: math.MaxInt}}},
		{"RowPrefixBloomFilter.prefix_length", []Options{{Bloom: BloomRowPrefix, BloomPrefix: 1}, {Bloom: BloomRowPrefix, BloomPrefix: math.MaxInt32}, {BloomPrefix: -1}},
			[]Options{{Bloom: BloomRowPrefix}, {Bloom: BloomRowPrefix, BloomPrefix: -1}, {Bloom: BloomRowPrefix, BloomPrefix: over}}},
		{"io.storefile.bloom.error.rate", []Options{{Bloom: BloomRow, BloomErrorRate: .6}, {Bloom: BloomRow, BloomErrorRate: math.SmallestNonzeroFloat32}, {Bloom: BloomRowCol, BloomErrorRate: 1e-15}, {Bloom: BloomRowCol, BloomErrorRate: .8}},
			[]Options{{BloomErrorRate: -.1}, {BloomErrorRate: 1}, {BloomErrorRate: float32(nan)}, {BloomErrorRate: float32(inf)}, {Bloom: BloomRow, BloomErrorRate: .62}, {Bloom: BloomRow, BloomErrorRate: .99},
				{Bloom: BloomRowCol, BloomErrorRate: .9}, {Bloom: BloomRowCol, BloomErrorRate: 1e-17}, {Bloom: BloomRowCol, BloomErrorRate: math.SmallestNonzeroFloat32}}},
		{"hbase.writer.unified.encoded.blocksize.ratio", []Options{{Encoding: EncodingFastDiff, EncodedRatio: 16384}, {Encoding: EncodingFastDiff, EncodedRatio: 1e-9}},
			[]Options{{EncodedRatio: -1}, {EncodedRatio: nan}, {EncodedRatio: inf}, {EncodedRatio: 16385}, {EncodedRatio: 1e300}}},
		{"block size", []Options{{BlockSize: 1}, {BlockSize: MaxBlockSize}}, []Options{{BlockSize: -1}, {BlockSize: MaxBlockSize + 1}}},
	} {
		for _, o := range c.good {
			if res := writeChecked(t, o); !res.OK {
				t.Errorf("%s: %+v: %v", c.name, o, res.Errors)
			}
		}
		for _, o := range c.bad {
			if err := o.Validate(); err == nil || !strings.Contains(err.Error(), c.name) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%+v: %v, want an error about %s", o, err, c.name)
			}
		}
	}
}

// TestGreatestBloomChunk checks that the filter of the greatest chunks finds its rows.
func TestGreatestBloomChunk(t *testing.T) {
	if testing.Short() {
		t.Skip("a chunk has 256 MiB")
	}
	if res := writeChecked(t, Options{Bloom: BloomRow, BloomBlockSize: maxBloomBlock}); !res.OK {
		t.Error(res.Errors)
	}
}

// TestBlockBeyondItsFields checks that a block whose sizes do not fit in its header is refused, however well it is packed: cells with equal keys
// are all in one block.
func TestBlockBeyondItsFields(t *testing.T) {
	over := math.MaxInt32
	over++
	if over < 0 {
		t.Skip("an int has 32 bits")
	}
	o := Options{}.withDefaults()
	b := newBlockWriter(io.Discard, &o)
	b.writePacked(kindData, make([]byte, 10), over)
	if b.err == nil {
		t.Error("a payload of 2 GiB")
	}
	w, err := NewWriter(io.Discard, Options{Encoding: EncodingFastDiff})
	testcheck.Must(t, err)
	testcheck.Must(t, w.Append(&Cell{Row: []byte("a"), Family: []byte("f"), Timestamp: 1, Type: Put}))
	w.unencoded += over // of equal cells
	if _, err := w.Finish(); err == nil || !strings.Contains(err.Error(), "more than a block can have") {
		t.Errorf("cells of 2 GiB: %v", err)
	}
}
