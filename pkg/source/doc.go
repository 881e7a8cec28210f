// Package source turns exports into batches of records: CSV, dumps with one byte between columns and one after each
// record, JSON lines, Parquet and Avro. [Open] finds the files and cuts them into splits; every worker reads splits with a
// [Reader] of its own, which calls it back with a [Batch] at a time: spans in one piece of memory, no allocation for a row or
// a field. Nothing here interprets a value, nor checks that it is UTF-8.
//
// # Inputs
//
// An input is a file, a directory, or a pattern: *, ? and [a-z] within an element of the path (path.Match), {a,b} anywhere, also
// nested, and ** for any number of directories; a backslash makes any of these characters itself, and a path that exists is no
// pattern. A directory means all files below it, at any depth. Left out there are empty files, and the names that Hive, Spark
// and Hadoop hide ([listing.HiddenKind]): .x, _x without =; [Input.LeftOut] counts them. A file that is given by name is
// always read. A pattern has each file once. A pattern that matches nothing is an error, and so are an input without data (but
// for [Options.AllowEmpty]), a file that comes twice, under one name or as a link or another spelling, a file that is being
// written (its name says so, or HDFS), and a pipe or device (opening a
// job's inputs makes a file of a pipe first). A directory that is a table of Delta, Iceberg, Hudi or a
// transactional one of Hive is refused, and all that is in it: its files hold rows that were deleted. Files come in the order
// of the inputs, within each by name. [InputsFrom] reads a list of inputs.
//
// Directories name=value are partitions, as Hive, Spark and DuckDB write them, wherever they stand in a file's absolute path:
// each is a column with that text in all records of the file ([Options.Partitions]), after the file's own unless
// [Options.Columns] says otherwise. %XX is decoded once; __HIVE_DEFAULT_PARTITION__ is NULL; nothing else is interpreted. The
// files of one input must have the same ones in the same order. [Options.Where] chooses partitions, and the others are not
// listed.
//
// A file is compared with its listing each time it is opened, and by [Input.Recheck]; [Input.Sum] is a checksum of
// the data read of a split.
// Files of different formats may be mixed as long as they have the same columns.
//
// # Formats
//
// Text may be packed, in any number of members or streams: .gz, .zst, .bz2, .xz, .lz4, .sz (snappy's framing format), .deflate
// (zlib, as Hadoop's DefaultCodec), and .snappy and .lz4 in the blocks of Hadoop's codecs, which have no end and no checksums:
// cut after a block, such a file is only shorter. What an unpacker has to hold is within [Options.Memory]. Other compressions,
// archives, SequenceFiles and the like are refused by their name and by how they begin. Then .csv is CSV,
// .jsonl, .ndjson, .json is JSON lines, .parquet, .parq, .pq is Parquet, .orc is ORC and .avro is Avro. Any other name (.dump, .txt,
// .dat, none) leaves it to the content: the magic of a compression, Parquet, ORC or Avro; then the separator of a dump's
// records (0x10) within the first 64 KiB means a dump; a brace and a name in quotes at the beginning mean JSON lines;
// anything else is CSV, but for text with 0x01 and no 0x10 at all, which is refused. [Options.Format] overrides this, and
// [Options.Dialect] what is said of text.
//
// A dump has no header, quotes or escapes: every byte that is not a separator is data, an empty column is kept in any
// position, and every record must have all columns. The last record may lack its separator.
//
// CSV is RFC 4180, strictly: a quote may only stand around a field, and within it doubled; nothing may stand between a
// closing quote and the separator. Records end with LF or CR LF, mixed at will; the last may lack it. The bytes of a
// field are kept as they are, CR LF within quotes too. A byte order mark is passed over. A line with nothing on it is no
// record, unless there is one column: then it is an empty value. As in encoding/csv, a record with a fault of
// quoting ends with the line that the fault is on. The first record is the header (or [HeaderNone] and given names): it
// must have the columns of the schema, all and no others, in any order.
//
// JSON lines are one object on each line, as bulkload/internal/formats/jsonlines reads them: numbers as they stand, null and what is not
// there as NULL, arrays and objects as JSON. Columns are paths such as addr.city. Unless they are given, they are those of the
// first file's first lines (1000 lines, or 64 KiB): the innermost members, in the order in which they come; a value in
// one line that is an object in another is one column. Other members of later lines are skipped, as are all members
// that were not requested. A file that has none of the columns in its first lines is refused, as is one whose first line says that
// it is an array or a printed document. Blank lines are no records.
//
// A reject file ([RejectFile]) is read with [FormatRejects] only: its records are text in the form that its first line
// describes, as if they were packed.
//
// Of a Parquet file only the columns that are chosen are read, and only of these it matters whether they can be: not
// whether others are nested, encrypted or packed with LZO. Pages may be packed with snappy, zstd, gzip, brotli, lz4_raw or
// the older lz4, in Hadoop's frames too. The field city of a struct addr is the column addr.city, unless a column has that
// name itself; where the struct is null, so is the field. Nothing leads into a list or a map. Values become text by these
// rules; a null is NULL:
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
// So are logical and converted types that are unknown or do not fit the physical type: the values would have another meaning. A column
// that is refused is left out where columns are chosen or [Options.Extra] is ExtraIgnore. Days of INT96 are signed; all dates
// are in the Gregorian calendar, whatever the year. Files of Spark before 3.0, of its LEGACY mode and of Hive say in their
// metadata that they count old dates and timestamps by the hybrid calendar, and are read so. An old value is refused where a file does not
// say which calendar or time zone it has ([valuetext.Calendars]).
//
// JSON is that of internal/formats/avro: without blanks, structs with all fields in the schema's order, maps with their entries in the
// file's (those with nested keys lists of {"key":…,"value":…}, by the fields' own names); integers, decimals and floats are numbers with all their digits; NaN, Infinity and -Infinity, dates, times and
// UUIDs strings of the texts above; bytes that are no STRING, ENUM or JSON, base64. A key is a string. Lists of two levels
// and repeated columns without annotation are lists, MAP_KEY_VALUE is a map, and a map without values the list of its keys.
// No value is longer than [Options.MaxRecord].
//
// Parquet is read by internal/formats/parquet. Checksums of pages are verified where there are any. A reader holds one page and one
// dictionary of each column.
//
// ORC is read by internal/formats/orc, by the same rules. A timestamp is that of its writer's clock. A reader holds a chunk of each stream of the
// columns that are read, and their dictionaries.
//
// Avro files are object containers, as bulkload/internal/formats/avro reads them: values become text by the rules above, nested ones
// JSON. Columns are the fields of the top record or paths such as addr.city; only those that are wanted are decoded.
// Without [Options.Columns] they are all fields; a duration, a big-decimal or a type within itself is refused, as above. A reader
// holds one block, packed and unpacked.
//
// Parts of tables ([Table]) have records without text: the file system returns them, row by row, with the bytes of the
// requested columns. They name no columns: these are [Options.Columns], or else [Options.Named].
//
// # Splits
//
// A text file is cut at every [Options.SplitSize] bytes, moved to where a record begins: in dumps a separator proves
// that, in CSV the number of quotes before (see planCSV), in JSON lines a line feed. A packed file is one split, unpacked
// while it is parsed; a Parquet file has one for each row group. An Avro file is cut at every SplitSize bytes, unread: a split
// has the blocks whose marker before them begins in it. A part of a table is one split. Splits, their records and the order of these depend on the files and
// the split size only, and the records not even on that.
//
// # Bad records
//
// A record with the wrong number of columns or a fault of quoting is a [RowError] with its file, place, number and bytes.
// So is a record that results from concatenated files or another program's line ends: one after a byte order mark, one that repeats
// the header, a line with CR CR LF, and 0x1A at the end of the text.
// [Options.Reject], usually that of a [Budget], decides whether to continue without it; one that spans lines of a CSV file
// counts once per line. A fault that makes the rest of a file unreadable (damage, a record above [Options.MaxRecord], a quote that is
// not closed before the end, a fault in a block of Avro) is an error in any case. Numbers count a file's records from
// 1; to know them, the splits before the current one are counted where they have not been read yet. Those of Avro count the
// records of a block.
package source
