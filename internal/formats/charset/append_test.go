package charset

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// TestBad checks the offset of the first invalid bytes, and that an encoded U+FFFD is not one of them.
func TestBad(t *testing.T) {
	for _, test := range []struct {
		charset, src, want string
		bad                int
	}{
		{"gbk", "", "", -1},
		{"gbk", "a\x80b\xa2\xe3", "a€b€", -1},
		{"gbk", "\xd5\x5c\n", "誠\n", -1},
		{"gbk", "\xb0\x7c|", "皘|", -1},
		{"gb18030", "\x84\x31\xa4\x37", "\ufffd", -1},
		{"gb18030", "\x84\x31\xa4\x37\xff", "\ufffd\ufffd", 4},
		{"gb18030", "\x94\x39\xfc\x36", "😀", -1},
		{"gb18030", "\xb0\xa1\x84\x31\xa4", "啊\ufffd1\ufffd", 2},
		{"gb18030", "12345678\xb0", "12345678\ufffd", 8},
		{"gb18030", "\xb0\n\xb0\xa1", "\ufffd\n啊", 0},
		{"gb18030", "\x81\x3a\x81\x30", "\ufffd:\ufffd0", 0},
		{"gb18030", "\xe3\x32\x9a\x35", "\U0010ffff", -1},
		{"gb18030", "\xe3\x32\x9a\x36", "\ufffd2\ufffd6", 0},
		{"gb18030", "\xaa\xa1\xf8\xa1\xa1\x40", "\ue000\ue234\ue4c6", -1},
		{"gb18030", "\xa1\xa1\xa3\xa0", "\u3000\ue5e5", -1},
		{"big5", "\xa4\x40\x88\x62\xfa\x40", "一Ê̄𠕇", -1},
		{"big5", "\xa4", "\ufffd", 0},
		{"shift_jis", "\x95\x5c\xb1\x81\x30", "表ｱ\ufffd0", 3},
		{"cp932", "\xf0\x40\xf9\xfc", "\ue000\ue757", -1},
		{"euc-jp", "\x8f\xb0\xa1\x8e\xb1\xb0\xa1\x8f\xb0", "丂ｱ亜\ufffd", 7},
		{"cp949", "\xc9\xa1\xc9\xfe\xfe\xa1\xfe\xfe", "\ue000\ue05d\ue05e\ue0bb", -1},
		{"cp949", "\xb0\xa1\x81\x41\x81\x30", "가갂\ufffd0", 4},
		{"utf-8", "a支\ufffd😀", "a支\ufffd😀", -1},
		{"utf-8", "ab\xe6\x94", "ab\ufffd\ufffd", 2},
		{"utf-8", "\xed\xa0\x80", "\ufffd\ufffd\ufffd", 0},
		{"us-ascii", "abcdefghi\x80", "abcdefghi\ufffd", 9},
		{"latin1", "\x80\xe9", "€é", -1},
		{"iso-8859-1", "\x80\xe9", "\u0080é", -1},
		{"iso-8859-15", "\xa4", "€", -1},
		{"iso-8859-3", "12345678\xa4\xa5", "12345678¤\ufffd", 9},
		{"utf-16le", "a\x00b\x00c\x00d\x00/e\x3d\xd8\x00\xde", "abcd支😀", -1},
		{"utf-16be", "\x00a\x65\x2f\xd8\x3d\xde\x00\xff\xfd", "a支😀\ufffd", -1},
		{"utf-16le", "a\x00\x00\xdea\x00", "a\ufffda", 2},
		{"utf-16le", "a\x00\x3d\xd8a\x00", "a\ufffda", 2},
		{"utf-16le", "a\x00\x3d\xd8", "a\ufffd", 2},
		{"utf-16be", "\x00a\x00", "a\ufffd", 2},
		{"utf-16", "\xfe\xff\x00a", "a", -1},
		{"utf-16", "\xff\xfea\x00", "a", -1},
		{"utf-16", "a\x00", "\ufffd", 0},
		{"utf-16", "", "", -1},
	} {
		got, bad := mustLookup(t, test.charset).Append([]byte("= "), []byte(test.src))
		if string(got) != "= "+test.want || bad != test.bad {
			t.Errorf("%s: %q: %q, bad %d; want %q, %d", test.charset, test.src, got[2:], bad, test.want, test.bad)
		}
	}
}

// TestSafe checks the bound of every set: all bytes below it are ASCII, and none of them is part of another character.
func TestSafe(t *testing.T) {
	want := map[string]byte{"gb18030": 0x30, "big5": 0x40, "shift_jis": 0x40, "euc-kr": 0x41, "utf-16": 0, "utf-16le": 0, "utf-16be": 0, "cp037": 0, "cp500": 0, "cp1047": 0, "cp1140": 0}
	for _, name := range Names() {
		c := mustLookup(t, name)
		safe, odd := want[name]
		if !odd {
			safe = 0x80
		}
		if c.Safe() != safe {
			t.Errorf("%s: safe below %x", name, c.Safe())
		}
		for lead := 0x80; lead < 0x100; lead++ {
			for b := range c.Safe() {
				got, _ := c.Append(nil, []byte{byte(lead), b, byte(lead), b, b})
				if n := bytes.Count(got, []byte{b}); n != 3 {
					t.Fatalf("%s: %x %x: %q", name, lead, b, got)
				}
			}
		}
	}
}

// TestAppendAllocates checks that Append does not allocate if dst has room.
func TestAppendAllocates(t *testing.T) {
	src := bytes.Repeat([]byte("CK00001|"), 30)
	for _, name := range Names() {
		c := mustLookup(t, name)
		dst := make([]byte, 0, 3*len(src)+slack)
		if n := testing.AllocsPerRun(20, func() { c.Append(dst, src) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
		if n := testing.AllocsPerRun(20, func() { c.Starts(src, 1) }); n != 0 {
			t.Errorf("%s: %v allocations for places", name, n)
		}
	}
	// The buffer grows in proportion to the text, not to its longest possible result.
	c := mustLookup(t, "gbk")
	out, _ := c.Append(nil, bytes.Repeat(src, 1000))
	if cap(out) > 2*len(out)+3*chunk+slack {
		t.Errorf("%d bytes for %d", cap(out), len(out))
	}
}

// TestGoroutines looks up and uses each set in many goroutines concurrently.
func TestGoroutines(t *testing.T) {
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for _, name := range Names() {
				if c, err := Lookup(strings.ToUpper(name)); err != nil || c.Name() != name {
					t.Error(name, err)
				} else if got, _ := c.Append(nil, []byte("a\xb0\xa1")); !utf8.Valid(got) {
					t.Errorf("%s: %q", name, got)
				}
			}
		})
	}
	all.Wait()
}
