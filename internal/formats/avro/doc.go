// Package avro reads Avro object container files as rows of text values: [ReadHeader] returns the columns of a file, [Compile] plans the decoding of
// some of them, [Blocks] unpacks the blocks of a split of the file, and [Plan.Record] finds the values of a record in a block. Fields that are not
// selected are skipped. No memory is allocated per record or value, except for decimals of more than 16 bytes.
//
// # The file
//
//	+-------------+--------------------------------+--------+---------+---------+
//	| Obj 1       | metadata: avro.schema,         | marker | block   | block   |
//	| 4 bytes     | avro.codec, others             | 16     |         |   ...   |
//	+-------------+--------------------------------+--------+---------+---------+
//	block:
//	+----------------+----------------+--------------------------------+--------+
//	| records, long  | bytes, long    | records, packed by the codec   | marker |
//	+----------------+----------------+--------------------------------+--------+
//
// The codecs are null, deflate, snappy (its CRC32 is checked), zstandard, bzip2 and xz; an error names any other codec. Files have no end
// marker: a file that is truncated after a block is not detected. github.com/hamba/avro parses the schema, without defaults, aliases and
// documentation, which are not needed here; names may have any letters. The top type must be a record.
//
// # Values
//
// A null is [span.Null]. A union has the value of its branch. Other values have the same text as in package parquet:
//
//	string, enum, bytes, fixed    the text, the bytes
//	int, long                     decimal
//	boolean                       true, false
//	float, double                 the shortest decimal that reads back as the same number, without ".0", with an
//	                              exponent below 1e-6 and from 1e21 on; NaN, Infinity, -Infinity
//	decimal                       plain, with all digits of its scale: 12.30
//	uuid                          a fixed as 00112233-4455-6677-8899-aabbccddeeff, a string unchanged
//	date                          2006-01-02
//	time-millis, -micros          15:04:05, and a fraction without trailing zeros unless it is 0
//	timestamp-millis, -micros,    2006-01-02 15:04:05, and a fraction as above, in [Options.Location]
//	-nanos
//	local-timestamp-...           the same, as stored
//	duration, big-decimal         an error, if the column is selected
//	array, map, record            JSON
//
// Dates and timestamps that are instants use the Gregorian calendar. If the metadata of a file names an old writer, its dates before 1582-10-15 and
// its timestamps before 1900 use the hybrid calendar, as in Spark and Hive ([valuetext.AvroCalendars]).
//
// As the Avro specification requires, a logical type that is unknown or does not fit its type is ignored. Strings are not checked for valid UTF-8.
//
// JSON has no blanks. Records have all fields in the schema's order, maps their entries in the file's order. Numbers and decimals are JSON numbers
// with all their digits. NaN, Infinity and -Infinity, dates, times and uuids are strings with the text above. Bytes and fixed are base64 strings, as
// in Spark's to_json. A union is the value of its branch, without its type. In strings, ", \ and characters below 0x20 are escaped. A type that
// contains itself is an error.
//
// # Damage
//
// Lengths and counts are checked against the size of the file, the size of the block, and the limits of [ReadHeader], [NewBlocks] and [Options]
// before they are used. Values may be nested 1000 deep. A fault in a block ends the block. Errors name the block's offset, the record's number in it
// and the field, and contain no value.
package avro
