package dialect

import (
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

// Presets returns the names of all presets.
func Presets() []string {
	return []string{CSV, Dump, Hive, HiveEscaped, OpenCSV, MySQLText, MySQLCSV, MySQLTSV, PostgresTxt, PostgresCSV, Spark, Oracle, Excel, JQText, Pandas, Fixed}
}

// Separated returns the names of the presets whose columns are separated.
func Separated() []string {
	return slices.DeleteFunc(Presets(), func(name string) bool { return name == Fixed })
}

// Preset returns the dialect of an exporter. That of fixed columns lacks their positions.
func Preset(name string) (Dialect, error) {
	text := func(sep string, escape Map, null ...string) Dialect {
		d := Dialect{Name: name, FieldSep: sep, RecordSep: "\n", Header: HeaderNo, Null: null, Map: Literal, Trim: TrimNone}
		if escape != "" {
			d.Escape, d.Map = `\`, escape
		}
		return d
	}
	csv := func(header Header, null ...string) Dialect {
		return Dialect{Name: name, FieldSep: ",", Quote: `"`, Doubled: true, Header: header, Null: null, Map: Literal, Trim: TrimNone}
	}
	switch name {
	case CSV:
		return csv(HeaderYes), nil
	case Dump:
		d := text("\x01", "")
		d.RecordSep = "\x10"
		return d, nil
	case Hive:
		return text("\x01", "", `\N`), nil
	case HiveEscaped:
		return text("\x01", Literal, `\N`), nil
	case OpenCSV:
		return csv(HeaderNo, ""), nil
	case MySQLText:
		return text("\t", MySQL, `\N`), nil
	case MySQLCSV:
		d := text(",", MySQL, `\N`)
		d.Quote = `"`
		return d, nil
	case MySQLTSV:
		d := text("\t", MySQLBatch, "NULL")
		d.Header = HeaderYes
		return d, nil
	case PostgresTxt:
		return text("\t", Postgres, `\N`), nil
	case PostgresCSV:
		return csv(HeaderYes, ""), nil
	case Spark:
		d := text(",", Literal, "")
		d.Quote, d.QuotedOnly, d.Header = `"`, true, HeaderYes
		return d, nil
	case Pandas:
		d := csv(HeaderYes, "")
		d.RecordSep = "\n"
		return d, nil
	case Oracle:
		d := csv(HeaderYes, "")
		d.NullQuoted = true
		return d, nil
	case Fixed:
		d := text("", "")
		d.RecordSep, d.Trim = "", TrimRight
		return d, nil
	case Excel:
		return csv(HeaderYes, ""), nil
	case JQText:
		return text("\t", JQ, ""), nil
	}
	return Dialect{}, fmt.Errorf("%q is no dialect: there are %s", name, strings.Join(Presets(), ", "))
}
