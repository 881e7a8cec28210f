package dialects

import (
	"math/rand/v2"
	"strings"
	"testing"

	"bulkload/pkg/source/dialect"
)

// settings returns dialects with settings other than their exporter's own.
func settings(tb testing.TB) []kind {
	all, text := join(marks, blanks, unicode, bytesIn), join(marks, blanks, unicode)
	return []kind{
		preset(tb, "mysql-multibyte", dialect.MySQLText, kind{write: escaped("@|@", "#@#\n", `\N`, "@#\\", lettersMySQL), tokens: all, nulls: true,
			judges: []judge{{How: "escaped", Sep: "@|@", End: "#@#\n", Letters: "mysql", Null: `\N`, HasNull: true}}},
			func(d *dialect.Dialect) { d.FieldSep, d.RecordSep = "@|@", "#@#\n" }),
		preset(tb, "mysql-noescape", dialect.MySQLCSV, kind{nulls: true, tokens: all,
			lost: either(has(`",`, "\"\r\n"), func(s string) bool { return strings.HasSuffix(s, "\"\r") }),
			write: records(",", "\r\n", func(dst []byte, v value, _ *rand.Rand) []byte {
				if v.null {
					return append(dst, "NULL"...)
				}
				return append(append(append(dst, '"'), v.text...), '"')
			}),
			judges: []judge{{How: "lenient", Sep: ",", End: "\r\n", Quote: `"`, Null: "NULL", HasNull: true}}},
			func(d *dialect.Dialect) {
				d.Escape, d.Map, d.Lenient, d.RecordSep, d.Null = "", dialect.Literal, true, "\r\n", []string{"NULL"}
			}),
		preset(tb, "hive-multibyte", dialect.Hive, kind{write: plain("@|@", "#@#\n", `\N`), tokens: all, nulls: true,
			lost:   either(has("@", "#"), func(s string) bool { return s == `\N` }),
			judges: []judge{{How: "plain", Sep: "@|@", End: "#@#\n", Null: `\N`, HasNull: true}}},
			func(d *dialect.Dialect) { d.FieldSep, d.RecordSep = "@|@", "#@#\n" }),
		preset(tb, "hive-overlapping", dialect.Hive, kind{write: plain("||", "|\n", `\N`), tokens: text, nulls: true,
			lost:   either(has("|", "\n"), func(s string) bool { return s == `\N` }),
			judges: []judge{{How: "plain", Sep: "||", End: "|\n", Null: `\N`, HasNull: true}}},
			func(d *dialect.Dialect) { d.FieldSep, d.RecordSep = "||", "|\n" }),
		preset(tb, "hive-crlf", dialect.HiveEscaped, kind{write: escaped("\t", "\n", `\N`, "\t\x02\x03\\", lettersHive), tokens: all, nulls: true,
			judges: []judge{{How: "escaped", Sep: "\t", End: "\n", Letters: "hive", Null: `\N`, HasNull: true}}},
			func(d *dialect.Dialect) { d.FieldSep, d.Map = "\t", dialect.HiveCRLF }),
		preset(tb, "hive-comments", dialect.Hive, kind{tokens: all, nulls: true, head: "one\n\"two\n\x01three\x01\n", tail: "(36 rows)\n\n",
			write: commented(plain("\x01", "\n", `\N`), "# a comment\n", "#\n", "#\"\x01 \\\n"),
			lost:  either(has("\x01", "\n"), func(s string) bool { return s == `\N` }), firstLost: func(s string) bool { return strings.HasPrefix(s, "#") },
			judges: []judge{{How: "plain", Sep: "\x01", End: "\n", Null: `\N`, HasNull: true, Skip: 3, SkipEnd: 2, Comment: "#"}}},
			func(d *dialect.Dialect) { d.Comment, d.SkipLines, d.SkipEnd = "#", 3, 2 }),
		preset(tb, "hive-trim", dialect.Hive, kind{write: padded("|", "\n", bare("-")), tokens: marks, nulls: true,
			lost: either(has("|", "\n"), func(s string) bool { return s == "-" || strings.Trim(s, " \t") != s }),
			// Values are compared with NULL after trimming.
			judges: []judge{{How: "plain", Sep: "|", End: "\n", Null: "-", HasNull: true, Trim: true}}},
			func(d *dialect.Dialect) { d.FieldSep, d.Trim, d.Null = "|", dialect.TrimBoth, []string{"-"} }),
		preset(tb, "opencsv-escaped", dialect.OpenCSV, kind{nulls: true, tokens: all,
			write:  quoted{sep: "\t", end: "\n", quote: '\'', always: true, before: `'\`}.writer(),
			judges: []judge{{How: "quoted", Sep: "\t", End: "\n", Quote: "'", Escape: backslash, HasNull: true}}},
			func(d *dialect.Dialect) { d.FieldSep, d.Quote, d.Escape = "\t", "'", backslash }),
		preset(tb, "postgres-pipe", dialect.PostgresTxt, kind{write: escaped("|", "\n", "", "\\|", lettersCopy), tokens: text, nulls: true, emptyNull: true,
			judges: []judge{{How: "escaped", Sep: "|", End: "\n", Letters: "copy", HasNull: true}}},
			func(d *dialect.Dialect) { d.FieldSep, d.Null = "|", []string{""} }),
		preset(tb, "postgres-csv-force", dialect.PostgresCSV, kind{nulls: true, tokens: text,
			write:  quoted{sep: ",", end: "\n", null: `\N`, quote: '"', always: true}.writer(),
			judges: []judge{{How: "quoted", Sep: ",", Quote: `"`, Null: `\N`, HasNull: true}}},
			func(d *dialect.Dialect) { d.Header, d.Null = dialect.HeaderNo, []string{`\N`} }),
		preset(tb, "postgres-csv-escape", dialect.Spark, kind{nulls: true, tokens: text,
			write: quoted{sep: ",", end: "\n", null: "NULL", quote: '"', need: ",\"\r\n", before: `"\`}.writer(),
			judges: []judge{{How: "quoted", Sep: ",", End: "\n", Quote: `"`, Escape: backslash, Null: "NULL", HasNull: true},
				{How: "duckdb", Sep: ",", Quote: `"`, Escape: backslash, Null: "NULL", HasNull: true, Packages: true}}},
			func(d *dialect.Dialect) { d.Null = []string{"NULL"} }),
		preset(tb, "spark-quoteall", dialect.Spark, kind{nulls: true, emptyNull: true, tokens: all,
			write:  quoted{sep: ",", end: "\n", null: `""`, quote: '"', always: true, before: `"\`}.writer(),
			judges: []judge{{How: "quoted", Sep: ",", End: "\n", Quote: `"`, Escape: backslash, HasNull: true, Quoted: true}}},
			func(d *dialect.Dialect) { d.NullQuoted = true }),
		preset(tb, "spark-multibyte", dialect.Spark, kind{nulls: true, tokens: all,
			write:  quoted{sep: "@|@", end: "\n", quote: '"', need: "@\"\r\n", before: `"\`, quoteEmpty: true}.writer(),
			judges: []judge{{How: "quoted", Sep: "@|@", End: "\n", Quote: `"`, Escape: backslash, HasNull: true}}},
			func(d *dialect.Dialect) { d.FieldSep, d.Header = "@|@", dialect.HeaderNo }),
		preset(tb, "spark-nul-quote", dialect.Spark, kind{nulls: true, tokens: join(marks, blanks, unicode), lost: has("\x00"),
			write:  quoted{sep: "\x01", end: "\n", null: `\N`, quote: 0, need: "\x01\r\n", before: "\x00\\"}.writer(),
			judges: []judge{{How: "quoted", Sep: "\x01", End: "\n", Quote: "\x00", Escape: backslash, Null: `\N`, HasNull: true}}},
			func(d *dialect.Dialect) {
				d.FieldSep, d.Quote, d.Header, d.Null = "\x01", "\x00", dialect.HeaderNo, []string{`\N`}
			}),
		preset(tb, "pandas-escapechar", dialect.Pandas, kind{nulls: true, emptyNull: true, tokens: all,
			write:  quoted{sep: ",", end: "\n", quote: '"', need: ",\r\n", before: `"\`, bare: `"\`}.writer(),
			judges: []judge{{How: "quoted", Sep: ",", End: "\n", Quote: `"`, Escape: backslash, Outside: true, HasNull: true}}},
			func(d *dialect.Dialect) { d.Escape = backslash }),
		preset(tb, "excel-sep", dialect.Excel, kind{nulls: true, emptyNull: true, tokens: text, bom: "\ufeff", head: "sep=;\r\n",
			write:  quoted{sep: ";", end: "\r\n", quote: '"', need: ";\"\r\n"}.writer(),
			judges: []judge{{How: "quoted", Sep: ";", Quote: `"`, HasNull: true, Skip: 1}}}, nil),
		preset(tb, "excel-preamble", dialect.Excel, kind{nulls: true, emptyNull: true, tokens: text, head: "a \"report\r\n\r\nof, what\r\n",
			write: quoted{sep: ",", end: "\r\n", quote: '"', need: ",\"\r\n"}.writer(), tail: "\"total\r\n",
			judges: []judge{{How: "quoted", Sep: ",", Quote: `"`, HasNull: true, Skip: 3, SkipEnd: 1}}},
			func(d *dialect.Dialect) { d.SkipLines, d.SkipEnd = 3, 1 }),
		preset(tb, "csv-comments", dialect.CSV, kind{tokens: all, firstLost: func(s string) bool { return strings.HasPrefix(s, "#") },
			write:  commented(quoted{sep: ",", end: "\n", quote: '"', need: ",\"\r\n"}.writer(), "# a \"comment\n", "#\n", "#,,\r\n"),
			judges: []judge{{How: "quoted", Sep: ",", Quote: `"`, Comment: "#"}}},
			func(d *dialect.Dialect) { d.Comment = "#" }),
		preset(tb, "csv-trim", dialect.CSV, kind{tokens: all, lost: func(s string) bool { return strings.Trim(s, " \t") != s },
			write:  padded(",", "\n", quoted{quote: '"', need: ",\"\r\n"}.put),
			judges: []judge{{How: "quoted", Sep: ",", Quote: `"`, Trim: true}}},
			func(d *dialect.Dialect) { d.Trim = dialect.TrimBoth }),
	}
}
