package source

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

// TestZeroPadding checks that NUL bytes after and between the parts of compressed files, which tar and tapes add, are skipped if the format's own
// program skips them, and that all other bytes there are errors.
func TestZeroPadding(t *testing.T) {
	text := packedSample(t, "text.csv")
	zeros := make([]byte, 512)
	for name, data := range map[string][]byte{
		"x.gz": pack(t, "gz", text), "x.bz2": packedSample(t, "one.csv.bz2"), "x.xz": packedSample(t, "one.csv.xz"), "x.lz4": packedSample(t, "two.csv.lz4"),
		"x.zst": pack(t, "zst", text), "x.deflate": packedSample(t, "two.csv.deflate"), "x.sz": packedSample(t, "two.csv.sz"),
	} {
		reads := slices.Contains([]string{"x.gz", "x.bz2", "x.xz"}, name)
		for what, c := range map[string]struct {
			data []byte
			want []byte // nil: refused
		}{
			"behind":           {slices.Concat(data, zeros), text},
			"between":          {slices.Concat(data, zeros, data), slices.Concat(text, text)},
			"much":             {slices.Concat(data, make([]byte, 1<<20), data, zeros[:8]), slices.Concat(text, text)},
			"before":           {slices.Concat(zeros, data), nil},
			"behind a part":    {slices.Concat(data[:len(data)/2], zeros), nil},
			"behind most":      {slices.Concat(data[:len(data)-5], zeros), nil},
			"and other bytes":  {slices.Concat(data, zeros, []byte("xyz!")), nil},
			"of other bytes":   {slices.Concat(data, []byte("xyz!")), nil},
			"and half a magic": {slices.Concat(data, zeros, data[:1]), nil},
		} {
			got, _, err := unpacked(t, name, c.data, Options{})
			switch {
			case c.want != nil && reads:
				if err != nil || !bytes.Equal(got, c.want) {
					t.Errorf("%s, %s: %d bytes, want %d, %v", name, what, len(got), len(c.want), err)
				}
			case err == nil:
				t.Errorf("%s, %s: %d bytes and no error", name, what, len(got))
			case !strings.Contains(err.Error(), name):
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
	}
}

// TestSkippableFramesFirst checks that zstd and lz4 are recognized without their file name extension if skippable frames of any length come first.
func TestSkippableFramesFirst(t *testing.T) {
	frame := func(n int) []byte {
		return append(binary.LittleEndian.AppendUint32([]byte("\x5e\x2a\x4d\x18"), uint32(n)), make([]byte, n)...)
	}
	csv := []byte("a,b\n1,2\n")
	for name, data := range map[string][]byte{"zst": pack(t, "zst", csv), "lz4": pack(t, "lz4", csv)} {
		for _, first := range [][]byte{frame(4), frame(0), slices.Concat(frame(3), frame(200_000))} {
			got, err := loadBytes(t, Options{}, "part-0", slices.Concat(first, data))
			if err != nil || len(got) != 1 || got[0].Values[1] != "2" {
				t.Errorf("%s behind %d bytes: %v, %v", name, len(first), got, err)
			}
		}
	}
	if got, err := loadBytes(t, Options{Columns: []string{"a"}}, "part-0", frame(9)); err != nil || len(got) != 0 {
		t.Errorf("nothing else: %v, %v", got, err)
	}
	if _, err := loadBytes(t, Options{}, "part-0", slices.Concat(frame(9), csv)); err == nil || !strings.Contains(err.Error(), "part-0") {
		t.Errorf("text behind it: %v", err)
	}
}

// TestPackedTwiceIsRefused checks that files that are compressed twice are refused by their content, whatever their names are.
func TestPackedTwiceIsRefused(t *testing.T) {
	csv := []byte("a,b\n1,2\n")
	for _, c := range []struct{ name, inner, outer, want string }{
		{"x.csv.gz", "gz", "gz", "is compressed twice (gz within gz): unpack it once"},
		{"x.csv.gz.gz", "gz", "gz", "is compressed twice (gz within gz)"},
		{"part-0", "gz", "gz", "is compressed twice (gz within gz)"},
		{"x.csv.zst", "gz", "zst", "is compressed twice (gz within zst)"},
		{"x.jsonl.gz", "zst", "gz", "is compressed twice (zst within gz)"},
		{"x.gz", "lz4", "gz", "is compressed twice (lz4 within gz)"},
	} {
		for _, o := range []Options{{}, {Format: FormatDump, Columns: []string{"a", "b"}}} {
			_, err := loadBytes(t, o, c.name, pack(t, c.outer, pack(t, c.inner, csv)))
			wantRefused(t, c.name, err, c.name, c.want)
		}
	}
}
