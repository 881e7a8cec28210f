package parquet

import (
	"encoding/json"
	"strings"
	"testing"

	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
)

// variantText returns the JSON of a VARIANT, of at most most bytes.
func variantText(meta, value string, most int) (string, error) {
	names, err := parseVariantNames([]byte(meta))
	if err != nil {
		return "", err
	}
	w := variantWriter{variantNames: names, most: most}
	dst, err := w.value(nil, []byte(value), 0)
	return string(dst), err
}

// variants are examples after the specification, with metadata of the names a and bc.
var variants = []struct{ value, want string }{
	{"\x00", "null"}, {"\x04", "true"}, {"\x08", "false"}, {"\x0c\xff", "-1"}, {"\x10\x00\x80", "-32768"}, {"\x14\x01\x00\x00\x00", "1"}, {"\x18\x00\x00\x00\x00\x00\x00\x00\x80", "-9223372036854775808"},
	{"\x1c\x00\x00\x00\x00\x00\x00\xf8\x3f", "1.5"}, {"\x1c\x00\x00\x00\x00\x00\x00\xf8\x7f", `"NaN"`}, {"\x20\x02\xce\x04\x00\x00", "12.3"}, {"\x24\x00\xff\xff\xff\xff\xff\xff\xff\xff", "-1"},
	{"\x28\x26\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "1.70141183460469231731687303715884105727"}, {"\x2c\x01\x00\x00\x00", `"1970-01-02"`},
	{"\x30\x40\x42\x0f\x00\x00\x00\x00\x00", `"1970-01-01 00:00:01+00:00"`}, {"\x34\xff\xff\xff\xff\xff\xff\xff\xff", `"1969-12-31 23:59:59.999999"`}, {"\x38\x00\x00\x80\x3f", "1.0"},
	{"\x3c\x02\x00\x00\x00\x00\xff", `"AP8="`}, {"\x40\x02\x00\x00\x00a\"", `"a\""`}, {"\x44\x40\x42\x0f\x00\x00\x00\x00\x00", `"00:00:01"`}, {"\x48\x01\x00\x00\x00\x00\x00\x00\x00", `"1970-01-01 00:00:00.000000001+00:00"`},
	{"\x4c\x01\x00\x00\x00\x00\x00\x00\x00", `"1970-01-01 00:00:00.000000001"`}, {"\x50\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff", `"00112233-4455-6677-8899-aabbccddeeff"`},
	{"\x0dabc", `"abc"`}, {"\x01", `""`}, {"\x03\x00\x00", "[]"}, {"\x03\x02\x00\x01\x03\x00\x0c\x07", "[null,7]"}, {"\x02\x00\x00", "{}"},
	{"\x02\x02\x00\x01\x02\x00\x03\x0c\x07\x04", `{"a":true,"bc":7}`}, {"\x13\x01\x00\x00\x00\x00\x01\x04", "[true]"},
}

const variantMeta = "\x11\x02\x00\x01\x03abc"

// TestVariantValues reads each type, and checks that truncated values and values beyond the limit are errors.
func TestVariantValues(t *testing.T) {
	for _, tt := range variants {
		if got, err := variantText(variantMeta, tt.value, 1<<20); err != nil || got != tt.want || !json.Valid([]byte(got)) {
			t.Errorf("%x: %s, %v, want %s", tt.value, got, err, tt.want)
		}
		for n := range len(tt.value) {
			if got, err := variantText(variantMeta, tt.value[:n], 1<<20); err == nil {
				t.Errorf("%x of %x: %s", tt.value[:n], tt.value, got)
			}
		}
	}
	if _, err := variantText(variantMeta, "\x40\x00\x01\x00\x00"+strings.Repeat("x", 256), 100); err != errLongJSON {
		t.Error(err)
	}
	// Nested arrays whose two elements have the same offset: short, but endless as JSON.
	bomb := "\x00"
	for range 60 {
		bomb = "\x03\x02\x00\x00" + string(rune(min(len(bomb), 127))) + bomb
	}
	if _, err := variantText(variantMeta, bomb, 1<<20); err != errLongJSON {
		t.Error(err)
	}
	deep := strings.Repeat("\x03\x01\x00\x01", maxVariantDepth+2) + "\x00"
	if _, err := variantText(variantMeta, deep, 1<<20); err != errVariantValue {
		t.Error(err)
	}
	for _, meta := range []string{"", "\x02", "\x01", "\x01\x01", "\x01\x01\x00", "\x01\xff\x00", "\xc1\xff\xff\xff\xff\x00"} {
		if _, err := variantText(meta, "\x00", 1); err == nil {
			t.Errorf("metadata %x", meta)
		}
	}
}

// TestVariantDamage changes bytes of values, and checks that the result is JSON or an error, without a panic.
func TestVariantDamage(t *testing.T) {
	r := testcheck.Rand(t)
	for range race.Cases(t, 100_000) {
		b := []byte(variants[r.IntN(len(variants))].value)
		b = append(b, variants[r.IntN(len(variants))].value...)
		meta := []byte(variantMeta)
		for range 1 + r.IntN(3) {
			b[r.IntN(len(b))] = byte(r.Uint32()) >> r.IntN(8)
			meta[r.IntN(len(meta))] ^= byte((1 << r.IntN(8)) >> r.IntN(9))
		}
		if got, err := variantText(string(meta), string(b), 1<<12); err == nil && (len(got) > 1<<13 || strings.ToValidUTF8(got, "") == got && !json.Valid([]byte(got))) {
			t.Fatalf("%x: %s", b, got)
		}
	}
}

// FuzzVariant reads any bytes as metadata and a value.
func FuzzVariant(f *testing.F) {
	for _, v := range variants {
		f.Add([]byte(variantMeta), []byte(v.value))
	}
	f.Fuzz(func(t *testing.T, meta, value []byte) {
		if got, err := variantText(string(meta), string(value), 1<<12); err == nil && len(got) > 1<<13 {
			t.Errorf("%d bytes", len(got))
		}
	})
}

// TestJavaNumbers checks that numbers are written in the format of Java.
func TestJavaNumbers(t *testing.T) {
	for _, tt := range []struct {
		f    float64
		size int
		want string
	}{
		{0, 64, "0.0"}, {3, 64, "3.0"}, {0.001, 64, "0.001"}, {0.00099, 64, "9.9E-4"}, {1e7, 64, "1.0E7"}, {9999999, 64, "9999999.0"}, {-1.25e-300, 64, "-1.25E-300"}, {float64(float32(1.1)), 32, "1.1"}, {-1e10, 32, "-1.0E10"},
	} {
		if got := string(appendJava(nil, tt.f, tt.size)); got != tt.want {
			t.Errorf("%g: %s, want %s", tt.f, got, tt.want)
		}
	}
}
