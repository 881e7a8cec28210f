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
	Table  string `yaml:"table"`  // namespace:name, or name in the default namespace
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
	Verify       string              `yaml:"verify"`                   // after the load: full, files, sample (default) or off
	Timestamp    int64               `yaml:"timestamp"`                // of every cell, milliseconds; default: when the job was planned

	PhoenixIndexes string `yaml:"phoenix_indexes"` // handling of a table with Phoenix indexes: refuse (default) or ignore them
	Replicate      string `yaml:"replicate"`       // whether the load is replicated to peers: yes (default) or no

	Replace         bool   `yaml:"replace"`          // afterwards the table has only the rows of this job; default: other rows stay
	MaxDeletes      string `yaml:"max_deletes"`      // maximum of the table's rows that a replacing job may delete: N or P%, default 5%
	ReplaceRejected bool   `yaml:"replace_rejected"` // a replacing job may set bad records aside, although the table loses their rows

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

// Reading describes the format of text, and the columns that are read from it. Every field is optional: the dialect provides the exporter's own.
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
		{Name: "family", Type: FieldText, Dated: true, Fill: true, Part: OfTable, Default: "f", Usage: "column family (default f)", Doc: "Column family of all cells that name none."},

		{Name: "inputs", Type: FieldTexts, Dated: true, Usage: "file, directory or glob, local, hdfs:// or of an object store (s3://, gs://, abfs://, oss://, obs://), a pipe, or - for standard input; may be repeated", Doc: "Files, directories and globs, local paths, hdfs://, or s3://, gs://, abfs://, oss:// and obs://; pipes, or - for standard input. Dates go in as {{ .Date \"20060102\" }}."},
		{Name: "inputs_from", Type: FieldText, Dated: true, Usage: "file that lists the inputs, one a line, instead of `inputs`; relative paths are relative to the working directory",
			Doc: "A file, local or hdfs://, that lists the inputs, one a line, instead of inputs. Relative paths are relative to the working directory; blank lines and lines that begin with # mean nothing."},
		{Name: "format", Type: FieldText, Default: "by extension and content", Enum: formats, Usage: help + " (default: by extension and content)",
			Doc: "Format of the inputs; rejects is a file of bad records of an earlier job, corrected."},
		{Name: "columns", Type: FieldTexts, Commas: true, Default: "those of the CSV header or the Parquet schema", Usage: "column names, separated by commas", Doc: "Column names in the order of the records. A CSV header and a Parquet schema must have just these names, in any order."},
		{Name: "header", Type: FieldText, Part: OfText, Default: "yes", Enum: []string{"yes", "no", "first", "match"}, Usage: "text: whether the first record holds the column names: yes, no, first (file only), match (if it is the names)",
			Doc: "Whether the first record of text holds the column names: in every file, in none, in the first file, or where it is the names of columns."},
		{Name: "field_sep", Type: FieldText, Part: OfText, Default: `\x01 (dump), a comma (csv), the dialect's`, Usage: `text: between columns, 1 to 8 bytes, such as , or \t or \x01 (default \x01 in a dump, a comma in CSV)`, Doc: `What stands between columns: 1 to 8 bytes, such as , or \t or \x01 or @|@.`},
		{Name: "record_sep", Type: FieldText, Part: OfText, Default: `\x10 (dump), LF or CR LF (csv), the dialect's`, Usage: `text: after each record, 1 to 8 bytes (default \x10 in a dump, LF or CR LF in CSV)`, Doc: "What follows a record: 1 to 8 bytes; none in text of fixed columns that nothing separates."},
		{Name: "dialect", Type: FieldText, Check: by(dialect.Preset), Part: OfText, Default: "csv or dump", Enum: dialect.Presets(), Usage: "exporter that wrote the text: " + strings.Join(dialect.Presets(), ", "), Doc: "The exporter that wrote the text: its separators, quotes, escapes, NULL and header, which other fields override."},
		{Name: "quote", Type: FieldText, Part: OfText, Default: "the dialect's", Usage: "text: byte around values, or none", Doc: "The byte around values, or none."},
		{Name: "quotes", Type: FieldText, Part: OfText, Default: "strict", Enum: []string{"strict", "lenient"}, Usage: "text: strict (default) or lenient", Doc: "Lenient: a quote within a value is not doubled, and closes the value only before a separator."},
		{Name: "escape", Type: FieldText, Part: OfText, Default: "the dialect's", Usage: "text: byte before one that is taken as it is, or none", Doc: "The byte before one that is not read as a separator, a quote or an escape; or none."},
		{Name: "escape_map", Type: FieldText, Part: OfText, Default: "the dialect's", Enum: maps(), Usage: "text: what letters after the escape stand for: literal, mysql, mysql-batch, postgres, hive-crlf, jq", Doc: "What letters after the escape stand for."},
		{Name: "null_value", Type: FieldTexts, Part: OfText, Default: "the dialect's", Usage: `text: what stands for NULL, such as \N; may be repeated; none`, Doc: "What NULL is written as: one text or several, compared before escapes are read. none: nothing is NULL. NULL is not a cell."},
		{Name: "null_quoted", Type: FieldText, Part: OfText, Default: "the dialect's", Enum: []string{"yes", "no"}, Usage: "text: whether a value in quotes can be NULL: yes or no", Doc: "Whether a value in quotes can be NULL."},
		{Name: "skip_lines", Type: FieldNumber, Part: OfText, Default: "0", Usage: "text: lines at the start of each file that are not records", Doc: "Lines at the start of each file of text, before its header, that are not records."},
		{Name: "skip_end", Type: FieldNumber, Part: OfText, Default: "0", Usage: "text: lines at the end of each file that are not records", Doc: "Lines at the end of each file of text that are not records."},
		{Name: "comment", Type: FieldText, Part: OfText, Usage: "text: prefix of comment lines, such as #", Doc: "What a line of text begins with that is not a record."},
		{Name: "trim", Type: FieldText, Part: OfText, Default: "no", Enum: []string{"no", "left", "right", "both"}, Usage: "text: ends of values without quotes that lose their blanks: no, left, right, both", Doc: "Which ends of values without quotes lose their blanks and tabs."},
		{Name: "last_column", Type: FieldText, Part: OfText, Default: "plain", Enum: []string{"plain", "separated", "rest"}, Usage: "text: plain (default), separated (a separator ends each record) or rest (it takes the rest of the record)",
			Doc: "How the last column ends: with the record (plain), with a separator before the record's end, or with the record and with all separators before that in it (rest)."},
		{Name: "positions", Type: FieldTexts, Commas: true, Repeated: true, Part: OfText, Usage: "text of fixed columns: where each stands, as name=1-10 (bytes, from 1), name=11 or name=12- (the rest)",
			Doc: "Text of fixed columns: where each stands in its record, as name=1-10, name=11 for one byte, name=12- for the rest, in bytes of the file, counted from 1. Numbers of mainframes have :packed(SCALE) or :zoned(SCALE) after that."},
		{Name: "record_length", Type: FieldNumber, Part: OfText, Default: "up to the last position", Usage: "text of fixed columns: bytes of each record, without what follows it", Doc: "Text of fixed columns: the bytes of each record, without what follows it."},
		{Name: "charset", Type: FieldText, Check: by(charset.Lookup), Part: OfText, Default: "bytes are taken as they are", Usage: "text and JSON lines: character set, such as gbk or utf-16 (default: bytes are taken as they are, JSON lines are UTF-8)",
			Doc: "Character set of text and of JSON lines, such as utf-8, gbk, cp1252 or utf-16. Bytes that are not characters of it make a bad record."},
		{Name: "extra", Type: FieldText, Part: OfText, Default: "fail (text), ignore (Parquet, with columns)", Enum: []string{"fail", "ignore"}, Usage: "columns the job does not list: fail (default for text) or ignore", Doc: "What becomes of columns that are not among those asked for."},
		{Name: "missing", Type: FieldText, Part: OfText, Default: "fail", Enum: []string{"fail", "null"}, Usage: "columns that a file lacks: fail (default) or null",
			Doc: "What becomes of a column that a file lacks: it is NULL there, or the job fails. Text without a header lacks the last columns where its first record has fewer values; in text of Hive they are NULL by default."},

		{Name: "partitions", Type: FieldTexts, Commas: true, Repeated: true, Part: OfText, Default: "auto", Usage: "directories name=value above the files: auto (columns, default), off, or their names",
			Doc: "Directories name=value above the files: columns of their files (auto), nothing (off), or the names that must be there, in their order."},
		{Name: "where", Type: FieldTexts, Dated: true, Part: OfText, Usage: "which partitions are read, such as dt=2026-11-01 or 'dt>=2026-11-01'; may be repeated: all must hold", Doc: "Which partitions are read: name=value, with !=, <, <=, > or >= too, compared as text. All must hold."},
		{Name: "read_by", Type: FieldText, Default: "files", Enum: []string{"files", "scan", "auto"}, Usage: "how the rows of a table come: files (of a snapshot on HDFS, default), scan (from region servers) or auto (scan if HDFS denies the files)",
			Doc: "How the rows of an input table come: from the HFiles of a snapshot on HDFS, from region servers by scans, or by scans only if HDFS denies the files."},
		{Name: "parse", Type: FieldText, Usage: "key spec by which the row keys of an input table were made: the columns that it stores as they are become columns", Doc: "Key spec by which the row keys of an input table were made. The columns that it stores as they are become columns of the input."},

		{Name: "from_key", Type: FieldScalar, Dated: true, Usage: "of input tables: first original key that is read, values of its first columns by `parse`",
			Doc: "Of input tables: the first original key that is read, as values of its first columns, separated by commas. An original key is what follows the salts of a row key; parse says how row keys are made, and each salt has a range."},
		{Name: "to_key", Type: FieldScalar, Dated: true, Usage: "of input tables: end of the range of original keys, exclusive", Doc: "Of input tables: the end of the range of original keys, which is not read."},
		{Name: "key_prefix", Type: FieldScalar, Dated: true, Usage: "of input tables: read all original keys that begin so: values of their first columns, the last may be a beginning",
			Doc: "Of input tables: what the original keys that are read begin with, as values of their first columns; the last may be the beginning of a value."},
		{Name: "start_row", Type: FieldScalar, Dated: true, Usage: `of input tables: first row key that is read, bytes as \xNN`, Doc: `Of input tables: the first row key that is read, bytes as \xNN.`},
		{Name: "stop_row", Type: FieldScalar, Dated: true, Usage: "of input tables: end of the range of row keys, exclusive", Doc: "Of input tables: the end of the range of row keys, which is not read."},
		{Name: "row_prefix", Type: FieldScalar, Dated: true, Usage: "of input tables: read all row keys that begin so", Doc: "Of input tables: what the row keys that are read begin with."},
		{Name: "since", Type: FieldScalar, Dated: true, Usage: "of input tables: read only cells from this time on: milliseconds, or like 2026-11-01T22:00:00Z",
			Doc: "Of input tables: only cells from this time on are read, in milliseconds since 1970 or as 2026-11-01T22:00:00Z. Of a column the newest of these is its value."},
		{Name: "until", Type: FieldScalar, Dated: true, Usage: "of input tables: read only cells from before this time", Doc: "Of input tables: only cells from before this time are read, as since says it."},
		{Name: "only", Type: FieldTexts, Commas: true, Default: "all", Usage: "of input tables: families and columns that are read, separated by commas: f, f:name (default: all)",
			Doc: "Of input tables: families and columns that are read, as f and f:name. A row that has none of them is no record."},

		{Name: "input_versions", Type: FieldNumber, Default: "a record for each row, of the newest cells", Usage: "of input tables: newest versions of each column that are read, a record for each timestamp of a row (default: a record for each row)",
			Doc: "Of input tables: how many versions of each column are read, the newest ones. A row is a record for each timestamp of its cells, which $timestamp has."},
		{Name: "key", Type: FieldText, Part: OfTable, Usage: "row key, such as 'salt(check_id) + md5hex(check_id) + id'", Doc: "How a row key is made, such as salt(check_id) + md5hex(check_id) + id."},
		{Name: "query", Type: FieldTexts, Commas: true, Part: OfQueries, Default: "the first column of the key", Usage: "columns that make up a query key, separated by commas", Doc: "Columns that a reader gives to get rows."},
		{Name: "salt_buckets", Type: FieldNumber, Part: OfTable, Default: "the number of salts that the table is split for", Usage: "modulus of the salt (default: the number of salts that the table is split for)", Doc: "Modulus of a salt. Readers compute the same salt, so it must never change for a table."},
		{Name: "filter", Type: FieldText, Dated: true, Usage: "which records are loaded, such as \"del_flag != '1'\"; the others are counted apart from bad ones",
			Doc: "Which records are loaded: a condition, such as del_flag != '1'. Records for which it is not true are left out, and counted apart from bad ones."},
		{Name: "salt_file", Type: FieldText, Usage: "local file with the secret of salted(x) in cells and filters; the job keeps a digest of it alone",
			Doc: "A local file with the secret of salted(x) in cells and filters, at least 16 bytes; a line end after it does not count. The job keeps a digest of it alone."},

		{Name: "empty", Type: FieldText, Default: "store in files that have NULL as well, else skip", Enum: []string{"skip", "store"}, Usage: "empty values: skip (no cell) or store (an empty cell); default: store in files that have NULL as well, else skip", Doc: "What an empty value becomes: no cell, or an empty one."},
		{Name: "duplicates", Type: FieldText, Check: by(extsort.ParsePolicy), Fill: true, Default: "fail", Enum: []string{"fail", "first", "last", "versions"}, Usage: "rows with the same key: fail (default), first, last or versions (each by its cell_timestamp)",
			Doc: "Rows with the same key: the job fails, the first or the last in the order of the input stays, or they are versions of one row by their cell_timestamp."},
		{Name: "versions", Type: FieldNumber, Default: "as many as the family keeps", Usage: "with `duplicates` versions: how many of a cell are loaded, the newest (default: as many as the family keeps)", Doc: "With duplicates: versions, how many versions of a cell are loaded, the newest ones."},
		{Name: "bad_records", Type: FieldScalar, Check: by(source.NewBudget), Default: "0", Usage: "bad records to set aside before the job fails: N or P% (default 0)", Doc: "How many bad records are set aside before the job fails: N, or P% of what was read."},
		{Name: "allow_empty", Type: FieldBool, Default: "false", Usage: "accept an input without rows: empty files and directories, headers alone, records that are all bad", Doc: "Whether an input without rows is accepted: empty files and directories, headers alone, records that are all bad."},
		{Name: "expect_records", Type: FieldNumber, Default: "any number", Usage: "records that the inputs have, such as what SELECT COUNT(*) said; with another number nothing is loaded",
			Doc: "How many records the inputs have, headers aside and bad ones included, such as what SELECT COUNT(*) said: with another number nothing is loaded."},
		expectField(),
		{Name: "verify", Type: FieldText, Fill: true, Part: OfLoad, Default: "sample", Enum: []string{"full", "files", "sample", "off"}, Usage: "after the load: full, files, sample (default) or off", Doc: "How the table is compared after the load with what was written."},
		{Name: "timestamp", Type: FieldNumber, Default: "when the job was planned", Usage: "timestamp of every cell in milliseconds (default: now)", Doc: "Timestamp of every cell, milliseconds since 1970."},
		{Name: "phoenix_indexes", Type: FieldText, Fill: true, Part: OfLoad, Default: "refuse", Enum: []string{"refuse", "ignore"}, Usage: "table with Phoenix indexes, for which a load writes no entries: refuse (default) or ignore",
			Doc: "What becomes of a job whose table has Phoenix indexes, for which a bulk load writes no entries: it is refused, or loads all the same."},
		{Name: "replicate", Type: FieldText, Fill: true, Part: OfLoad, Default: "yes", Enum: []string{"yes", "no"}, Usage: "whether peers of replication get the load: yes (default) or no, where they are loaded too",
			Doc: "Whether peers of replication get the load, where the cluster replicates bulk loads at all. no is for peers that are loaded too."},
		{Name: "replace", Type: FieldBool, Part: OfReplaced, Default: "false", Usage: "the table holds exactly this export afterwards: its other rows and columns are deleted by markers, in the same load",
			Doc: "Whether the table has the rows of this job alone afterwards: rows and columns that the inputs do not have get delete markers. Of run."},
		{Name: "max_deletes", Type: FieldScalar, Check: by(ParseDeleteLimit), Part: OfReplaced, Default: "5%", Usage: "with `replace`, rows of the table that may be deleted: N or P% (default 5%); more, and nothing is loaded",
			Doc: "How many rows of the table a job with replace may delete: N, or P% of the rows before. More, and nothing is loaded."},
		{Name: "replace_rejected", Type: FieldBool, Part: OfReplaced, Default: "false", Usage: "with `replace`, bad records may be set aside: the table loses the rows that they have there", Doc: "Whether a job with replace may set bad records aside: the table loses the rows that they have there."},
	}
	fields = append(fields, mappingFields()...)
	fields = append(fields, familyFields()...)
	return append(fields,
		tablesField(),
		SpecField{Name: "options", Type: FieldSettings, Doc: "Settings of the program for this job, such as memory or staging: flags by their names, with underscores. They do not change what is written."},
	)
}

// expectField returns the field for the list of [expectation.Asked].
func expectField() SpecField {
	return SpecField{Name: "expect", Type: FieldObjects, Doc: "What the records that are loaded are held to before the load: their number, and the values of columns. An entry may have several of the fields below.", Fields: []SpecField{
		{Name: "column", Type: FieldText, Doc: "Column of the input that the entry is about; with rows none."},
		{Name: "severity", Type: FieldText, Default: "fail", Doc: "Whether the job fails where the entry is not met, or warns.", Enum: []string{"fail", "warn"}},
		{Name: "rows", Type: FieldObject, Doc: "How many records there are: min and max, or within (such as 20%) of the median of the last jobs, as many as of_last says.", Fields: []SpecField{
			{Name: "min", Type: FieldNumber, Doc: "At least so many."},
			{Name: "max", Type: FieldNumber, Doc: "At most so many."},
			{Name: "within", Type: FieldText, Doc: "How far they may be from the median of earlier jobs, such as 20%. It needs of_last."},
			{Name: "of_last", Type: FieldNumber, Doc: "How many of the last finished jobs of the same table and job file that median is of. Where there are fewer, the number is not checked."},
		}},
		{Name: "nulls", Type: FieldScalar, Doc: "How many values may be NULL: N, or P% of the records."},
		{Name: "values", Type: FieldTexts, Doc: "The values that are allowed."},
		{Name: "matches", Type: FieldText, Doc: "A regular expression (RE2) that every value as a whole matches."},
		{Name: "min", Type: FieldScalar, Doc: "The least value: as exact numbers where it and the value are numbers, else by their bytes."},
		{Name: "max", Type: FieldScalar, Doc: "The greatest value, compared likewise."},
		{Name: "unique", Type: FieldBool, Default: "false", Doc: "Whether no value is there twice. Not with shares and YARN, whose tasks do not know each other's values."},
		{Name: "newest_within", Type: FieldText, Doc: "How old the newest date may be when reading begins, such as 2d or 36h."},
		{Name: "layout", Type: FieldText, Default: "yyyy-MM-dd HH:mm:ss[.SSS]", Doc: "How the dates of newest_within are written, in the letters of Java's DateTimeFormatter; or unix or unixms."},
		{Name: "zone", Type: FieldText, Default: "UTC", Doc: "Time zone of these dates, such as Asia/Shanghai."},
	}}
}

// mappingFields returns the fields of [Mapping].
func mappingFields() []SpecField {
	times := func(column, layout string) []SpecField {
		return []SpecField{
			{Name: "column", Type: FieldText, Doc: column},
			{Name: "layout", Type: FieldText, Default: layout, Doc: "How the dates are written, in the letters of Java's DateTimeFormatter; or unix or unixms."},
			{Name: "zone", Type: FieldText, Default: "UTC", Doc: "Time zone of the texts, such as Asia/Shanghai."},
		}
	}
	return []SpecField{
		{Name: "cells", Type: FieldObjects, Default: "a text cell of each column", Doc: "Which cells a record becomes. What is not in the list is left out.", Fields: []SpecField{
			{Name: "column", Type: FieldText, Doc: "One cell of this column."},
			{Name: "columns", Type: FieldTexts, Doc: "A cell of each of these columns; with json: the members of the object."},
			{Name: "value", Type: FieldScalar, Doc: "The same cell in every row. It needs a qualifier."},
			{Name: "expr", Type: FieldText, Doc: "A cell that is computed, such as upper(trim(name)). It needs a qualifier."},
			{Name: "json", Type: FieldBool, Default: "false", Doc: "The record as one JSON object of texts. It needs a qualifier."},
			{Name: "rest", Type: FieldBool, Default: "false", Doc: "A text cell of each column that no other cell and no skip names."},
			{Name: "family", Type: FieldText, Default: "the job's", Doc: "Column family of these cells."},
			{Name: "qualifier", Type: FieldScalar, Default: "the column's name", Doc: "Qualifier of the cell."},
			{Name: "qualifier_from", Type: FieldText, Doc: "A column whose values are the qualifiers: the records of one key are one row then."},
			{Name: "type", Type: FieldText, Default: "text", Doc: "How the value is stored.", Enum: strings.Split(celltype.Names, ", ")},
			{Name: "encoding", Type: FieldText, Default: "hbase", Doc: "Whose bytes the type has: those of HBase's Bytes, or Phoenix's.", Enum: []string{"hbase", "phoenix"}},
			{Name: "layout", Type: FieldText, Default: "yyyy-MM-dd (date), yyyy-MM-dd HH:mm:ss[.SSS] (timestamp)", Doc: "How a date or timestamp is written, in the letters of Java's DateTimeFormatter; or unix or unixms."},
			{Name: "zone", Type: FieldText, Default: "UTC", Doc: "Time zone of a date or timestamp, such as Asia/Shanghai."},
			{Name: "empty", Type: FieldText, Default: "the job's", Doc: "What an empty value becomes: no cell, or an empty one.", Enum: []string{"skip", "store"}},
			{Name: "nulls", Type: FieldText, Default: "skip", Doc: "What NULL becomes: no cell, or an empty one; in a JSON object null.", Enum: []string{"skip", "store"}},
		}},
		{Name: "skip", Type: FieldTexts, Doc: "Columns that neither the rest nor a JSON object has."},
		{Name: "cell_timestamp", Type: FieldObject, Default: "the job's timestamp", Doc: "A column that is the timestamp of the record's cells.",
			Fields: times("The column that holds the timestamp.", "yyyy-MM-dd HH:mm:ss[.SSS]")},
		{Name: "cell_ttl", Type: FieldObject, Default: "as the family says", Doc: "A column that is the time to live of the record's cells.", Fields: []SpecField{
			{Name: "column", Type: FieldText, Doc: "The column that holds the time to live."},
			{Name: "unit", Type: FieldText, Default: "s", Doc: "Unit of the time to live.", Enum: []string{"s", "ms"}},
		}},
	}
}

// familyFields returns the settings of a family that a job can override.
func familyFields() []SpecField {
	return []SpecField{
		{Name: "compression", Type: FieldText, Check: by(hfile.ParseCompression), Default: "the table's", Enum: []string{"NONE", "SNAPPY", "GZ", "LZ4", "ZSTD"}, Usage: "overrides the family's: NONE, SNAPPY, GZ, LZ4, ZSTD", Doc: "Overrides the family's compression."},
		{Name: "compression_level", Type: FieldText, Check: by(hfile.ParseLevel), Default: "default", Enum: []string{"default", "better"}, Usage: "default, or better: smaller files for more work of the processor",
			Doc: "How much work compression does: better makes smaller files, and takes more of the processor. Readers need not know."},
		{Name: "encoding", Type: FieldText, Check: by(hfile.ParseEncoding), Default: "the table's", Enum: []string{"NONE", "PREFIX", "DIFF", "FAST_DIFF", "ROW_INDEX_V1"}, Usage: "overrides the family's: NONE, PREFIX, DIFF, FAST_DIFF, ROW_INDEX_V1", Doc: "Overrides the family's data block encoding."},
		{Name: "bloom", Type: FieldText, Check: by(hfile.ParseBloomType), Default: "the table's", Enum: []string{"NONE", "ROW", "ROWCOL"}, Usage: "overrides the family's: NONE, ROW, ROWCOL", Doc: "Overrides the family's Bloom filter."},
		{Name: "block_size", Type: FieldSize, Such: []string{"16KiB", "32KiB", "64KiB", "128KiB"}, Default: "the table's", Usage: "overrides the family's, such as 64KiB", Doc: "Overrides the family's size of a data block, such as 64KiB."},
	}
}

// tablesField returns the field for the list of [TableSpec].
func tablesField() SpecField {
	fields := []SpecField{
		{Name: "table", Type: FieldText, Doc: "Table: namespace:name, or name in the default namespace."},
		{Name: "index", Type: FieldText, Doc: "Makes the table an index of the job's first one, of this name, by which get reads."},
		{Name: "family", Type: FieldText, Default: "the job's", Doc: "Column family of all cells that name none."},
		{Name: "key", Type: FieldText, Doc: "How a row key of the table is made."},
		{Name: "query", Type: FieldTexts, Default: "the first column of the key", Doc: "Columns that a reader gives to get rows."},
		{Name: "salt_buckets", Type: FieldNumber, Default: "the number of salts that the table is split for", Doc: "Modulus of a salt."},
		{Name: "filter", Type: FieldText, Dated: true, Doc: "Which of the records that the job's filter leaves have rows in the table: a condition. Not of an index."},
		{Name: "columns", Type: FieldTexts, Default: "all, if there is no mapping", Doc: "Columns that become text cells."},
		{Name: "covers", Type: FieldTexts, Default: "none", Doc: "Columns that are text cells of an index, in addition to the row key of the data."},
	}
	fields = append(fields, mappingFields()...)
	fields = append(fields,
		SpecField{Name: "empty", Type: FieldText, Default: "the job's", Doc: "What an empty value becomes: no cell, or an empty one.", Enum: []string{"skip", "store"}},
		SpecField{Name: "duplicates", Type: FieldText, Default: "the job's", Doc: "Rows of the table with the same key: the job fails, the first or the last stays, or they are versions of one row.", Enum: []string{"fail", "first", "last", "versions"}})
	for _, f := range familyFields() {
		f.Usage, f.Check = "", nil
		fields = append(fields, f)
	}
	return SpecField{Name: "tables", Type: FieldObjects, Doc: "Further tables of the same records, under other keys: all are built in one reading, and loaded one after the other, indexes last.", Fields: fields}
}

// maps returns the names of the escape maps.
func maps() (names []string) {
	for _, m := range dialect.Maps() {
		names = append(names, string(m))
	}
	return names
}
