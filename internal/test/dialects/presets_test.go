package dialects

import (
	"math/rand/v2"
	"testing"

	"bulkload/pkg/source/dialect"
)

func quiet() *rand.Rand { return rand.New(rand.NewPCG(1, 1)) }

const backslash = `\`

// presets returns the files that exporters write by default.
func presets(tb testing.TB) []kind {
	all, text := join(marks, blanks, unicode, bytesIn), join(marks, blanks, unicode)
	rfc := quoted{sep: ",", quote: '"', need: ",\"\r\n"}
	with := func(q quoted, change func(*quoted)) writer { change(&q); return q.writer() }
	lf, crlf := with(rfc, func(q *quoted) { q.end = "\n" }), with(rfc, func(q *quoted) { q.end = "\r\n" })
	nulls := func(end string, always bool) writer {
		return with(rfc, func(q *quoted) { q.end, q.quoteEmpty, q.always = end, true, always })
	}
	nothing := func(end string) writer { return with(rfc, func(q *quoted) { q.end = end }) }
	duck := judge{How: "duckdb", Sep: ",", Quote: `"`, HasNull: true, Packages: true}
	csvNull := judge{How: "quoted", Sep: ",", Quote: `"`, HasNull: true}
	mysql := judge{How: "escaped", Sep: "\t", End: "\n", Letters: "mysql", Null: `\N`, HasNull: true}
	return []kind{
		preset(tb, "csv", dialect.CSV, kind{write: mixed(lf, crlf), tokens: all,
			judges: []judge{{How: "quoted", Sep: ",", Quote: `"`}}}, nil),
		preset(tb, "csv-python", dialect.CSV, kind{write: crlf, tokens: text,
			judges: []judge{{How: "csv", Sep: ",", Quote: `"`}}}, nil),
		preset(tb, "csv-one-column", dialect.CSV, kind{cols: 1, write: mixed(lf, crlf), tokens: all,
			judges: []judge{{How: "quoted", Sep: ",", Quote: `"`}}}, nil),
		preset(tb, "dump", dialect.Dump, kind{write: plain("\x01", "\x10", ""), tokens: all, lost: has("\x01", "\x10"),
			judges: []judge{{How: "plain", Sep: "\x01", End: "\x10"}}}, nil),
		preset(tb, "hive", dialect.Hive, kind{write: plain("\x01", "\n", `\N`), tokens: all, nulls: true,
			lost:   either(has("\x01", "\n"), func(s string) bool { return s == `\N` }),
			judges: []judge{{How: "plain", Sep: "\x01", End: "\n", Null: `\N`, HasNull: true}}}, nil),
		preset(tb, "hive-escaped", dialect.HiveEscaped, kind{write: escaped("\x01", "\n", `\N`, "\x01\x02\x03\\", ""), tokens: all, nulls: true, lost: has("\n"),
			judges: []judge{{How: "escaped", Sep: "\x01", End: "\n", Null: `\N`, HasNull: true}}}, nil),
		preset(tb, "opencsv", dialect.OpenCSV, kind{write: nulls("\n", true), tokens: text, nulls: true,
			judges: []judge{csvNull, duck}}, nil),
		preset(tb, "mysql", dialect.MySQLText, kind{write: escaped("\t", "\n", `\N`, "\t\n\\", lettersMySQL), tokens: all, nulls: true, judges: []judge{mysql}}, nil),
		preset(tb, "mysql-csv", dialect.MySQLCSV, kind{nulls: true, tokens: all,
			write: mixed(quoted{sep: ",", end: "\n", null: `\N`, quote: '"', always: true, before: "\"\\\n\x00"}.writer(),
				quoted{sep: ",", end: "\n", null: `\N`, quote: '"', need: "\n\"", before: "\"\\\n,", bare: "\\,"}.writer()),
			judges: []judge{{How: "quoted", Sep: ",", End: "\n", Quote: `"`, Escape: backslash, Outside: true, Letters: "mysql", Null: `\N`, HasNull: true}}}, nil),
		preset(tb, "mysql-batch", dialect.MySQLTSV, kind{write: escaped("\t", "\n", "NULL", "\\", lettersBatch), tokens: all, nulls: true,
			lost:   func(s string) bool { return s == "NULL" },
			judges: []judge{{How: "escaped", Sep: "\t", End: "\n", Letters: "batch", Null: "NULL", HasNull: true}}}, nil),
		preset(tb, "postgres", dialect.PostgresTxt, kind{write: escaped("\t", "\n", `\N`, "\\", lettersCopy), tokens: text, nulls: true, tail: "\\.\n",
			judges: []judge{{How: "escaped", Sep: "\t", End: "\n", Letters: "copy", Null: `\N`, HasNull: true, SkipEnd: 1}}}, nil),
		preset(tb, "postgres-csv", dialect.PostgresCSV, kind{write: nulls("\n", false), tokens: text, nulls: true, judges: []judge{csvNull, duck}}, nil),
		preset(tb, "postgres-csv-crlf", dialect.PostgresCSV, kind{write: nulls("\r\n", false), tokens: text, nulls: true, bom: "\ufeff", judges: []judge{csvNull}}, nil),
		preset(tb, "spark", dialect.Spark, kind{nulls: true, tokens: all,
			write:  quoted{sep: ",", end: "\n", quote: '"', need: ",\"\r\n", before: `"\`, quoteEmpty: true}.writer(),
			judges: []judge{{How: "quoted", Sep: ",", End: "\n", Quote: `"`, Escape: backslash, HasNull: true}}}, nil),
		preset(tb, "oracle", dialect.Oracle, kind{write: nothing("\n"), tokens: text, nulls: true, emptyNull: true, judges: []judge{csvNull}}, nil),
		preset(tb, "excel", dialect.Excel, kind{write: nothing("\r\n"), tokens: text, nulls: true, emptyNull: true, bom: "\ufeff", judges: []judge{csvNull}}, nil),
		preset(tb, "pandas", dialect.Pandas, kind{nulls: true, emptyNull: true, tokens: all,
			write:  quoted{sep: ",", end: "\n", quote: '"', need: ",\"\n"}.writer(),
			judges: []judge{{How: "quoted", Sep: ",", End: "\n", Quote: `"`, HasNull: true}}}, nil),
		preset(tb, "jq-tsv", dialect.JQText, kind{write: escaped("\t", "\n", "", "\\", lettersJQ), tokens: all, nulls: true, emptyNull: true,
			judges: []judge{{How: "escaped", Sep: "\t", End: "\n", Letters: "jq", HasNull: true}}}, nil),
	}
}
