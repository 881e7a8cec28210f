// Package avro reads Avro object container files as rows of text values: [ReadHeader] returns the columns of a file,
// [Compile] plans the decoding of some of them, [Blocks] unpacks the blocks of a part of the file, and [Plan.Record]
// finds the values of a record in a block. Fields that are not chosen are stepped over. Nothing is allocated for a record
// or a value, but for decimals of more than 16 bytes.
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
// Codecs are null, deflate, snappy (its CRC32 is checked), zstandard and bzip2; any other, as xz, is refused by its
// name. A file has no end mark: one that was cut off after a block is not noticed. The schema is parsed by
// github.com/hamba/avro, without defaults, aliases and documentation, which do not matter here; names may have any
// letters. The top must be a record.
//
// # Values
//
// A null is [span.Null]. A union has the value of its branch. Otherwise the texts are the same as for
// Parquet:
//
//	string, enum, bytes, fixed    the text, the bytes
//	int, long                     decimal
//	boolean                       true, false
//	float, double                 the shortest decimal that reads back as the same number, without ".0", with an
//	                              exponent below 1e-6 and from 1e21 on; NaN, Infinity, -Infinity
//	decimal                       plain, with all digits of its scale: 12.30
//	uuid                          of a fixed 00112233-4455-6677-8899-aabbccddeeff, of a string the string
//	date                          2006-01-02
//	time-millis, -micros          15:04:05, and a fraction without trailing zeros unless it is 0
//	timestamp-millis, -micros,    2006-01-02 15:04:05, and a fraction as above, in [Options.Location]
//	-nanos
//	local-timestamp-...           the same, as stored
//	duration, big-decimal         refused by name, if it is chosen
//	array, map, record            JSON
//
// Dates and timestamps that are instants are of the Gregorian calendar. Files of old writers that say so in their metadata have
// those before 1582-10-15 and 1900 by the hybrid calendar, as Spark and Hive read them ([valuetext.AvroCalendars]).
//
// A logical type that is unknown, or does not fit its type, leaves the type: as Avro has it. Whether a string is UTF-8
// is not checked.
//
// JSON has no blanks. Records have all fields in the schema's order, maps their entries in the file's. Numbers and
// decimals are numbers with all their digits; NaN, Infinity and -Infinity, dates, times and uuids are strings of the
// texts above; bytes and fixed are strings of base64, as Spark's to_json has them. A union is the value of its branch,
// without its type. In strings " \ and what is below 0x20 is escaped. A type that contains itself is refused by name.
//
// # Damage
//
// Lengths and counts are checked before they are used: against the size of the file, that of the block, and the
// limits of [ReadHeader], [NewBlocks] and [Options]. Values may be 1000 deep within each other. A fault within a block
// ends the block. Errors name the block's byte, the record's number in it and the field, and hold no value.
package avro
