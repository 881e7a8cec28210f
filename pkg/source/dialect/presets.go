package dialect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// The presets are the default formats of exporters.
const (
	CSV         = "csv"          // RFC 4180 with a header; nothing is NULL
	Dump        = "dump"         // 0x01 between columns, 0x10 after a record; nothing is NULL
	Hive        = "hive"         // TEXTFILE of LazySimpleSerDe
	HiveEscaped = "hive-escaped" // the same with ESCAPED BY '\'
	OpenCSV     = "opencsv"      // Hive's OpenCSVSerde: as written, not as Hive reads it back
	MySQLText   = "mysql"        // INTO OUTFILE, files of mysqldump
	MySQLCSV    = "mysql-csv"    // INTO OUTFILE … FIELDS TERMINATED BY ',' [OPTIONALLY] ENCLOSED BY '"'
	MySQLTSV    = "mysql-batch"  // batch mode of the mysql client
	PostgresTxt = "postgres"     // COPY … TO, text format
	PostgresCSV = "postgres-csv" // COPY … TO … CSV HEADER
	Spark       = "spark"        // DataFrameWriter.csv with a header
	Oracle      = "oracle"       // SQL*Plus SET MARKUP CSV ON, SQLcl; '' is NULL in Oracle, in quotes too
	Excel       = "excel"        // CSV of Excel, with the separator of its line sep= if it has one
	JQText      = "jq-tsv"       // jq's @tsv
	Fixed       = "fixed"        // columns at positions, as mainframes unload tables
	Pandas      = "pandas"       // DataFrame.to_csv: a CR alone needs no quotes
)

// presets are the dialects of the exporters. Their other settings are those of separated, which has no quotes, or of quoted.
var presets = []Dialect{
	quoted(Dialect{Name: CSV, Header: HeaderYes}),
	separated(Dialect{Name: Dump, FieldSep: "\x01", RecordSep: "\x10"}),
	separated(Dialect{Name: Hive, FieldSep: "\x01", Null: []string{`\N`}}),
	separated(Dialect{Name: HiveEscaped, FieldSep: "\x01", Escape: `\`, Null: []string{`\N`}}),
	quoted(Dialect{Name: OpenCSV, Header: HeaderNo, Null: []string{""}}),
	separated(Dialect{Name: MySQLText, FieldSep: "\t", Escape: `\`, Map: MySQL, Null: []string{`\N`}}),
	separated(Dialect{Name: MySQLCSV, FieldSep: ",", Quote: `"`, Escape: `\`, Map: MySQL, Null: []string{`\N`}}),
	separated(Dialect{Name: MySQLTSV, FieldSep: "\t", Escape: `\`, Map: MySQLBatch, Header: HeaderYes, Null: []string{"NULL"}}),
	separated(Dialect{Name: PostgresTxt, FieldSep: "\t", Escape: `\`, Map: Postgres, Null: []string{`\N`}}),
	quoted(Dialect{Name: PostgresCSV, Header: HeaderYes, Null: []string{""}}),
	separated(Dialect{Name: Spark, FieldSep: ",", Quote: `"`, Escape: `\`, QuotedOnly: true, Header: HeaderYes, Null: []string{""}}),
	quoted(Dialect{Name: Oracle, Header: HeaderYes, Null: []string{""}, NullQuoted: true}),
	quoted(Dialect{Name: Excel, Header: HeaderYes, Null: []string{""}}),
	separated(Dialect{Name: JQText, FieldSep: "\t", Escape: `\`, Map: JQ, Null: []string{""}}),
	quoted(Dialect{Name: Pandas, RecordSep: "\n", Header: HeaderYes, Null: []string{""}}),
	{Name: Fixed, Header: HeaderNo, Map: Literal, Trim: TrimRight},
}

func separated(d Dialect) Dialect {
	d.RecordSep, d.Header, d.Map, d.Trim = cmp.Or(d.RecordSep, "\n"), cmp.Or(d.Header, HeaderNo), cmp.Or(d.Map, Literal), TrimNone
	return d
}

func quoted(d Dialect) Dialect {
	d.FieldSep, d.Quote, d.Doubled, d.Map, d.Trim = ",", `"`, true, Literal, TrimNone
	return d
}

// Presets returns the names of all presets.
func Presets() []string {
	names := make([]string, len(presets))
	for i, d := range presets {
		names[i] = d.Name
	}
	return names
}

// Separated returns the names of the presets whose columns are separated.
func Separated() []string {
	return slices.DeleteFunc(Presets(), func(name string) bool { return name == Fixed })
}

// Preset returns the dialect of an exporter. That of fixed columns lacks their positions.
func Preset(name string) (Dialect, error) {
	i := slices.Index(Presets(), name)
	if i < 0 {
		return Dialect{}, fmt.Errorf("%q is not a dialect: there are %s", name, strings.Join(Presets(), ", "))
	}
	d := presets[i]
	d.Null = slices.Clone(d.Null)
	return d, nil
}
