package dialects

import (
	"testing"

	"bulkload/pkg/source/dialect"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	utf16 "golang.org/x/text/encoding/unicode"
)

// charsets returns files in character sets other than UTF-8. They are encoded by golang.org/x/text and decoded by Python.
func charsets(tb testing.TB) []kind {
	rfc := quoted{sep: ",", end: "\n", quote: '"', need: ",\"\r\n", quoteEmpty: true}
	csv := func(name, charset string) judge {
		return judge{How: "quoted", Sep: ",", Quote: `"`, HasNull: true, Charset: charset}
	}
	in := func(name, of, charset, python string, set encoding.Encoding, w writer, j judge, lost func(string) bool, change func(*dialect.Dialect)) kind {
		j.Charset = python
		k := kind{write: w, charset: set, nulls: true, lost: lost, judges: []judge{j}, tokens: join(marks, blanks, trails(set))}
		return preset(tb, name, of, k, func(d *dialect.Dialect) {
			d.Charset = charset
			if change != nil {
				change(d)
			}
		})
	}
	copied := func(sep string) writer { return escaped(sep, "\n", `\N`, sep+"\n\\", lettersMySQL) }
	mysql := func(sep string) judge {
		return judge{How: "escaped", Sep: sep, End: "\n", Letters: "mysql", Null: `\N`, HasNull: true}
	}
	pipe := func(d *dialect.Dialect) { d.FieldSep = "|" }
	gbk, gb18030 := simplifiedchinese.GBK, simplifiedchinese.GB18030
	fours := in("csv-gb18030", dialect.PostgresCSV, "gb18030", "gb18030", gb18030, rfc.writer(), csv("", ""), nil, nil)
	fours.tokens = append(fours.tokens, "\u20ac", "é", "\U00020bb7", "\U00020bb70", "\u0e01", "\u0e01\\", "\U00020bb7\"", "\U00020bb7\n")
	wide := quoted{sep: "\t", end: "\r\n", quote: '"', need: "\t\"\r\n"}
	marked := in("excel-utf16le", dialect.Excel, "utf-16le", "utf-16", utf16.UTF16(utf16.LittleEndian, utf16.IgnoreBOM), wide.writer(),
		judge{How: "quoted", Sep: "\t", Quote: `"`, HasNull: true}, nil, func(d *dialect.Dialect) { d.FieldSep = "\t" })
	marked.bom, marked.emptyNull, marked.tokens = "\xff\xfe", true, join(marks, blanks, unicode)
	big := in("spark-utf16be", dialect.Spark, "utf-16", "utf-16", utf16.UTF16(utf16.BigEndian, utf16.IgnoreBOM),
		quoted{sep: ",", end: "\n", quote: '"', need: ",\"\r\n", before: `"\`, quoteEmpty: true}.writer(),
		judge{How: "quoted", Sep: ",", End: "\n", Quote: `"`, Escape: backslash, HasNull: true}, nil, nil)
	big.bom, big.tokens = "\xfe\xff", join(marks, blanks, unicode)
	latin := in("mysql-latin1", dialect.MySQLText, "latin1", "cp1252", charmap.Windows1252, copied("\t"), mysql("\t"), nil, nil)
	latin.tokens = join(marks, []string{"é", "\u20ac", "ÿ", "é\\", "\u20ac\n"})
	return []kind{
		in("mysql-gbk", dialect.MySQLText, "gbk", "gbk", gbk, copied("\t"), mysql("\t"), nil, nil),
		in("mysql-gbk-pipe", dialect.MySQLText, "gbk", "gbk", gbk, copied("|"), mysql("|"), nil, pipe),
		in("mysql-gbk-csv", dialect.MySQLCSV, "gbk", "gbk", gbk, quoted{sep: ",", end: "\n", null: `\N`, quote: '"', always: true, before: "\"\\\n"}.writer(),
			judge{How: "quoted", Sep: ",", End: "\n", Quote: `"`, Escape: backslash, Outside: true, Letters: "mysql", Null: `\N`, HasNull: true}, nil, nil),
		in("hive-gbk-pipe", dialect.Hive, "gbk", "gbk", gbk, plain("|", "\n", `\N`), judge{How: "plain", Sep: "|", End: "\n", Null: `\N`, HasNull: true},
			either(has("|", "\n"), func(s string) bool { return s == `\N` }), pipe),
		in("hive-gbk-escaped", dialect.HiveEscaped, "gbk", "gbk", gbk, escaped("|", "\n", `\N`, "|\\\x02\x03", ""),
			judge{How: "escaped", Sep: "|", End: "\n", Null: `\N`, HasNull: true}, has("\n"), pipe),
		in("spark-gbk", dialect.Spark, "gbk", "gbk", gbk, quoted{sep: ",", end: "\n", quote: '"', need: ",\"\r\n", before: `"\`, quoteEmpty: true}.writer(),
			judge{How: "quoted", Sep: ",", End: "\n", Quote: `"`, Escape: backslash, HasNull: true}, nil, nil),
		in("mysql-big5", dialect.MySQLText, "big5", "big5hkscs", traditionalchinese.Big5, copied("\t"), mysql("\t"), nil, nil),
		in("mysql-sjis-pipe", dialect.MySQLText, "cp932", "cp932", japanese.ShiftJIS, copied("|"), mysql("|"), nil, pipe),
		fours, marked, big, latin,
	}
}
