package exporters

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// keep are the options without which Spark's CSV changes values.
const keep = "'ignoreLeadingWhiteSpace' 'false', 'ignoreTrailingWhiteSpace' 'false'"

var bothLF = func(s string) bool { return strings.ContainsAny(s, "\r\n") }

// trimmed returns a value as Spark's CSV writes it without the options in keep: without blanks and control characters around it.
func trimmed(v any) any {
	if s, ok := v.(string); ok {
		return strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
	}
	return v
}

var sparkForms = slices.Concat(sparkCSV, sparkJSON, sparkBinary, hiveText, sparkParts)

var sparkCSV = []form{
	{name: "csv default", clause: "csv OPTIONS ('header' 'true')", settings: "dialect: spark", sample: "spark/csv-default.csv", change: trimmed},
	{name: "csv without header", clause: "csv", settings: "dialect: spark, header: 'no'", sample: "spark/csv-default.csv", change: trimmed},
	{name: "csv quoteall", clause: "csv OPTIONS ('header' 'true', 'quoteAll' 'true')", settings: "dialect: spark, null_quoted: 'yes'", sample: "spark/csv-quoteall.csv", change: func(v any) any { return emptyIsNull(trimmed(v)) }},
	{name: "csv escape quote", clause: `csv OPTIONS ('header' 'true', 'escape' '"')`, settings: "dialect: postgres-csv", sample: "spark/csv-escape-quote.csv", change: trimmed},
	{name: "csv rfc", clause: `csv OPTIONS ('header' 'true', 'escape' '"', 'quoteAll' 'true', 'nullValue' '\\N', 'timestampFormat' 'yyyy-MM-dd HH:mm:ss.SSSSSS', ` + keep + ")",
		settings: `dialect: postgres-csv, null_value: '\N', null_quoted: 'yes'`, change: wordIsNull(`\N`), random: true},
	{name: "csv multibyte", clause: "csv OPTIONS ('sep' '@|@', " + keep + ")", settings: "dialect: spark, field_sep: '@|@', header: 'no'", sample: "spark/csv-keepspace.csv"},
	{name: "csv bars", clause: "csv OPTIONS ('sep' '||', " + keep + ")", settings: "dialect: spark, field_sep: '||', header: 'no'", sample: "spark/csv-keepspace.csv",
		leave: func(s string) bool { return strings.HasSuffix(s, "|") }},
	{name: "csv tab", clause: `csv OPTIONS ('sep' '\t', ` + keep + ")", settings: `dialect: spark, field_sep: '\t', header: 'no'`, sample: "spark/csv-keepspace.csv"},
	{name: "csv soh", clause: `csv OPTIONS ('sep' '\u0001', ` + keep + ")", settings: `dialect: spark, field_sep: '\x01', header: 'no'`, sample: "spark/csv-keepspace.csv"},
	{name: "csv keepspace", clause: "csv OPTIONS ('header' 'true', " + keep + ")", settings: "dialect: spark", sample: "spark/csv-keepspace.csv"},
	{name: "csv null word", clause: "csv OPTIONS ('nullValue' 'NULL', " + keep + ")", settings: "dialect: spark, header: 'no', null_value: 'NULL'", change: wordIsNull("NULL"), random: true},
	{name: "csv null and empty", clause: `csv OPTIONS ('nullValue' '\\N', 'emptyValue' '', ` + keep + ")", settings: `dialect: spark, header: 'no', null_value: '\N'`, change: wordIsNull(`\N`), random: true},
	{name: "csv quote", clause: `csv OPTIONS ('quote' '\'', 'emptyValue' '\'\'', 'sep' ';', ` + keep + ")", settings: `dialect: spark, header: 'no', quote: "'", field_sep: ';'`, sample: "spark/csv-keepspace.csv"},
	{name: "csv escape bang", clause: "csv OPTIONS ('escape' '!', " + keep + ")", settings: "dialect: spark, header: 'no', escape: '!'", sample: "spark/csv-keepspace.csv"},
	{name: "csv linesep", clause: `csv OPTIONS ('lineSep' '\u001e', ` + keep + ")", settings: `dialect: spark, header: 'no', record_sep: '\x1e'`, sample: "spark/csv-keepspace.csv"},
	{name: "csv no quotes", clause: `csv OPTIONS ('sep' '\u0001', 'quote' '\u0000', 'nullValue' '\\N', 'emptyValue' '')`, settings: `dialect: spark, field_sep: '\x01', quote: '\x00', null_value: '\N', header: 'no'`, sample: "spark/csv-soh-noquote.txt",
		change: func(v any) any { return wordIsNull(`\N`)(trimmed(v)) }},
	{name: "csv gbk", clause: "csv OPTIONS ('header' 'true', 'encoding' 'GBK')", settings: "dialect: spark, charset: gbk", sample: "spark/csv-gbk.csv", charset: "gbk", change: trimmed},
	{name: "csv gbk bar", clause: "csv OPTIONS ('header' 'true', 'encoding' 'GBK', 'sep' '|')", settings: "dialect: spark, field_sep: '|', charset: gbk", sample: "spark/csv-gbk.csv", charset: "gbk", change: trimmed},
	{name: "csv utf16", clause: "csv OPTIONS ('header' 'true', 'encoding' 'UTF-16', " + keep + ")", settings: "dialect: spark, charset: utf-16", sample: "spark/csv-keepspace.csv", only: "3."},
	{name: "csv utf16le", clause: `csv OPTIONS ('header' 'true', 'encoding' 'UTF-16LE', 'sep' '\t', ` + keep + ")", settings: `dialect: spark, field_sep: '\t', charset: utf-16le`, sample: "spark/csv-keepspace.csv", only: "3."},
	{name: "csv latin1", clause: "csv OPTIONS ('encoding' 'ISO-8859-1', " + keep + ")", settings: "dialect: spark, header: 'no', charset: iso-8859-1", charset: "latin1", random: true},
	{name: "csv gzip", clause: "csv OPTIONS ('header' 'true', 'compression' 'gzip')", settings: "dialect: spark", sample: "spark/csv-default.csv", fixed: true},
	{name: "csv bzip2", clause: "csv OPTIONS ('header' 'true', 'compression' 'bzip2')", settings: "dialect: spark", sample: "spark/csv-default.csv", fixed: true},
	{name: "csv deflate", clause: "csv OPTIONS ('header' 'true', 'compression' 'deflate')", settings: "dialect: spark", sample: "spark/csv-default.csv", fixed: true},
	{name: "csv snappy", clause: "csv OPTIONS ('header' 'true', 'compression' 'snappy')", settings: "dialect: spark", sample: "spark/csv-default.csv", fixed: true},
	{name: "csv lz4", clause: "csv OPTIONS ('header' 'true', 'compression' 'lz4')", settings: "dialect: spark", sample: "spark/csv-default.csv", fixed: true},
	{name: "csv zstd", clause: "csv OPTIONS ('header' 'true', 'compression' 'zstd')", settings: "dialect: spark", sample: "spark/csv-default.csv", fixed: true, unwritable: true},
}

var sparkJSON = []form{
	{name: "json", clause: "json", settings: "format: json", sample: "spark/json-default.jsonl"},
	{name: "json nulls", clause: "json OPTIONS ('ignoreNullFields' 'false')", settings: "format: json", sample: "spark/json-default.jsonl"},
	{name: "json nested", clause: "json", more: ", struct(id, 'x' AS check_id) AS nested, array(1, 2) AS list, map('k', 'v') AS m", settings: "format: json", sample: "spark/json-default.jsonl"},
	{name: "json gzip", clause: "json OPTIONS ('compression' 'gzip')", settings: "dialect: ''", sample: "spark/json-default.jsonl", fixed: true},
	{name: "json bzip2", clause: "json OPTIONS ('compression' 'bzip2')", settings: "dialect: ''", sample: "spark/json-default.jsonl", fixed: true},
	{name: "json deflate", clause: "json OPTIONS ('compression' 'deflate')", settings: "dialect: ''", sample: "spark/json-default.jsonl", fixed: true},
	{name: "json snappy", clause: "json OPTIONS ('compression' 'snappy')", settings: "dialect: ''", sample: "spark/json-default.jsonl", fixed: true},
	{name: "json lz4", clause: "json OPTIONS ('compression' 'lz4')", settings: "dialect: ''", sample: "spark/json-default.jsonl", fixed: true},
	{name: "json gbk", clause: "json OPTIONS ('encoding' 'GBK')", settings: "format: json", refused: true},
	{name: "json utf16", clause: "json OPTIONS ('encoding' 'UTF-16')", settings: "format: json", refused: true, fixed: true},
}

var sparkBinary = []form{
	{name: "avro", clause: "avro OPTIONS ('compression' 'uncompressed')", settings: "", sample: "spark/avro-snappy.avro"},
	{name: "avro snappy", clause: "avro", settings: "", sample: "spark/avro-snappy.avro"},
	{name: "avro deflate", clause: "avro OPTIONS ('compression' 'deflate')", settings: "", sample: "spark/avro-snappy.avro"},
	{name: "avro bzip2", clause: "avro OPTIONS ('compression' 'bzip2')", settings: "", sample: "spark/avro-snappy.avro", fixed: true},
	{name: "avro zstandard", clause: "avro OPTIONS ('compression' 'zstandard')", settings: "", sample: "spark/avro-snappy.avro"},
	{name: "avro xz", clause: "avro OPTIONS ('compression' 'xz')", settings: "", sample: "spark/avro-snappy.avro", unwritable: true},
	{name: "avro nested", clause: "avro", more: ", struct(id, 'x' AS check_id) AS nested, array(1, 2) AS list, map('k', 'v') AS m", settings: "", sample: "spark/avro-snappy.avro"},
	{name: "parquet", clause: "parquet", settings: "", sample: "spark/parquet.parquet"},
	{name: "parquet none", clause: "parquet OPTIONS ('compression' 'none')", settings: "", sample: "spark/parquet.parquet"},
	{name: "parquet gzip", clause: "parquet OPTIONS ('compression' 'gzip')", settings: "", sample: "spark/parquet.parquet"},
	{name: "parquet zstd", clause: "parquet OPTIONS ('compression' 'zstd')", settings: "", sample: "spark/parquet.parquet"},
	{name: "parquet lz4", clause: "parquet OPTIONS ('compression' 'lz4')", settings: "", sample: "spark/parquet.parquet"},
	{name: "parquet lz4raw", clause: "parquet OPTIONS ('compression' 'lz4raw')", settings: "", sample: "spark/parquet.parquet", only: "3."},
	{name: "parquet lz4_raw", clause: "parquet OPTIONS ('compression' 'lz4_raw')", settings: "", sample: "spark/parquet.parquet", only: "4."},
	{name: "parquet brotli", clause: "parquet OPTIONS ('compression' 'brotli')", settings: "", sample: "spark/parquet.parquet", unwritable: true},
	{name: "parquet v2", clause: "parquet OPTIONS ('parquet.writer.version' 'v2')", settings: "", sample: "spark/parquet.parquet"},
	{name: "parquet v2 zstd small", clause: "parquet OPTIONS ('parquet.writer.version' 'v2', 'compression' 'zstd', 'parquet.page.size' '64', 'parquet.block.size' '4096', 'parquet.enable.dictionary' 'false')", settings: "", sample: "spark/parquet.parquet"},
	{name: "parquet plain", clause: "parquet OPTIONS ('parquet.enable.dictionary' 'false')", settings: "", sample: "spark/parquet.parquet"},
	{name: "parquet small", clause: "parquet OPTIONS ('parquet.page.size' '64', 'parquet.block.size' '2048', 'parquet.page.row.count.limit' '5')", settings: "", sample: "spark/parquet.parquet"},
	{name: "parquet micros", clause: "parquet", set: []string{"spark.sql.parquet.outputTimestampType=TIMESTAMP_MICROS"}, settings: "", sample: "spark/parquet.parquet", fixed: true},
	{name: "parquet int96", clause: "parquet", set: []string{"spark.sql.parquet.outputTimestampType=INT96"}, settings: "", sample: "spark/parquet.parquet", fixed: true},
	{name: "parquet legacy", clause: "parquet", set: []string{"spark.sql.parquet.writeLegacyFormat=true"}, settings: "", sample: "spark/parquet.parquet", fixed: true},
	{name: "parquet checked", clause: "parquet OPTIONS ('parquet.page.write-checksum.enabled' 'true', 'parquet.bloom.filter.enabled' 'true')", settings: "", sample: "spark/parquet.parquet"},
	{name: "parquet nested", clause: "parquet", more: ", struct(id, 'x' AS check_id) AS nested, array(1, 2) AS list, map('k', 'v') AS m", settings: "", sample: "spark/parquet.parquet"},
	{name: "orc", clause: "orc", settings: "", sample: "spark/orc.orc", fixed: true},
	{name: "orc zlib", clause: "orc OPTIONS ('compression' 'zlib')", settings: "", sample: "spark/orc.orc", fixed: true},
}

const (
	delimited = "hive ROW FORMAT DELIMITED FIELDS TERMINATED BY "
	simple    = "hive ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe' WITH SERDEPROPERTIES "
	opencsv   = "hive ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.OpenCSVSerde'"
)

var hiveText = []form{
	{name: "hive", clause: "hive STORED AS TEXTFILE", settings: "dialect: hive", sample: "hive/text-default.txt", change: wordIsNull(`\N`), leave: func(s string) bool { return strings.ContainsAny(s, "\r\n\x01") }},
	{name: "hive all", clause: "hive STORED AS TEXTFILE", settings: "dialect: hive", refused: true},
	{name: "hive soh escaped", clause: delimited + `'\001' ESCAPED BY '\\' STORED AS TEXTFILE`, settings: "dialect: hive-escaped", sample: "hive/text-soh-escaped.txt", leave: bothLF},
	{name: "hive tab escaped", clause: delimited + `'\t' ESCAPED BY '\\' STORED AS TEXTFILE`, settings: `dialect: hive-escaped, field_sep: '\t'`, sample: "hive/text-tab-escaped.txt", leave: bothLF},
	{name: "hive comma escaped", clause: delimited + `',' ESCAPED BY '\\' STORED AS TEXTFILE`, settings: "dialect: hive-escaped, field_sep: ','", sample: "hive/text-comma-escaped.txt", leave: bothLF},
	{name: "hive escape bang", clause: delimited + `',' ESCAPED BY '!' STORED AS TEXTFILE`, settings: "dialect: hive-escaped, field_sep: ',', escape: '!'", leave: func(s string) bool { return bothLF(s) || s == `\N` }, random: true},
	{name: "hive crlf", clause: simple + `('field.delim'='\t', 'escape.delim'='\\', 'serialization.escape.crlf'='true') STORED AS TEXTFILE`, settings: `dialect: hive-escaped, field_sep: '\t', escape_map: hive-crlf`, sample: "hive/text-escape-crlf.txt"},
	{name: "hive comma", clause: delimited + `',' STORED AS TEXTFILE`, settings: "dialect: hive, field_sep: ','", refused: true},
	{name: "hive comma plain", clause: delimited + `',' STORED AS TEXTFILE`, settings: "dialect: hive, field_sep: ','", random: true, leave: func(s string) bool { return strings.ContainsAny(s, "\r\n,") }, change: wordIsNull(`\N`)},
	{name: "hive null empty", clause: simple + `('serialization.null.format'='') STORED AS TEXTFILE`, settings: "dialect: hive, null_value: ''", sample: "hive/text-null-empty.txt", change: emptyIsNull, leave: func(s string) bool { return strings.ContainsAny(s, "\r\n\x01") }},
	{name: "hive null word", clause: simple + `('field.delim'='|', 'escape.delim'='\\', 'serialization.null.format'='NULL') STORED AS TEXTFILE`, settings: "dialect: hive-escaped, field_sep: '|', null_value: 'NULL'", sample: "hive/text-null-word.txt", change: wordIsNull("NULL"), leave: bothLF},
	{name: "hive gbk bar", clause: simple + `('serialization.encoding'='GBK', 'field.delim'='|') STORED AS TEXTFILE`, settings: "dialect: hive, field_sep: '|', charset: gbk", sample: "hive/text-gbk-pipe.txt", fixed: true},
	{name: "hive gbk escaped", clause: simple + `('serialization.encoding'='GBK', 'field.delim'='|', 'escape.delim'='\\') STORED AS TEXTFILE`, settings: "dialect: hive-escaped, field_sep: '|', charset: gbk", sample: "hive/text-gbk-escaped.txt", charset: "gbk", leave: bothLF},
	{name: "opencsv", clause: opencsv + " STORED AS TEXTFILE", settings: "dialect: opencsv", sample: "hive/opencsv.csv"},
	{name: "opencsv escaped", clause: opencsv + ` WITH SERDEPROPERTIES ('separatorChar'='\t', 'quoteChar'='\'', 'escapeChar'='\\') STORED AS TEXTFILE`, settings: `dialect: opencsv, field_sep: '\t', quote: "'", escape: '\'`, sample: "hive/opencsv-escaped.tsv"},
}

var sparkParts = []form{
	{name: "part csv", clause: `csv OPTIONS ('header' 'true', 'escape' '"', 'timestampFormat' 'yyyy-MM-dd HH:mm:ss.SSSSSS', ` + keep + ")", partitions: []string{"dt", "region"}, settings: "dialect: postgres-csv", sample: "spark/part-csv"},
	{name: "part json", clause: "json OPTIONS ('timestampFormat' 'yyyy-MM-dd HH:mm:ss.SSSSSS')", partitions: []string{"dt", "region"}, settings: "format: json", sample: "spark/part-csv"},
	{name: "part parquet", clause: "parquet", partitions: []string{"dt", "region"}, settings: "", sample: "spark/part-parquet"},
	{name: "part avro", clause: "avro", partitions: []string{"dt", "region"}, settings: "", sample: "spark/part-parquet"},
	{name: "part hive", clause: "hive STORED AS TEXTFILE", partitions: []string{"dt STRING", "region STRING"}, settings: "dialect: hive", sample: "hive/part-text", leave: func(s string) bool { return strings.ContainsAny(s, "\r\n\x01") }, change: wordIsNull(`\N`)},
}

// partTable returns a random table with two more columns, for directories.
func partTable(seed uint64) table {
	r := rand.New(rand.NewPCG(seed, 16))
	tab := randomTable(seed+100, 40, append(append([]string{}, pieces...), bare...)...)
	tab.columns = append(tab.columns, "dt", "region")
	names := []any{"华东", "a/b", "10:30", "50%", "k=v", "q'#?*", "with space", "007", nil, "", "%41", "_x", ".y", "a\tb", "x\x7f", "[a]{b}^", `back\slash`, "中文 with 空格", "😀", "a,b|c;d", `"q"`, "<x>", "a\nb", "~", "ü", " lead", "trail "}
	for i := range tab.rows {
		tab.rows[i] = append(tab.rows[i], []any{"2026-03-05", "2026-03-06", nil}[r.IntN(3)], names[r.IntN(len(names))])
	}
	return tab
}

// partitioned returns the table as directories represent it: without empty values.
func (tab table) partitioned() table {
	out := table{columns: tab.columns}
	for _, row := range tab.rows {
		row = slices.Clone(row)
		for i := len(row) - 2; i < len(row); i++ {
			row[i] = emptyIsNull(row[i])
		}
		out.rows = append(out.rows, row)
	}
	return out
}

// String returns the form's name and clause, for messages.
func (f form) String() string { return fmt.Sprintf("%s (%s)", f.name, f.clause) }

// lines returns a table of one column as Spark's CSV writes it: without rows that would be empty lines.
func (f form) lines(tab table) table {
	if !strings.HasPrefix(f.clause, "csv") || strings.Contains(f.clause, "quoteAll") || strings.Contains(f.clause, "'nullValue' 'NULL'") {
		return tab
	}
	var empty any // value that is written as an empty field
	if strings.Contains(f.clause, "'emptyValue' ''") {
		empty = ""
	}
	out := table{columns: tab.columns, numbers: tab.numbers}
	for _, row := range tab.rows {
		if row[0] != empty {
			out.rows = append(out.rows, row)
		}
	}
	return out
}
