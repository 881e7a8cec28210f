package charset

import (
	"strings"
	"testing"
)

// TestLookup checks names in the spelling of MySQL, PostgreSQL, Oracle, Java, Python and users.
func TestLookup(t *testing.T) {
	for want, names := range map[string]string{
		"utf-8":       "UTF-8 utf8 utf8mb4 utf8mb3 UTF_8 AL32UTF8",
		"gb18030":     "gbk GBK gb2312 GB_2312-80 cp936 CP-936 MS936 EUC_CN GB18030 ZHS16GBK x-gbk windows-936",
		"us-ascii":    "ascii US-ASCII SQL_ASCII",
		"utf-16":      "utf-16 UTF16",
		"utf-16le":    "UTF-16LE utf_16_le utf16le",
		"utf-16be":    "UTF-16BE utf_16_be",
		"big5":        "Big5 cp950 big5-hkscs",
		"shift_jis":   "Shift_JIS shift-jis sjis cp932 Windows-31J",
		"euc-jp":      "EUC-JP euc_jp ujis",
		"euc-kr":      "EUC-KR euckr cp949 UHC",
		"cp1252":      "latin1 LATIN1 Windows-1252 cp1252 win1252 1252 WE8MSWIN1252",
		"iso-8859-1":  "ISO-8859-1 ISO_8859-1 iso8859-1 l1 WE8ISO8859P1",
		"iso-8859-15": "ISO-8859-15 latin9 ISO8859_15",
		"iso-8859-9":  "latin5",
		"cp1251":      "Windows-1251 cp1251",
		"koi8-r":      "KOI8-R koi8r",
	} {
		for name := range strings.FieldsSeq(names) {
			if c := mustLookup(t, name); c.Name() != want {
				t.Errorf("%s is %s, not %s", name, c.Name(), want)
			}
		}
	}
	once := map[string]string{}
	for _, k := range sets {
		for name := range strings.FieldsSeq(k.aliases + " " + fold(k.name)) {
			if name != fold(name) || once[name] != "" {
				t.Errorf("%s of %s is not folded, or of %s too", name, k.name, once[name])
			}
			once[name] = k.name
		}
	}
}

// TestUnknown checks that the error of an unknown name suggests similar names, or else lists all.
func TestUnknown(t *testing.T) {
	for name, want := range map[string]string{
		"gbl":                       `character set "gbl" is not known; did you mean gb18030?`,
		"utf-7":                     "did you mean utf-8",
		"cp1259":                    "cp1250",
		"iso-8859-11":               "iso-8859-1",
		"shift-jsi":                 "shift_jis",
		"":                          "use one of utf-8, gb18030",
		"-":                         "use one of utf-8",
		"klingon":                   "koi8-r",
		strings.Repeat("gbk", 1000): "use one of",
	} {
		c, err := Lookup(name)
		if c != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20s: %v", name, err)
		}
	}
}
