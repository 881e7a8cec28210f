// Package source reads exported files as batches of records: CSV, dumps with one byte between columns and one after each
// record, JSON lines, Parquet, ORC and Avro. [Open] finds the files and cuts them into splits; every worker reads splits
// with a [Reader] of its own, which calls it back with one [Batch] at a time: spans in one piece of memory, no allocation
// for a row or a field. The package neither interprets values nor checks that they are UTF-8.
//
// # Inputs
//
// An input is a file, a directory, or a pattern: *, ? and [a-z] within an element of the path (path.Match), {a,b}
// anywhere, also nested, and ** for any number of directories. A backslash escapes these characters, and an existing path
// is never a pattern. A directory means all files below it, at any depth, without empty files and without the names that
// Hive, Spark and Hadoop hide ([listing.HiddenKind]): .x, _x without =; [Input.LeftOut] counts these. A file that is
// given by name is always read. A pattern lists each file once. These are errors: a pattern without matches, an input
// without data (unless [Options.AllowEmpty] is set), a file that occurs twice, under one name or as a link or another
// spelling, a file that is being written (by its name, or by HDFS), and a pipe or device (opening a job's inputs first
// makes a file of a pipe). A directory that is a Delta, Iceberg, Hudi or transactional Hive table is refused with all of
// its contents: its files hold rows that were deleted. Files are ordered by input, and within each input by name.
// [InputsFrom] reads a list of inputs.
//
// Directories name=value are partitions, as Hive, Spark and DuckDB write them, at any position in a file's absolute path:
// each is a column with that text in all records of the file ([Options.Partitions]), after the file's own columns unless
// [Options.Columns] says otherwise. %XX is decoded once; __HIVE_DEFAULT_PARTITION__ is NULL; nothing else is interpreted.
// The files of one input must have the same partition columns in the same order. [Options.Where] selects partitions;
// others are not listed.
//
// A file is compared with its listing each time it is opened, and by [Input.Recheck]; [Input.Sum] returns a checksum of
// the data read from a split. Files of different formats may be mixed if they have the same columns.
//
// # Formats
//
// Text may be compressed, in any number of members or streams: .gz, .zst, .bz2, .xz, .lz4, .sz (snappy's framing format),
// .deflate (zlib, as Hadoop's DefaultCodec), and .snappy and .lz4 in the blocks of Hadoop's codecs, which have no
// checksums. These, .sz and Avro have no end mark: a file that is truncated after a block only seems shorter. The memory of a
// decompressor is limited by [Options.Memory]. Other compressions, archives, SequenceFiles and the like are refused by
// their name and by their first bytes. Then .csv is CSV, .jsonl, .ndjson, .json is JSON lines, .parquet, .parq, .pq is
// Parquet, .orc is ORC and .avro is Avro. With any other name (.dump, .txt, .dat, none) the contents decide: the magic of a compression,
// Parquet, ORC or Avro; then the separator of a dump's records (0x10) within the first 64 KiB means a dump; a brace and a
// quoted name at the beginning mean JSON lines; all other text is CSV, except text with 0x01 and no 0x10 at all, which is
// refused. [Options.Format] overrides this, and [Options.Dialect] overrides the rules for text.
//
// A dump has no header, quotes or escapes: every byte that is not a separator is data, empty columns are kept in any
// position, and every record must have all columns. The last record may lack its separator.
//
// CSV is RFC 4180, strictly: a quote may only enclose a field, or occur doubled within it; nothing may be between a
// closing quote and the separator. Records end with LF or CR LF, which may be mixed; the last may lack it. The bytes of a
// field are kept unchanged, CR LF within quotes too. A byte order mark is skipped. An empty line is not a record, unless
// there is only one column: then it is an empty value. As in encoding/csv, a record with a fault of quoting ends with the
// line that has the fault. The first record is the header (unless [HeaderNone] and names are given): it must have all
// columns of the schema and no others, in any order.
//
// JSON lines are one object on each line, as bulkload/internal/formats/jsonlines reads them: numbers keep their text,
// null and missing members are NULL, arrays and objects are JSON. Columns are paths such as addr.city. Unless they are
// given, they are the innermost members in the first file's first lines (1000 lines, or 64 KiB), in the order of their
// first occurrence; a member that is a value in one line and an object in another is one column. Further members of later
// lines are ignored, as are all members that were not requested. A file that has none of the columns in its first lines
// is refused, as is a file whose first line shows that it is an array or a pretty-printed document. Blank lines are not
// records.
//
// A reject file ([RejectFile]) can be read with [FormatRejects] only: its records are text in the form that its first
// line specifies, as if they were compressed.
//
// Of a Parquet file only the chosen columns are read, and only these must be readable: other columns may be nested,
// encrypted or compressed with LZO. Pages may be compressed with snappy, zstd, gzip, brotli, lz4_raw or the older lz4,
// also in Hadoop's frames. The field city of a struct addr is the column addr.city, unless a column itself has that name;
// if the struct is null, so is the field. No path leads into a list or a map. Values become text by these rules; a null
// is NULL:
//
//	STRING, ENUM, JSON, BSON, plain bytes   the bytes
//	INT 8 to 64, signed and unsigned        decimal
//	BOOLEAN                                 true, false
//	FLOAT, DOUBLE, FLOAT16                  the shortest decimal that reads back as the same number, without ".0",
//	                                        with an exponent below 1e-6 and from 1e21 on: 3, 0.1, 1e+21, 1.5e-07;
//	                                        NaN, Infinity, -Infinity
//	DECIMAL, of any physical type           plain, with all digits of its scale: 12.30
//	DATE                                    2006-01-02
//	TIMESTAMP, INT96                        2006-01-02 15:04:05, and a fraction without trailing zeros unless it is 0;
//	                                        adjusted to UTC (as INT96 always is): in Options.Location, otherwise as
//	                                        stored
//	TIME                                    15:04:05, with a fraction as above, as stored
//	UUID                                    00112233-4455-6677-8899-aabbccddeeff
//	lists, maps, structs                    JSON
//	GEOMETRY, GEOGRAPHY                     the bytes
//	VARIANT                                 JSON, as Spark's to_json has it
//	INTERVAL                                refused by name
//
// Logical and converted types that are unknown or do not fit the physical type are refused too: the values would have
// another meaning. A refused column is left out if columns are chosen or [Options.Extra] is ExtraIgnore. Days of INT96
// are signed; all dates are in the Gregorian calendar, whatever the year. Files of Spark before 3.0, of its LEGACY mode
// and of Hive say in their metadata that they count old dates and timestamps by the hybrid calendar, and are read
// accordingly. An old value is refused if the file does not specify its calendar or time zone ([valuetext.Calendars]).
//
// JSON is that of internal/formats/avro: without blanks, structs with all fields in the schema's order, maps with their
// entries in the file's order (maps with nested keys as lists of {"key":…,"value":…}, by the fields' own names);
// integers, decimals and floats are numbers with all their digits; NaN, Infinity and -Infinity, dates, times and UUIDs
// are strings of the texts above; bytes that are not STRING, ENUM or JSON are base64. A key is a string. Lists of two
// levels and repeated columns without annotation are lists, MAP_KEY_VALUE is a map, and a map without values is the list
// of its keys. No value is longer than [Options.MaxRecord].
//
// Package internal/formats/parquet reads Parquet. It verifies checksums of pages where there are any. A reader holds one
// page and one dictionary of each column.
//
// Package internal/formats/orc reads ORC, by the same rules. A timestamp is in its writer's local time. A reader holds a
// chunk of each stream of the columns that are read, and their dictionaries.
//
// Avro files are object containers, as bulkload/internal/formats/avro reads them: values become text by the rules above,
// nested ones JSON. Columns are the fields of the top record or paths such as addr.city; only the requested ones are
// decoded. Without [Options.Columns] they are all fields; a duration, a big-decimal or a recursive type is refused, as
// above. A reader holds one block, packed and unpacked.
//
// Parts of tables ([Table]) have records without text: the file system returns them, row by row, with the bytes of the
// requested columns. They do not name their columns: these are [Options.Columns], or else [Options.Named].
//
// # Splits
//
// A text file is cut at every [Options.SplitSize] bytes, moved to the beginning of a record: in dumps a separator shows
// it, in CSV the number of quotes before it (see bulkload/internal/formats/splits), in JSON lines a line feed. A compressed file is one split,
// decompressed while it is parsed; a Parquet or ORC file has one split for each row group. An Avro file is cut at every
// SplitSize bytes, unread: a split has the blocks whose preceding sync marker begins in it. A part of a table is one
// split. Splits, their records and the order of these depend on the files and the split size only, and the records not
// even on that.
//
// # Bad records
//
// A record with the wrong number of columns or a fault of quoting is a [RowError] with its file, position, number and
// bytes. So is a record that shows that files were concatenated or that another program ended the text: a record after a
// byte order mark, one that repeats the header, a line with CR CR LF, and 0x1A at the end of the text. [Options.Reject],
// usually the method of a [Budget], decides whether to continue without it; a record that spans lines of a CSV file
// counts once per line. Damage that makes the rest of a file unreadable (also a record above [Options.MaxRecord], a quote
// that is not closed before the end, a fault in a block of Avro) is always an error. Numbers count a file's records from
// 1; to know them, the splits before the current one are counted if they have not been read yet. Numbers of Avro records
// count the records of a block.
package source
