package charset

import (
	"strings"
	"testing"
)

// TestDetect checks the first guesses for texts of exporters, and for texts that are valid in several sets.
func TestDetect(t *testing.T) {
	encoded := func(name string) string { return string(export(t, name)) }
	for _, test := range []struct {
		name, head string
		last       bool
		want       string // the sets, with ! if certain
		reason     string
	}{
		{"nothing", "", true, "", ""},
		{"ASCII", "a,b\n", true, "utf-8!", "only ASCII"},
		{"ASCII so far", "a,b\n", false, "utf-8", "in the first 4 bytes"},
		{"MariaDB's GBK", encoded("outfile-gbk.txt"), true, "gb18030 cp1252", "common Chinese"},
		{"Spark's GBK", encoded("json-gbk.jsonl"), false, "gb18030 cp1252", "common Chinese"},
		{"pandas' GB18030", encoded("to_csv-gb18030.csv"), true, "gb18030 cp1252", "common Chinese"},
		{"MariaDB's UTF-8", encoded("outfile-utf8.txt"), true, "utf-8!", "valid UTF-8"},
		{"cut UTF-8", encoded("csv-utf8.csv")[:200], false, "utf-8!", "valid UTF-8"},
		{"Spark's UTF-16", encoded("csv-utf16.csv"), true, "utf-16!", "utf-16be"},
		{"Spark's UTF-16LE", encoded("csv-utf16le.tsv"), false, "utf-16le cp1252", "no byte order mark"},
		{"ASCII in UTF-16BE", "\x00a\x00,\x00b\x00\n", true, "utf-16be utf-8", "no byte order mark"},
		{"MariaDB's latin1", encoded("outfile-latin1.txt"), true, "cp1252", "not UTF-8"},
		{"French", "caf\xe9 \xe0 la cr\xe8me, d\xe9j\xe0 vu", true, "cp1252", "not UTF-8"},
		{"a mark", "\xef\xbb\xbfa", false, "utf-8!", "mark"},
		{"a mark, and no UTF-8", "\xef\xbb\xbfa\xb0\xa1\xb0\xa1", true, "utf-8 cp1252 gb18030", "but not UTF-8 (byte 4)"},
		{"UTF-16 with a lone surrogate", "\xff\xfe\x00\xdca\x00", true, "utf-16", "at 2"},
		{"UTF-32", "\xff\xfe\x00\x00a\x00\x00\x00", true, "utf-16", "UTF-32"},
		{"zero bytes in text", "a\x00b,c\nd\x00e,f\n", true, "utf-8", "only ASCII"},
		{"ones of GBK, letters of UTF-8", "\xd2\xbb\xd2\xbb", true, "utf-8 gb18030", "valid UTF-8"},
		{"many of them", strings.Repeat("\xd2\xbb", 16), true, "utf-8!", "valid UTF-8"},
		{"FF", "a\xff\xb0\xa1b", true, "cp1252", "not GB18030 (byte 1)"},
		{"one byte", "\xb0", false, "utf-8!", ""},
	} {
		var got []string
		guesses := Detect([]byte(test.head), test.last)
		for _, g := range guesses {
			name := g.Charset
			if g.Certain {
				name += "!"
			}
			got = append(got, name)
			mustLookup(t, g.Charset)
		}
		if strings.Join(got, " ") != test.want || len(guesses) > 0 && !strings.Contains(guesses[0].Reason, test.reason) {
			t.Errorf("%s: %+v", test.name, guesses)
		}
	}
}

// TestDetectShares checks the shares of common pairs above and below commonShare.
func TestDetectShares(t *testing.T) {
	for _, name := range []string{"outfile-gbk.txt", "json-gbk.jsonl", "to_csv-gb18030.csv"} {
		if g, fits := guessChinese(export(t, name), true); !fits {
			t.Errorf("%s: %+v", name, g)
		} else {
			t.Log(name, g.Reason)
		}
	}
	for name, text := range map[string]string{
		"UTF-8 of Chinese":  "你好，世界。支票编号金额备注中国工商银行股份有限公司",
		"UTF-8 of Russian":  "Съешь ещё этих мягких французских булок",
		"Latin-1":           "Stra\xdfe, Gr\xf6\xdfe, \xdcbung, \xe9t\xe9, \xe0 c\xf4t\xe9, ma\xf1ana, S\xe3o Paulo",
		"Russian of cp1251": "\xd1\xfa\xe5\xf8\xfc \xe5\xf9\xb8 \xfd\xf2\xe8\xf5 \xec\xff\xe3\xea\xe8\xf5",
	} {
		g, fits := guessChinese([]byte(text), true)
		if fits {
			t.Errorf("%s: %+v", name, g)
		}
		t.Log(name, g.Reason)
	}
}
