package delimited

import (
	"fmt"
	"slices"
	"testing"

	"bulkload/internal/formats/charset"
)

// FuzzScan compares any bytes in any dialect with the plain reader, as a whole and in pieces. In a character set the scan must end, and have the same
// result in pieces.
func FuzzScan(f *testing.F) {
	all := dialects(f)
	var names []string
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	for i := range names {
		f.Add([]byte("a,\"b\"\"\n\",\\N\t\x01x\\\ny\x10#,;,\n\"\",#;#\n"), uint8(i), uint8(3), uint8(5))
		f.Add([]byte("\xd5\x5c\x0a,\x81\x7c\t\x84\x31\xa4\x37\n\xff"), uint8(i), uint8(2), uint8(1))
	}
	gbk, err := charset.Lookup("gbk")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte, which, columns, size uint8) {
		d, cols := all[names[int(which)%len(names)]], 1+int(columns)%4
		piece := func(left int) int { return min(left, 1+int(size)%40) }
		whole := func(left int) int { return left }
		want := fmt.Sprintf("%#v", plainRead(d, string(text), cols))
		for _, p := range []func(int) int{whole, piece} {
			if got := fmt.Sprintf("%#v", scanAll(t, New(d, cols, nil), string(text), p)); got != want {
				t.Fatalf("%s, %q of %d columns:\n%s, want\n%s", names[int(which)%len(names)], text, cols, got, want)
			}
		}
		a := fmt.Sprintf("%#v", scanAll(t, New(d, cols, gbk), string(text), whole))
		if b := fmt.Sprintf("%#v", scanAll(t, New(d, cols, gbk), string(text), piece)); a != b {
			t.Fatalf("%s, %q of %d columns in GBK:\n%s, in pieces\n%s", names[int(which)%len(names)], text, cols, a, b)
		}
		if d.Cuttable() {
			_ = followed(t, d, nil, string(text), 1+int(size)%40)
		}
	})
}
