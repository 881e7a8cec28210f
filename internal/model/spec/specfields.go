package spec

import (
	"strings"

	"bulkload/internal/formats/celltype"
	"bulkload/internal/formats/charset"
	"bulkload/internal/formats/expectation"
	"bulkload/internal/model/choice"
	"bulkload/pkg/hfile"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/source"
	"bulkload/pkg/source/dialect"
)

// Spec is a job file: the inputs, the table and the settings of a load. Every field can be overridden by a flag of the same meaning. A field that a
// job file does not set keeps its zero value, which means the default.
type Spec struct {
	Table  string `yaml:"table"`  // namespace:name; a name without a namespace is in the default namespace
	Family string `yaml:"family"` // default f

	Inputs     []string `yaml:"inputs"`      // files, directories, globs; local, hdfs:// or of object stores
	InputsFrom string   `yaml:"inputs_from"` // a file that lists the inputs, instead of Inputs
	Format     string   `yaml:"format"`      // csv, dump, parquet, orc, json, avro, rejects; default: by extension and content
	Columns    []string `yaml:"columns"`     // names in the records' order; CSV headers and Parquet have their own
	Header     string   `yaml:"header"`      // of text: yes, no, first or match
	FieldSep   string   `yaml:"field_sep"`   // of text: between columns
	RecordSep  string   `yaml:"record_sep"`  // of text: after a record
	Reading    `yaml:",inline"`

	ReadBy   string       `yaml:"read_by"`                  // how an input table is read: files (default), scan or auto
	Parse    string       `yaml:"parse"`                    // key spec of an input table
	Choice   choice.Asked `yaml:",inline" json:",omitzero"` // which cells of input tables are read; default: all
	Key      string       `yaml:"key"`                      // key spec, see package keygen
	Query    []string     `yaml:"query"`                    // columns that a reader gives to get rows, default: the first column of the key
	Regions  int          `yaml:"salt_buckets"`             // modulus of a salt; default: the number of salts that the table was split for
	Filter   string       `yaml:"filter"`                   // condition of the records that are loaded, see package expression
	SaltFile string       `yaml:"salt_file"`                // a local file with the secret of salted(x)

	Empty        string              `yaml:"empty"`                    // handling of empty texts: skip (no cell) or store (an empty cell); default: store where the files have NULL as well
	Duplicates   string              `yaml:"duplicates"`               // rows of one key: fail (default), first, last or versions
	Versions     int                 `yaml:"versions"`                 // maximum loaded per cell, where duplicates are versions; default: as many as its family keeps
	BadRecords   string              `yaml:"bad_records"`              // maximum of bad records that are set aside: N or P%, default 0
	AllowEmpty   bool                `yaml:"allow_empty"`              // an input without rows is not an error
	Expect       *int64              `yaml:"expect_records"`           // number of records in the inputs; nil: unknown
	Expectations []expectation.Asked `yaml:"expect" json:",omitempty"` // expectations that the loaded records must meet
	Verify       string              `yaml:"verify"`                   // verification after the load: full, files, sample or off (default sample)
	Timestamp    int64               `yaml:"timestamp"`                // of every cell, milliseconds; default: when the job was planned

	PhoenixIndexes string `yaml:"phoenix_indexes"` // handling of a table with Phoenix indexes: refuse (default) or ignore them
	Replicate      string `yaml:"replicate"`       // whether the load is replicated to peers: yes (default) or no

	Replace         bool   `yaml:"replace"`          // after the load, the table has only the rows of this job; default: other rows stay
	MaxDeletes      string `yaml:"max_deletes"`      // maximum of the table's rows that a replacing job may delete: N or P%, default 5%
	ReplaceRejected bool   `yaml:"replace_rejected"` // a replacing job may set bad records aside, although their rows are then deleted from the table

	Mapping `yaml:",inline"` // cells of a record; default: a text cell of each column

	// Family settings. Default: the table's.
	Compression      string `yaml:"compression"`
	CompressionLevel string `yaml:"compression_level"` // default or better; tables do not define it
	Encoding         string `yaml:"encoding"`
	Bloom            string `yaml:"bloom"`
	BlockSize        Size   `yaml:"block_size"`

	Tables []TableSpec `yaml:"tables" json:",omitempty"` // further tables of the same records

	Options Options `yaml:"options"` // settings of the program that runs the job; this package does not read them
}

// Reading describes the format of text, and the columns that are read from it. Every field is optional: the defaults are those of the dialect.
type Reading struct {
	Dialect      string `yaml:"dialect"`       // a preset of package dialect; default: csv or dump, depending on the format
	Quote        string `yaml:"quote"`         // the byte around a value, or none
	Quotes       string `yaml:"quotes"`        // strict or lenient
	Escape       string `yaml:"escape"`        // the byte before a byte without its special meaning, or none
	EscapeMap    string `yaml:"escape_map"`    // meaning of letters after the escape
	NullValue    Texts  `yaml:"null_value"`    // texts that stand for NULL; none: nothing is NULL
	NullQuoted   string `yaml:"null_quoted"`   // yes: in quotes too; no
	SkipLines    int    `yaml:"skip_lines"`    // at the beginning of each file
	SkipEnd      int    `yaml:"skip_end"`      // at the end of each file
	Comment      string `yaml:"comment"`       // prefix of comment lines, such as #
	Trim         string `yaml:"trim"`          // no, left, right or both ends of values without quotes
	LastColumn   string `yaml:"last_column"`   // plain, separated or rest
	Positions    Texts  `yaml:"positions"`     // of fixed columns: name=from-to
	RecordLength int    `yaml:"record_length"` // of fixed columns: bytes of a record
	Charset      string `yaml:"charset"`       // character set
	Extra        string `yaml:"extra"`         // columns the job does not list: fail or ignore
	Missing      string `yaml:"missing"`       // columns that a file lacks: fail or null
	Partitions   Texts  `yaml:"partitions"`    // directories name=value: auto, off, or the names
	Where        Texts  `yaml:"where"`         // conditions on the partitions to read, such as dt=2026-11-01
}

// SpecFields returns the fields of a job file in the order of [Spec]. They are shared: do not modify them.
func SpecFields() []SpecField { return specFields }

var specFields = allFields()

func allFields() []SpecField {
	formats, help := source.Formats()
	fields := []SpecField{
		{Name: "table", Type: FieldText, Dated: true, Part: OfTable, Usage: "table, namespace:name or name", Doc: "Table: namespace:name, or name in the default namespace."},
		{Name: "family", Type: FieldText, Dated: true, Fill: true, Part: OfTable, Default: "f", Usage: "column family (default f)", Doc: "Column family of all cells that do not name one."},

		{Name: "inputs", Type: FieldTexts, Dated: true, Usage: "file, directory or glob, local, hdfs:// or of an object store (s3://, gs://, abfs://, oss://, obs://), a pipe, or - for standard input; may be repeated", Doc: "Files, directories and globs, local paths, hdfs://, or s3://, gs://, abfs://, oss:// and obs://; pipes, or - for standard input. Dates are written as {{ .Date \"20060102\" }}."},
		{Name: "inputs_from", Type: FieldText, Dated: true, Usage: "file that lists the inputs, one per line, instead of `inputs`; relative paths are relative to the working directory",
			Doc: "A file, local or hdfs://, that lists the inputs, one per line, instead of inputs. Relative paths are relative to the working directory; blank lines and lines that begin with # are ignored."},
		{Name: "format", Type: FieldText, Default: "by extension and content", Enum: formats, Usage: help + " (default: by extension and content)",
			Doc: "Format of the inputs; rejects is a file of bad records of an earlier job, corrected."},
		{Name: "columns", Type: FieldTexts, Commas: true, Default: "those of the header or the schema", Usage: "column names, separated by commas", Doc: "Column names in the order of the records. Files with names of their own, such as a CSV header, may have them in any order. Text must have exactly these, unless extra is ignore; Parquet, ORC, Avro and JSON may have more."},
		{Name: "header", Type: FieldText, Part: OfText, Default: "yes (csv), the dialect's; a dump has none", Enum: []string{"yes", "no", "first", "match"}, Usage: "text: whether the first record has the column names: yes, no, first (only in the first file), match (if it consists of column names)",
			Doc: "Whether the first record of text has the column names: in every file, in none, in the first file, or in files whose first record consists of column names."},
		{Name: "field_sep", Type: FieldText, Part: OfText, Default: `\x01 (dump), a comma (csv), the dialect's`, Usage: `text: separator of columns, 1 to 8 bytes, such as , or \t or \x01 (default \x01 in a dump, a comma in CSV)`, Doc: `Separator of columns: 1 to 8 bytes, such as , or \t or \x01 or @|@.`},
		{Name: "record_sep", Type: FieldText, Part: OfText, Default: `\x10 (dump), LF or CR LF (csv), the dialect's`, Usage: `text: separator after each record, 1 to 8 bytes (default \x10 in a dump, LF or CR LF in CSV)`, Doc: "Separator after each record: 1 to 8 bytes; none in text of fixed columns whose records have no separator."},
		{Name: "dialect", Type: FieldText, Check: by(dialect.Preset), Part: OfText, Default: "csv or dump", Enum: dialect.Presets(), Usage: "exporter that wrote the text: " + strings.Join(dialect.Presets(), ", "), Doc: "The exporter that wrote the text: its separators, quotes, escapes, NULL and header, which other fields override."},
		{Name: "quote", Type: FieldText, Part: OfText, Default: "the dialect's", Usage: "text: quote around values, a byte, or none", Doc: "Quote around values, a byte, or none."},
		{Name: "quotes", Type: FieldText, Part: OfText, Default: "strict", Enum: []string{"strict", "lenient"}, Usage: "text: strict or lenient (default strict)", Doc: "Lenient: a quote within a value is not doubled, and closes the value only before a separator."},
		{Name: "escape", Type: FieldText, Part: OfText, Default: "the dialect's", Usage: "text: escape, the byte before one that is taken literally, or none", Doc: "Escape: the byte before one that is not a separator, a quote or an escape; or none."},
		{Name: "escape_map", Type: FieldText, Part: OfText, Default: "the dialect's", Enum: maps(), Usage: "text: meaning of letters after the escape: literal, mysql, mysql-batch, postgres, hive-crlf, jq", Doc: "Meaning of letters after the escape."},
		{Name: "null_value", Type: FieldTexts, One: true, Part: OfText, Default: "the dialect's", Usage: `text: representation of NULL, such as \N; may be repeated; none`, Doc: "Representation of NULL: one text or several, compared before escapes are read. none: nothing is NULL. NULL makes no cell."},
		{Name: "null_quoted", Type: FieldText, Part: OfText, Default: "the dialect's", Enum: []string{"yes", "no"}, Usage: "text: whether a value in quotes can be NULL: yes or no", Doc: "Whether a value in quotes can be NULL."},
		{Name: "skip_lines", Type: FieldNumber, Part: OfText, Default: "0", Usage: "text: lines at the start of each file that are not records", Doc: "Lines at the start of each file of text, before its header, that are not records."},
		{Name: "skip_end", Type: FieldNumber, Part: OfText, Default: "0", Usage: "text: lines at the end of each file that are not records", Doc: "Lines at the end of each file of text that are not records."},
		{Name: "comment", Type: FieldText, Part: OfText, Usage: "text: prefix of comment lines, such as #", Doc: "Prefix of comment lines of text, which are not records."},
		{Name: "trim", Type: FieldText, Part: OfText, Default: "no", Enum: []string{"no", "left", "right", "both"}, Usage: "text: where blanks are removed from values without quotes: no, left, right, both", Doc: "Where blanks and tabs are removed from values without quotes."},
		{Name: "last_column", Type: FieldText, Part: OfText, Default: "plain", Enum: []string{"plain", "separated", "rest"}, Usage: "text: how the last column ends: plain, separated (a separator ends each record) or rest (it takes the rest of the record) (default plain)",
			Doc: "How the last column ends: with the record (plain), with a separator before the record's end, or with the record and with all separators before that in it (rest)."},
		{Name: "positions", Type: FieldTexts, One: true, Commas: true, Repeated: true, Part: OfText, Usage: "text of fixed columns: position of each, as name=1-10 (bytes, from 1), name=11 or name=12- (the rest)",
			Doc: "Text of fixed columns: position of each in its record, as name=1-10, name=11 for one byte, name=12- for the rest, in bytes of the file, counted from 1. For numbers of mainframes, :packed(SCALE) or :zoned(SCALE) follows."},
		{Name: "record_length", Type: FieldNumber, Part: OfText, Default: "up to the last position", Usage: "text of fixed columns: bytes of each record, without its separator", Doc: "Text of fixed columns: the bytes of each record, without its separator."},
		{Name: "charset", Type: FieldText, Check: by(charset.Lookup), Part: OfText, Default: "bytes are taken as they are", Usage: "text and JSON lines: character set, such as gbk or utf-16 (default: bytes are not converted, JSON lines are UTF-8)",
			Doc: "Character set of text and of JSON lines, such as utf-8, gbk, cp1252 or utf-16. A record with bytes that are not characters of it is bad."},
		{Name: "extra", Type: FieldText, Part: OfText, Default: "fail (text), ignore (Parquet, ORC, Avro and JSON, with columns)", Enum: []string{"fail", "ignore"}, Usage: "columns the job does not list: fail (default for text) or ignore", Doc: "How columns that the job does not list are handled."},
		{Name: "missing", Type: FieldText, Part: OfText, Default: "fail", Enum: []string{"fail", "null"}, Usage: "columns that a file lacks: fail or null (default fail)",
			Doc: "How a column that a file lacks is handled: it is NULL, or the job fails. Text without a header lacks the last columns if its first record has fewer values; in text of Hive they are NULL by default."},

		{Name: "partitions", Type: FieldTexts, One: true, Commas: true, Repeated: true, Part: OfText, Default: "auto", Usage: "directories name=value in the files' paths: auto (columns, default), off, or their names",
			Doc: "Directories name=value in the files' paths: columns of their files (auto), ignored (off), or the names that must be present, in their order."},
		{Name: "where", Type: FieldTexts, One: true, Dated: true, Part: OfText, Usage: "condition of partitions to read, such as dt=2026-11-01 or 'dt>=2026-11-01'; may be repeated: all must hold", Doc: "Conditions of partitions to read: name=value, with !=, <, <=, > or >= too, compared as text. All must hold."},
		{Name: "read_by", Type: FieldText, Default: "files", Enum: []string{"files", "scan", "auto"}, Usage: "how input tables are read: files (of a snapshot on HDFS, default), scan (from region servers) or auto (scan if HDFS denies the files)",
			Doc: "How an input table is read: from the HFiles of a snapshot on HDFS, from region servers by scans, or by scans only if HDFS denies the files."},
		{Name: "parse", Type: FieldText, Usage: "key spec of an input table's row keys: the columns that it stores unchanged become columns", Doc: "Key spec of an input table's row keys. The columns that it stores unchanged become columns of the input."},

		{Name: "from_key", Type: FieldScalar, Dated: true, Usage: "of input tables: first original key that is read, values of its first columns by `parse`",
			Doc: "Of input tables: the first original key that is read, as values of its first columns, separated by commas. An original key is the part of a row key after its salts; parse is the spec of the row keys, and each salt has a range."},
		{Name: "to_key", Type: FieldScalar, Dated: true, Usage: "of input tables: end of the range of original keys, exclusive", Doc: "Of input tables: the end of the range of original keys, which is not read."},
		{Name: "key_prefix", Type: FieldScalar, Dated: true, Usage: "of input tables: read the original keys with this prefix: values of their first columns, the last may be incomplete",
			Doc: "Of input tables: prefix of the original keys to read, as values of their first columns; the last value may be incomplete."},
		{Name: "start_row", Type: FieldScalar, Dated: true, Usage: `of input tables: first row key that is read, bytes as \xNN`, Doc: `Of input tables: the first row key that is read, bytes as \xNN.`},
		{Name: "stop_row", Type: FieldScalar, Dated: true, Usage: "of input tables: end of the range of row keys, exclusive", Doc: "Of input tables: the end of the range of row keys, which is not read."},
		{Name: "row_prefix", Type: FieldScalar, Dated: true, Usage: "of input tables: read the row keys with this prefix", Doc: "Of input tables: prefix of the row keys to read."},
		{Name: "since", Type: FieldScalar, Dated: true, Usage: "of input tables: read only cells from this time on: milliseconds, or a time such as 2026-11-01T22:00:00Z",
			Doc: "Of input tables: only cells from this time on are read, in milliseconds since 1970 or as 2026-11-01T22:00:00Z. The newest of them is the value of a column."},
		{Name: "until", Type: FieldScalar, Dated: true, Usage: "of input tables: read only cells from before this time", Doc: "Of input tables: only cells from before this time are read, in the form of since."},
		{Name: "only", Type: FieldTexts, Commas: true, Default: "all", Usage: "of input tables: families and columns that are read, separated by commas: f, f:name (default: all)",
			Doc: "Of input tables: families and columns that are read, as f and f:name. A row without any of them is not a record."},

		{Name: "input_versions", Type: FieldNumber, Default: "a record for each row, of the newest cells", Usage: "of input tables: number of newest versions of each column to read, with one record for each timestamp of a row (default: one record for each row)",
			Doc: "Of input tables: number of newest versions of each column to read. A row becomes one record for each timestamp of its cells; $timestamp has it."},
		{Name: "key", Type: FieldText, Part: OfTable, Usage: "row key, such as 'salt(check_id) + md5hex(check_id) + id'", Doc: "Spec of the row key, such as salt(check_id) + md5hex(check_id) + id."},
		{Name: "query", Type: FieldTexts, Commas: true, Part: OfQueries, Default: "the first column of the key", Usage: "columns of a query key, separated by commas", Doc: "Columns whose values a reader gives to get rows."},
		{Name: "salt_buckets", Type: FieldNumber, Part: OfTable, Default: "the number of salts that the table is split for", Usage: "modulus of the salt (default: the number of salts that the table is split for)", Doc: "Modulus of a salt. Readers compute the same salt, so it must never change for a table."},
		{Name: "filter", Type: FieldText, Dated: true, Usage: "condition of records to load, such as \"del_flag != '1'\"; the others are counted separately from bad ones",
			Doc: "Condition of records to load, such as del_flag != '1'. Records for which it is not true are left out, and counted separately from bad ones."},
		{Name: "salt_file", Type: FieldText, Usage: "local file with the secret of salted(x) in cells and filters; the job stores only a digest of it",
			Doc: "A local file with the secret of salted(x) in cells and filters, at least 16 bytes; a line end after it is ignored. The job stores only a digest of it."},

		{Name: "empty", Type: FieldText, Default: "store in files that have NULL as well, else skip", Enum: []string{"skip", "store"}, Usage: "empty values: skip (no cell) or store (an empty cell); default: store in files that have NULL too, otherwise skip", Doc: "What is stored for an empty value: no cell, or an empty cell."},
		{Name: "duplicates", Type: FieldText, Check: by(extsort.ParsePolicy), Fill: true, Default: "fail", Enum: []string{"fail", "first", "last", "versions"}, Usage: "rows with the same key: fail, first, last or versions (each with its cell_timestamp) (default fail)",
			Doc: "Rows with the same key: the job fails, the first or the last in the order of the input is kept, or they become versions of one row, by their cell_timestamp."},
		{Name: "versions", Type: FieldNumber, Default: "as many as the family keeps", Usage: "with `duplicates` versions: number of newest versions of a cell to load (default: as many as the family keeps)", Doc: "With duplicates: versions, the number of newest versions of a cell to load."},
		{Name: "bad_records", Type: FieldScalar, Check: by(source.NewBudget), Default: "0", Usage: "bad records that are set aside before the job fails: N or P% (default 0)", Doc: "How many bad records are set aside before the job fails: N, or P% of the records read. After 10,000 records a job with P% fails as soon as more than P% of the records so far are bad. A share, or a map on YARN, does not stop early: all are judged together."},
		{Name: "allow_empty", Type: FieldBool, Default: "false", Usage: "accept an input without rows: empty files and directories, only headers, only bad records", Doc: "Whether an input without rows is accepted: empty files and directories, only headers, only bad records."},
		{Name: "expect_records", Type: FieldNumber, Default: "any number", Usage: "expected number of records, such as that of SELECT COUNT(*); with another number nothing is loaded",
			Doc: "Expected number of records, without headers and including bad ones, such as that of SELECT COUNT(*). A bad record that spans lines counts once per line. With another number nothing is loaded."},
		expectField(),
		{Name: "verify", Type: FieldText, Fill: true, Part: OfLoad, Default: "sample", Enum: []string{"full", "files", "sample", "off"}, Usage: "verification after the load: full, files, sample or off (default sample)", Doc: "How the table is compared with the written rows after the load."},
		{Name: "timestamp", Type: FieldNumber, Default: "when the job was planned", Usage: "timestamp of every cell in milliseconds (default: now)", Doc: "Timestamp of every cell, milliseconds since 1970."},
		{Name: "phoenix_indexes", Type: FieldText, Fill: true, Part: OfLoad, Default: "refuse", Enum: []string{"refuse", "ignore"}, Usage: "what to do with a table that has Phoenix indexes, for which a load writes no entries: refuse or ignore (default refuse)",
			Doc: "What to do if the table has Phoenix indexes, for which a bulk load writes no entries: refuse the job, or load anyway."},
		{Name: "replicate", Type: FieldText, Fill: true, Part: OfLoad, Default: "yes", Enum: []string{"yes", "no"}, Usage: "whether replication peers get the load: yes, or no if they are loaded separately (default yes)",
			Doc: "Whether replication peers get the load, if the cluster replicates bulk loads. Use no if the peers are loaded separately."},
		{Name: "replace", Type: FieldBool, Part: OfReplaced, Default: "false", Usage: "make the table exactly this export: its other rows and columns are deleted by markers, in the same load",
			Doc: "Whether the table afterwards has only the rows of this job: rows and columns that the inputs do not have get delete markers. For run."},
		{Name: "max_deletes", Type: FieldScalar, Check: by(ParseDeleteLimit), Part: OfReplaced, Default: "5%", Usage: "with `replace`, limit of rows of the table to delete, N or P%; if there are more, nothing is loaded (default 5%)",
			Doc: "How many rows of the table a job with replace may delete: N, or P% of the rows before. If there are more, nothing is loaded."},
		{Name: "replace_rejected", Type: FieldBool, Part: OfReplaced, Default: "false", Usage: "with `replace`, allow bad records to be set aside: the table loses their rows", Doc: "Whether a job with replace may set bad records aside: the table loses their rows."},
	}
	fields = append(fields, mappingFields()...)
	fields = append(fields, familyFields()...)
	return append(fields,
		tablesField(),
		SpecField{Name: "options", Type: FieldSettings, Doc: "Settings of the program for this job, such as memory or staging: flags by their names, with underscores. They do not change the written cells."},
	)
}

// expectField returns the field for the list of [expectation.Asked].
func expectField() SpecField {
	return SpecField{Name: "expect", Type: FieldObjects, Doc: "Expectations of the loaded records, checked before the load: their number, and the values of columns. An entry may have several of the fields below.", Fields: []SpecField{
		{Name: "column", Type: FieldText, Doc: "Column of the input that the entry checks; absent with rows."},
		{Name: "severity", Type: FieldText, Default: "fail", Doc: "Whether the job fails or warns if the entry is not met.", Enum: []string{"fail", "warn"}},
		{Name: "rows", Type: FieldObject, Doc: "The number of records: min and max, or within (such as 20%) of the median of the last jobs; of_last is their number.", Fields: []SpecField{
			{Name: "min", Type: FieldNumber, Doc: "The least number."},
			{Name: "max", Type: FieldNumber, Doc: "The greatest number."},
			{Name: "within", Type: FieldText, Doc: "The allowed difference from the median of earlier jobs, such as 20%. It needs of_last."},
			{Name: "of_last", Type: FieldNumber, Doc: "The number of last finished jobs of the same table and job file that the median is computed from. If there are fewer, the number of records is not checked."},
		}},
		{Name: "nulls", Type: FieldScalar, Doc: "How many values may be NULL: N, or P% of the records."},
		{Name: "values", Type: FieldTexts, Doc: "The allowed values."},
		{Name: "matches", Type: FieldText, Doc: "A regular expression (RE2) that must match every value completely."},
		{Name: "min", Type: FieldScalar, Doc: "The least value: compared as exact numbers if both are numbers, otherwise by bytes."},
		{Name: "max", Type: FieldScalar, Doc: "The greatest value, compared in the same way."},
		{Name: "unique", Type: FieldBool, Default: "false", Doc: "Whether all values must be distinct. Not with shares and YARN, whose tasks do not know each other's values."},
		{Name: "newest_within", Type: FieldText, Doc: "The greatest age of the newest date when reading begins, such as 2d or 36h."},
		{Name: "layout", Type: FieldText, Default: "yyyy-MM-dd HH:mm:ss[.SSS]", Doc: "Format of the dates of newest_within, in the letters of Java's DateTimeFormatter; or unix or unixms."},
		{Name: "zone", Type: FieldText, Default: "UTC", Doc: "Time zone of these dates, such as Asia/Shanghai."},
	}}
}

// mappingFields returns the fields of [Mapping].
func mappingFields() []SpecField {
	times := func(column, layout string) []SpecField {
		return []SpecField{
			{Name: "column", Type: FieldText, Doc: column},
			{Name: "layout", Type: FieldText, Default: layout, Doc: "Format of the dates, in the letters of Java's DateTimeFormatter; or unix or unixms."},
			{Name: "zone", Type: FieldText, Default: "UTC", Doc: "Time zone of the texts, such as Asia/Shanghai."},
		}
	}
	return []SpecField{
		{Name: "cells", Type: FieldObjects, Default: "a text cell of each column", Doc: "The cells of a record. Columns that are not in the list are left out.", Fields: []SpecField{
			{Name: "column", Type: FieldText, Doc: "One cell with this column's value."},
			{Name: "columns", Type: FieldTexts, Doc: "A cell of each of these columns; with json: the members of the object."},
			{Name: "value", Type: FieldScalar, Doc: "A constant: the same cell in every row. It needs a qualifier."},
			{Name: "expr", Type: FieldText, Doc: "A computed cell, such as upper(trim(name)). It needs a qualifier."},
			{Name: "json", Type: FieldBool, Default: "false", Doc: "The record as one JSON object of texts. It needs a qualifier."},
			{Name: "rest", Type: FieldBool, Default: "false", Doc: "A text cell for each column that no other cell and no skip names."},
			{Name: "family", Type: FieldText, Default: "the job's", Doc: "Column family of these cells."},
			{Name: "qualifier", Type: FieldScalar, Default: "the column's name", Doc: "Qualifier of the cell."},
			{Name: "qualifier_from", Type: FieldText, Doc: "A column whose values are the qualifiers: then the records of one key form one row."},
			{Name: "type", Type: FieldText, Default: "text", Doc: "How the value is stored.", Enum: strings.Split(celltype.Names, ", ")},
			{Name: "encoding", Type: FieldText, Default: "hbase", Doc: "Encoding of the type: that of HBase's Bytes, or Phoenix's.", Enum: []string{"hbase", "phoenix"}},
			{Name: "layout", Type: FieldText, Default: "yyyy-MM-dd (date), yyyy-MM-dd HH:mm:ss[.SSS] (timestamp)", Doc: "Format of a date or timestamp, in the letters of Java's DateTimeFormatter; or unix or unixms."},
			{Name: "zone", Type: FieldText, Default: "UTC", Doc: "Time zone of a date or timestamp, such as Asia/Shanghai."},
			{Name: "empty", Type: FieldText, Default: "the job's", Doc: "What is stored for an empty value: no cell, or an empty cell.", Enum: []string{"skip", "store"}},
			{Name: "nulls", Type: FieldText, Default: "skip", Doc: "What is stored for NULL: no cell, or an empty cell; in a JSON object null.", Enum: []string{"skip", "store"}},
		}},
		{Name: "skip", Type: FieldTexts, Doc: "Columns for which rest makes no cell, and which JSON objects do not have."},
		{Name: "cell_timestamp", Type: FieldObject, Default: "the job's timestamp", Doc: "A column with the timestamp of the record's cells.",
			Fields: times("The column that holds the timestamp.", "yyyy-MM-dd HH:mm:ss[.SSS]")},
		{Name: "cell_ttl", Type: FieldObject, Default: "as the family says", Doc: "A column with the time to live of the record's cells.", Fields: []SpecField{
			{Name: "column", Type: FieldText, Doc: "The column with the time to live."},
			{Name: "unit", Type: FieldText, Default: "s", Doc: "Unit of the time to live.", Enum: []string{"s", "ms"}},
		}},
	}
}

// familyFields returns the settings of a family that a job can override.
func familyFields() []SpecField {
	return []SpecField{
		{Name: "compression", Type: FieldText, Check: by(hfile.ParseCompression), Default: "the table's", Enum: []string{"NONE", "SNAPPY", "GZ", "LZ4", "ZSTD"}, Usage: "overrides the family's: NONE, SNAPPY, GZ, LZ4, ZSTD", Doc: "Overrides the family's compression."},
		{Name: "compression_level", Type: FieldText, Check: by(hfile.ParseLevel), Default: "default", Enum: []string{"default", "better"}, Usage: "default, or better: smaller files for more processor time",
			Doc: "Effort of the compression: better makes smaller files and takes more processor time. Readers need no setting."},
		{Name: "encoding", Type: FieldText, Check: by(hfile.ParseEncoding), Default: "the table's", Enum: []string{"NONE", "PREFIX", "DIFF", "FAST_DIFF", "ROW_INDEX_V1"}, Usage: "overrides the family's: NONE, PREFIX, DIFF, FAST_DIFF, ROW_INDEX_V1", Doc: "Overrides the family's data block encoding."},
		{Name: "bloom", Type: FieldText, Check: by(hfile.ParseBloomType), Default: "the table's", Enum: []string{"NONE", "ROW", "ROWCOL"}, Usage: "overrides the family's: NONE, ROW, ROWCOL", Doc: "Overrides the family's Bloom filter."},
		{Name: "block_size", Type: FieldSize, Suggested: []string{"16KiB", "32KiB", "64KiB", "128KiB"}, Default: "the table's", Usage: "overrides the family's, such as 64KiB", Doc: "Overrides the family's size of a data block, such as 64KiB."},
	}
}

// tablesField returns the field for the list of [TableSpec].
func tablesField() SpecField {
	fields := []SpecField{
		{Name: "table", Type: FieldText, Doc: "Table: namespace:name, or name in the default namespace."},
		{Name: "index", Type: FieldText, Doc: "Makes the table an index of the job's first table. get uses this name for it."},
		{Name: "family", Type: FieldText, Default: "the job's", Doc: "Column family of all cells that do not name one."},
		{Name: "key", Type: FieldText, Doc: "Spec of the table's row key."},
		{Name: "query", Type: FieldTexts, Default: "the first column of the key", Doc: "Columns whose values a reader gives to get rows."},
		{Name: "salt_buckets", Type: FieldNumber, Default: "the number of salts that the table is split for", Doc: "Modulus of a salt."},
		{Name: "filter", Type: FieldText, Dated: true, Doc: "Condition of records that have rows in the table, among those that the job's filter keeps. Not for an index."},
		{Name: "columns", Type: FieldTexts, Default: "all, if there is no mapping", Doc: "Columns to store as text cells."},
		{Name: "covers", Type: FieldTexts, Default: "none", Doc: "Columns to store as text cells of an index, in addition to the row key of the data."},
	}
	fields = append(fields, mappingFields()...)
	fields = append(fields,
		SpecField{Name: "empty", Type: FieldText, Default: "the job's", Doc: "What is stored for an empty value: no cell, or an empty cell.", Enum: []string{"skip", "store"}},
		SpecField{Name: "duplicates", Type: FieldText, Default: "the job's", Doc: "Rows of the table with the same key: the job fails, the first or the last is kept, or they become versions of one row.", Enum: []string{"fail", "first", "last", "versions"}})
	for _, f := range familyFields() {
		f.Usage, f.Check = "", nil
		fields = append(fields, f)
	}
	return SpecField{Name: "tables", Type: FieldObjects, Doc: "Further tables with the same records under other keys: all are built in one reading, and loaded one after the other, indexes last.", Fields: fields}
}

// maps returns the names of the escape maps.
func maps() (names []string) {
	for _, m := range dialect.Maps() {
		names = append(names, string(m))
	}
	return names
}
