package charset

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"

	"bulkload/pkg/keygen"
)

// A known set is built on its first lookup: its tables take up to 350 KiB and some milliseconds.
type known struct {
	name    string
	aliases string // other names in MySQL, PostgreSQL, Oracle and Java; separated by blanks
	get     func() *Charset
}

// sets are the sets that Lookup finds, the more likely ones first.
var sets = []known{
	add("utf-8", "utf8mb4 utf8mb3 al32utf8 65001", plain(Charset{form: utf8Text, safe: 0x80})),
	add("gb18030", "gbk gb2312 gb231280 euccn cp936 windows936 ms936 936 zhs16gbk zhs32gb18030 xgbk", fromTables(Charset{form: gb18030, safe: 0x30, asciiTrail: true, plain: true}, simplifiedchinese.GB18030, privateGB18030())),
	add("us-ascii", "ascii sqlascii us7ascii ansix3.41968", ascii),
	add("utf-16", "unicode", plain(Charset{form: utf16Text})),
	add("utf-16le", "unicodelittle ucs2le 1200", plain(Charset{form: utf16Text, order: binary.LittleEndian})),
	add("utf-16be", "unicodebig ucs2be 1201", plain(Charset{form: utf16Text, order: binary.BigEndian})),
	add("big5", "big5hkscs cp950 windows950 ms950 950 zht16mswin950 zht16big5", fromTables(Charset{form: double, safe: 0x40, asciiTrail: true, plain: true}, traditionalchinese.Big5, nil)),
	add("shift_jis", "sjis cp932 windows932 windows31j ms932 932 xsjis ja16sjis", fromTables(Charset{form: double, safe: 0x40}, japanese.ShiftJIS, private932())),
	add("euc-jp", "ujis eucjpms xeucjp ja16euc", fromTables(Charset{form: eucJP, safe: 0x80}, japanese.EUCJP, nil)),
	add("euc-kr", "cp949 uhc windows949 ms949 949 ksc56011987 ko16mswin949 ko16ksc5601", fromTables(Charset{form: double, safe: 0x41, plain: true}, korean.EUCKR, private949())),
	addCodePage("cp1252", "latin1 we8mswin1252", charmap.Windows1252),
	addCodePage("iso-8859-1", "l1 we8iso8859p1", charmap.ISO8859_1),
	addCodePage("iso-8859-2", "latin2 ee8iso8859p2", charmap.ISO8859_2),
	addCodePage("iso-8859-3", "latin3", charmap.ISO8859_3),
	addCodePage("iso-8859-4", "latin4", charmap.ISO8859_4),
	addCodePage("iso-8859-5", "cyrillic", charmap.ISO8859_5),
	addCodePage("iso-8859-6", "arabic", charmap.ISO8859_6),
	addCodePage("iso-8859-7", "greek", charmap.ISO8859_7),
	addCodePage("iso-8859-8", "hebrew", charmap.ISO8859_8),
	addCodePage("iso-8859-9", "latin5", charmap.ISO8859_9),
	addCodePage("iso-8859-10", "latin6", charmap.ISO8859_10),
	addCodePage("iso-8859-13", "latin7", charmap.ISO8859_13),
	addCodePage("iso-8859-14", "latin8", charmap.ISO8859_14),
	addCodePage("iso-8859-15", "latin9 we8iso8859p15", charmap.ISO8859_15),
	addCodePage("iso-8859-16", "latin10", charmap.ISO8859_16),
	addCodePage("cp1250", "ee8mswin1250", charmap.Windows1250),
	addCodePage("cp1251", "cl8mswin1251", charmap.Windows1251),
	addCodePage("cp1253", "el8mswin1253", charmap.Windows1253),
	addCodePage("cp1254", "tr8mswin1254", charmap.Windows1254),
	addCodePage("cp1255", "", charmap.Windows1255),
	addCodePage("cp1256", "", charmap.Windows1256),
	addCodePage("cp1257", "", charmap.Windows1257),
	addCodePage("cp1258", "", charmap.Windows1258),
	addCodePage("koi8-r", "cp20866", charmap.KOI8R),
	ebcdic("cp037", "ibm037 ibm37 cp37 ebcdiccpus ebcdic", charmap.CodePage037, ""),
	ebcdic("cp500", "ibm500 ibm00500", charmap.CodePage037, "\x4a[\x4f!\x5a]\x5f^\xb0¢\xba¬\xbb|"),
	ebcdic("cp1047", "ibm1047", charmap.CodePage1047, ""),
	ebcdic("cp1140", "ibm1140 ibm01140", charmap.CodePage1140, ""),
}

func add(name, aliases string, make func(name string) *Charset) known {
	return known{name, aliases, sync.OnceValue(func() *Charset { return make(name) })}
}

// plain builds a set that needs no tables.
func plain(c Charset) func(string) *Charset {
	return func(name string) *Charset {
		c.name = name
		return &c
	}
}

// fromTables builds a set from an encoding of x/text, with private characters for the pairs that the encoding does not have.
func fromTables(c Charset, from encoding.Encoding, private []privateRun) func(string) *Charset {
	return func(name string) *Charset {
		c.name, c.tables = name, makeTables(c.form, from)
		c.privateUse(private)
		return &c
	}
}

func addCodePage(name, aliases string, from encoding.Encoding) known {
	if number, ok := strings.CutPrefix(name, "cp"); ok {
		aliases += " windows" + number + " win" + number + " " + number
	}
	return add(name, aliases, fromTables(Charset{form: single, safe: 0x80}, from, nil))
}

// ebcdic returns a code page of mainframes, in which no byte is safe to read as ASCII. others lists bytes, each followed by the character that replaces
// the one in from.
func ebcdic(name, aliases string, from encoding.Encoding, others string) known {
	return add(name, aliases, func(name string) *Charset {
		t := makeTables(single, from)
		for len(others) > 0 {
			_, n := utf8.DecodeRuneInString(others[1:])
			t.one[others[0]] = entryOf(others[1:1+n], 1)
			others = others[1+n:]
		}
		return &Charset{name: name, form: single, tables: t}
	})
}

// ascii builds Latin-1 without its upper half.
func ascii(name string) *Charset {
	t := makeTables(single, charmap.ISO8859_1)
	for i := range t.one[0x80:] {
		t.one[0x80+i] = entryOf(replacement, 1) | rare
	}
	return &Charset{name: name, form: single, safe: 0x80, tables: t}
}

// fold returns a name in lower case, without -, _ and blanks.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		case r == '-' || r == '_' || r == ' ':
			return -1
		}
		return r
	}, name)
}

// Lookup finds a set by a common name: "GBK", "utf8mb4", "ISO_8859-1", "Windows-1252", "WE8MSWIN1252". Case, blanks, - and _ are ignored. The package
// comment explains the less obvious names.
func Lookup(name string) (*Charset, error) {
	folded := fold(name)
	for _, k := range sets {
		if fold(k.name) == folded || folded != "" && slices.Contains(strings.Fields(k.aliases), folded) {
			return k.get(), nil
		}
	}
	if near := similarNames(folded); near != "" {
		return nil, fmt.Errorf("character set %q is not known; did you mean %s?", name, near)
	}
	return nil, fmt.Errorf("character set %q is not known; use one of %s", name, strings.Join(Names(), ", "))
}

// Names returns the canonical names of all sets.
func Names() []string {
	names := make([]string, len(sets))
	for i, k := range sets {
		names[i] = k.name
	}
	return names
}

// similarNames returns up to four canonical names that are similar to a folded name.
func similarNames(folded string) string {
	var known, names []string
	canonical := map[string]string{}
	for _, k := range sets {
		for _, name := range append(strings.Fields(k.aliases), fold(k.name)) {
			known, canonical[name] = append(known, name), k.name
		}
	}
	for _, near := range keygen.Nearest(folded, known) {
		if name := canonical[near]; len(names) < 4 && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}
