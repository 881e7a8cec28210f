package spec

import (
	"strings"

	"bulkload/pkg/celltype"
	"bulkload/pkg/dialect"
)

// FieldType is what a field of a job file takes.
type FieldType string

// The types of fields, named as people read them.
const (
	FieldText     FieldType = "text"
	FieldScalar   FieldType = "text or number" // numbers are taken as they are written
	FieldNumber   FieldType = "number"         // whole
	FieldSize     FieldType = "size"           // see [ParseSize]
	FieldBool     FieldType = "true or false"
	FieldTexts    FieldType = "list of texts"
	FieldObject   FieldType = "object"
	FieldObjects  FieldType = "list of objects"
	FieldSettings FieldType = "settings" // flags of the program, see [Options]
)

// A SpecField is one field of a job file, for its reference, its schema and
// lists of settings.
type SpecField struct {
	Name    string      // as in the file
	Type    FieldType   // of its value
	Flag    string      // that overrides it, without dashes; empty: none
	Default string      // what a file without it means, in words where it is no value
	Doc     string      // one or two sentences, without the default
	Enum    []string    // the only texts that are taken; empty: any
	Fields  []SpecField // of an object, or of each object of a list
}

// SpecFields are the fields of a job file in the order of [Spec].
func SpecFields() []SpecField {
	fields := []SpecField{
		{Name: "table", Type: FieldText, Flag: "table", Doc: "Table: namespace:name, or name in the default namespace."},
		{Name: "family", Type: FieldText, Flag: "family", Default: "f", Doc: "Column family of all cells that name none."},

		{Name: "inputs", Type: FieldTexts, Flag: "input", Doc: "Files, directories and globs, local paths or hdfs://; pipes, or - for standard input. Dates go in as {{ .Date \"20060102\" }}."},
		{Name: "inputs_from", Type: FieldText, Flag: "inputs-from", Doc: "A file, local or hdfs://, that lists the inputs, one a line, instead of inputs. Relative paths are relative to the working directory; blank lines and lines that begin with # mean nothing."},
		{Name: "format", Type: FieldText, Flag: "format", Default: "by extension and content", Doc: "Format of the inputs; rejects is a file of bad records of an earlier job, corrected.", Enum: []string{"csv", "dump", "parquet", "json", "avro", "rejects"}},
		{Name: "columns", Type: FieldTexts, Flag: "columns", Default: "those of the CSV header or the Parquet schema", Doc: "Column names in the order of the records. A CSV header and a Parquet schema must have just these names, in any order."},
		{Name: "header", Type: FieldText, Flag: "header", Default: "yes", Doc: "Whether the first record of text holds the column names: in every file, in none, in the first file, or where it is the names of columns.", Enum: []string{"yes", "no", "first", "match"}},
		{Name: "field_sep", Type: FieldText, Flag: "field-sep", Default: `\x01 (dump), a comma (csv), the dialect's`, Doc: `What stands between columns: 1 to 8 bytes, such as , or \t or \x01 or @|@.`},
		{Name: "record_sep", Type: FieldText, Flag: "record-sep", Default: `\x10 (dump), LF or CR LF (csv), the dialect's`, Doc: "What follows a record: 1 to 8 bytes."},
		{Name: "dialect", Type: FieldText, Flag: "dialect", Default: "csv or dump", Doc: "The exporter that wrote the text: its separators, quotes, escapes, NULL and header, which other fields override.", Enum: dialect.Presets()},
		{Name: "quote", Type: FieldText, Flag: "quote", Default: "the dialect's", Doc: "The byte around values, or none."},
		{Name: "quotes", Type: FieldText, Flag: "quotes", Default: "strict", Doc: "Lenient: a quote within a value is not doubled, and closes the value only before a separator.", Enum: []string{"strict", "lenient"}},
		{Name: "escape", Type: FieldText, Flag: "escape", Default: "the dialect's", Doc: "The byte before one that is not read as a separator, a quote or an escape; or none."},
		{Name: "escape_map", Type: FieldText, Flag: "escape-map", Default: "the dialect's", Doc: "What letters after the escape stand for.", Enum: maps()},
		{Name: "null_value", Type: FieldTexts, Flag: "null-value", Default: "the dialect's", Doc: "What NULL is written as: one text or several, compared before escapes are read. none: nothing is NULL. NULL is no cell."},
		{Name: "null_quoted", Type: FieldText, Flag: "null-quoted", Default: "the dialect's", Doc: "Whether a value in quotes can be NULL.", Enum: []string{"yes", "no"}},
		{Name: "skip_lines", Type: FieldNumber, Flag: "skip-lines", Default: "0", Doc: "Lines at the start of each file of text, before its header, that are no records."},
		{Name: "skip_end", Type: FieldNumber, Flag: "skip-end", Default: "0", Doc: "Lines at the end of each file of text that are no records."},
		{Name: "comment", Type: FieldText, Flag: "comment", Doc: "What a line of text begins with that is no record."},
		{Name: "trim", Type: FieldText, Flag: "trim", Default: "no", Doc: "Which ends of values without quotes lose their blanks and tabs.", Enum: []string{"no", "left", "right", "both"}},
		{Name: "charset", Type: FieldText, Flag: "charset", Default: "bytes are taken as they are", Doc: "Character set of text and of JSON lines, such as utf-8, gbk, cp1252 or utf-16. Bytes that are no character of it make a bad record."},
		{Name: "extra", Type: FieldText, Flag: "extra", Default: "fail (text), ignore (Parquet, with columns)", Doc: "What becomes of columns that are not among those asked for.", Enum: []string{"fail", "ignore"}},
		{Name: "missing", Type: FieldText, Flag: "missing", Default: "fail", Doc: "What becomes of a column that a file lacks: it is NULL there, or the job fails. Text without a header lacks the last columns where its first record has fewer values; in text of Hive they are NULL by default.", Enum: []string{"fail", "null"}},

		{Name: "partitions", Type: FieldTexts, Flag: "partitions", Default: "auto", Doc: "Directories name=value above the files: columns of their files (auto), nothing (off), or the names that must be there, in their order."},
		{Name: "where", Type: FieldTexts, Flag: "where", Doc: "Which partitions are read: name=value, with !=, <, <=, > or >= too, compared as text. All must hold."},
		{Name: "read_by", Type: FieldText, Flag: "read-by", Default: "files", Doc: "How the rows of an input table come: from the HFiles of a snapshot on HDFS, from region servers by scans, or by scans only if HDFS denies the files.", Enum: []string{"files", "scan", "auto"}},
		{Name: "parse", Type: FieldText, Flag: "parse", Doc: "Key spec by which the row keys of an input table were made. The columns that it stores as they are become columns of the input."},

		{Name: "key", Type: FieldText, Flag: "key", Doc: "How a row key is made, such as salt(check_id) + md5hex(check_id) + id."},
		{Name: "query", Type: FieldTexts, Flag: "query", Default: "the first column of the key", Doc: "Columns that a reader gives to get rows."},
		{Name: "salt_buckets", Type: FieldNumber, Flag: "salt-buckets", Default: "the number of salts that the table is split for", Doc: "Modulus of a salt. Readers compute the same salt, so it must never change for a table."},

		{Name: "empty", Type: FieldText, Flag: "empty", Default: "store in files that have NULL as well, else skip", Doc: "What an empty value becomes: no cell, or an empty one.", Enum: []string{"skip", "store"}},
		{Name: "duplicates", Type: FieldText, Flag: "duplicates", Default: "fail", Doc: "Rows with the same key: the job fails, or the first or the last in the order of the input stays.", Enum: []string{"fail", "first", "last"}},
		{Name: "bad_records", Type: FieldScalar, Flag: "bad-records", Default: "0", Doc: "How many bad records are set aside before the job fails: N, or P% of what was read."},
		{Name: "allow_empty", Type: FieldBool, Flag: "allow-empty", Default: "false", Doc: "Whether an input without rows is accepted: empty files and directories, headers alone, records that are all bad."},
		{Name: "expect_records", Type: FieldNumber, Flag: "expect-records", Default: "any number", Doc: "How many records the inputs have, headers aside and bad ones included, such as what SELECT COUNT(*) said: with another number nothing is loaded."},
		{Name: "verify", Type: FieldText, Flag: "verify", Default: "sample", Doc: "How the table is compared after the load with what was written.", Enum: []string{"full", "files", "sample", "off"}},
		{Name: "timestamp", Type: FieldNumber, Flag: "timestamp", Default: "when the job was planned", Doc: "Timestamp of every cell, milliseconds since 1970."},
		{Name: "phoenix_indexes", Type: FieldText, Flag: "phoenix-indexes", Default: "refuse", Doc: "What becomes of a job whose table has Phoenix indexes, for which a bulk load writes no entries: it is refused, or loads all the same.", Enum: []string{"refuse", "ignore"}},
		{Name: "replicate", Type: FieldText, Flag: "replicate", Default: "yes", Doc: "Whether peers of replication get the load, where the cluster replicates bulk loads at all. no is for peers that are loaded too.", Enum: []string{"yes", "no"}},
		{Name: "replace", Type: FieldBool, Flag: "replace", Default: "false", Doc: "Whether the table has the rows of this job alone afterwards: rows and columns that the inputs do not have get delete markers. Of run."},
		{Name: "max_deletes", Type: FieldScalar, Flag: "max-deletes", Default: "5%", Doc: "How many rows of the table a job with replace may delete: N, or P% of the rows before. More, and nothing is loaded."},
		{Name: "replace_rejected", Type: FieldBool, Flag: "replace-rejected", Default: "false", Doc: "Whether a job with replace may set bad records aside: the table loses the rows that they have there."},
	}
	fields = append(fields, mappingFields()...)
	fields = append(fields, familyFields()...)
	return append(fields,
		tablesField(),
		SpecField{Name: "options", Type: FieldSettings, Doc: "Settings of the program for this job, such as memory or staging: flags by their names, with underscores. They do not change what is written."},
	)
}

// mappingFields are those of [Mapping].
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

// familyFields are the settings of a family that a job overrides.
func familyFields() []SpecField {
	return []SpecField{
		{Name: "compression", Type: FieldText, Flag: "compression", Default: "the table's", Doc: "Overrides the family's compression.", Enum: []string{"NONE", "SNAPPY", "GZ", "LZ4", "ZSTD"}},
		{Name: "compression_level", Type: FieldText, Flag: "compression-level", Default: "default", Doc: "How much work compression does: better makes smaller files, and takes more of the processor. Readers need not know.", Enum: []string{"default", "better"}},
		{Name: "encoding", Type: FieldText, Flag: "encoding", Default: "the table's", Doc: "Overrides the family's data block encoding.", Enum: []string{"NONE", "PREFIX", "DIFF", "FAST_DIFF", "ROW_INDEX_V1"}},
		{Name: "bloom", Type: FieldText, Flag: "bloom", Default: "the table's", Doc: "Overrides the family's Bloom filter.", Enum: []string{"NONE", "ROW", "ROWCOL"}},
		{Name: "block_size", Type: FieldSize, Flag: "block-size", Default: "the table's", Doc: "Overrides the family's size of a data block, such as 64KiB."},
	}
}

// tablesField is the list of [TableSpec].
func tablesField() SpecField {
	fields := []SpecField{
		{Name: "table", Type: FieldText, Doc: "Table: namespace:name, or name in the default namespace."},
		{Name: "index", Type: FieldText, Doc: "Makes the table an index of the job's first one, of this name, by which get reads."},
		{Name: "family", Type: FieldText, Default: "the job's", Doc: "Column family of all cells that name none."},
		{Name: "key", Type: FieldText, Doc: "How a row key of the table is made."},
		{Name: "query", Type: FieldTexts, Default: "the first column of the key", Doc: "Columns that a reader gives to get rows."},
		{Name: "salt_buckets", Type: FieldNumber, Default: "the number of salts that the table is split for", Doc: "Modulus of a salt."},
		{Name: "columns", Type: FieldTexts, Default: "all, if there is no mapping", Doc: "Columns that become text cells."},
		{Name: "covers", Type: FieldTexts, Default: "none", Doc: "Columns that are text cells of an index, in addition to the row key of the data."},
	}
	fields = append(fields, mappingFields()...)
	fields = append(fields,
		SpecField{Name: "empty", Type: FieldText, Default: "the job's", Doc: "What an empty value becomes: no cell, or an empty one.", Enum: []string{"skip", "store"}},
		SpecField{Name: "duplicates", Type: FieldText, Default: "the job's", Doc: "Rows of the table with the same key: the job fails, or the first or the last stays.", Enum: []string{"fail", "first", "last"}})
	for _, f := range familyFields() {
		f.Flag = ""
		fields = append(fields, f)
	}
	return SpecField{Name: "tables", Type: FieldObjects, Doc: "Further tables of the same records, under other keys: all are built in one reading, and loaded one after the other, indexes last.", Fields: fields}
}

// maps are the names of the maps of escapes.
func maps() (names []string) {
	for _, m := range dialect.Maps() {
		names = append(names, string(m))
	}
	return names
}
