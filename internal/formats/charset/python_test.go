package charset

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

// pythonRows returns the rows of a file of testdata/python, whose format python.py describes.
func pythonRows(t *testing.T, name string) []string {
	t.Helper()
	f, err := os.Open("testdata/python/" + name + ".gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(all), "\xff"), "\xff")
}

// difference counts the byte sequences that Python and a set decode differently.
type difference struct {
	set                string
	fewer, more, other int
	others             string // characters that both decode, differently
}

func (d *difference) add(c *Charset, python rune, src ...byte) {
	got, bad := c.Append(nil, src)
	switch {
	case python == '\ufffc' && utf8.RuneCount(got) == 2, python == '\ufffc' && string(got) == "\ufffc":
	case string(got) == string(python):
	case python == utf8.RuneError && bad < 0:
		d.more++
	case python == utf8.RuneError:
	case bad >= 0:
		d.fewer++
	default:
		d.other++
		d.others += fmt.Sprintf(" %x:%s%c", src, got, python)
	}
}

func fourBytes(n int) []byte {
	return []byte{0x81 + byte(n/12600), '0' + byte(n/1260%10), 0x81 + byte(n/10%126), '0' + byte(n%10)}
}

// TestPython compares all characters that Python's multibyte codecs decode. Each set decodes all of Python's characters
// except four single bytes of code page 932; the few characters that differ are those on which vendors disagree.
func TestPython(t *testing.T) {
	for _, test := range []struct {
		codec string
		want  difference
	}{
		// More: 80, and numbers of four bytes whose characters have pairs too.
		{"gb18030", difference{"gb18030", 0, 130, 0, ""}},
		// More: GB18030's pairs, most of them private.
		{"gbk", difference{"gb18030", 0, 2279, 0, ""}},
		{"big5hkscs", difference{"big5", 0, 192, 11, " a145:‧• a14e:﹑､ a1c2:¯‾ a1e3:～∼ a1f2:⊕♁ a1f3:⊙☉ a241:∕／ a242:﹨＼ a244:￥¥ a246:￠¢ a247:￡£"}},
		// Fewer: A0, FD, FE, FF.
		{"cp932", difference{"shift_jis", 4, 0, 0, ""}},
		{"euc_jp", difference{"euc-jp", 0, 457, 7, " a1c1:～〜 a1c2:∥‖ a1dd:－− a1f1:￠¢ a1f2:￡£ a2cc:￢¬ 8fa2b7:～~"}},
		// More: user-defined characters, which Java and Windows have.
		{"cp949", difference{"euc-kr", 0, 188, 0, ""}},
	} {
		c := mustLookup(t, test.want.set)
		got := difference{set: c.name}
		rows := pythonRows(t, test.codec)
		alone := []rune(rows[0])
		rows = rows[1:]
		for b, r := range alone {
			got.add(c, r, byte(b))
			if b < 0x80 || r != utf8.RuneError {
				continue
			}
			for trail, r := range []rune(rows[0]) {
				got.add(c, r, byte(b), byte(trail))
			}
			rows = rows[1:]
		}
		switch test.codec {
		case "gb18030":
			for n, r := range []rune(rows[0]) {
				got.add(c, r, fourBytes(n)...)
			}
			h := sha256.New()
			for n := range 0x100000 {
				out, _ := c.Append(nil, fourBytes(fourAstral+n))
				h.Write(out)
			}
			if sum := hex.EncodeToString(h.Sum(nil)); sum != rows[1] {
				t.Errorf("characters from U+10000 on: digest %s, Python's %s", sum, rows[1])
			}
		case "euc_jp":
			for i, row := range rows {
				for j, r := range []rune(row) {
					got.add(c, r, eucThree, 0xa1+byte(i), 0xa1+byte(j))
				}
			}
		}
		if got != test.want {
			t.Errorf("%s: %+v, not %+v", test.codec, got, test.want)
		}
	}
}

// TestPythonSingles compares all single-byte sets. Except for part 1, this package's parts of ISO 8859 have no
// characters from 80 to 9F, and its Windows pages have more control characters than Python's.
func TestPythonSingles(t *testing.T) {
	rows := pythonRows(t, "singles")
	if len(rows) != 2*24 {
		t.Fatalf("%d rows", len(rows))
	}
	for ; len(rows) > 0; rows = rows[2:] {
		name := strings.ReplaceAll(strings.ReplaceAll(rows[0], "iso8859_", "iso-8859-"), "_", "-")
		c := mustLookup(t, name)
		if c.name != name {
			t.Errorf("%s is %s", name, c.name)
		}
		for b, r := range []rune(rows[1]) {
			got, bad := c.Append(nil, []byte{byte(b)})
			control := 0x80 <= b && b < 0xa0
			switch {
			case string(got) == string(r):
			case r == utf8.RuneError && string(got) == string(rune(b)) && control:
			case int(r) == b && bad == 0 && control && strings.HasPrefix(name, "iso-8859-") && name != "iso-8859-1":
			case name == "cp1255" && b == 0xca && string(got) == "\u05ba":
			default:
				t.Errorf("%s: %x is %q, Python's %q", name, b, got, r)
			}
		}
	}
}
