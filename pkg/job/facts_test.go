package job

import (
	"errors"
	"strings"
	"testing"

	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
)

// TestFamilySettings takes a descriptor over, and refuses by name what cannot be written.
func TestFamilySettings(t *testing.T) {
	f, err := familySettings(loader.Family{Name: "f", Compression: "SNAPPY", Encoding: "FAST_DIFF", Bloom: "ROWPREFIX_FIXED_LENGTH", BloomParam: "5", BlockSize: 8192})
	want := Family{Name: "f", Compression: hfile.CompressionSnappy, Encoding: hfile.EncodingFastDiff, Bloom: hfile.BloomRowPrefix, BloomPrefix: 5, BlockSize: 8192}
	if err != nil || f != want {
		t.Errorf("%+v, %v", f, err)
	}
	for name, cf := range map[string]loader.Family{
		"BROTLI":      {Compression: "BROTLI"},
		"PREFIX_TREE": {Encoding: "PREFIX_TREE"},
		"AES":         {Attributes: map[string]string{"ENCRYPTION": "AES"}},
	} {
		if _, err := familySettings(cf); !errors.Is(err, hfile.ErrUnsupported) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestZstdFraming(t *testing.T) {
	for class, want := range map[string]hfile.ZstdFraming{
		"": hfile.ZstdPlain, "org.apache.hadoop.io.compress.ZStandardCodec": hfile.ZstdPlain,
		"org.apache.hadoop.hbase.io.compress.zstd.ZstdCodec": hfile.ZstdBlocks, "org.apache.hadoop.hbase.io.compress.aircompressor.ZstdCodec": hfile.ZstdBlocks,
	} {
		if got := zstdFraming(class); got != want {
			t.Errorf("%q: framing %d, want %d", class, got, want)
		}
	}
}
