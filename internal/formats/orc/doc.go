// Package orc reads ORC files as text: [Open] reads a file's tail, [File.Plan] selects the columns to read, and a [Reader] returns the rows of
// stripes as spans. The package does not open files and does not know their names.
//
//	+-----+----------------------------------+-----+--------+-------------+--------+
//	| ORC | stripe: indexes, streams, footer | ... | footer | post script | length |
//	+-----+----------------------------------+-----+--------+-------------+--------+
//
// A column has several streams: one for which values are present, one for their bytes, one for their lengths, and so on. Streams are compressed in
// chunks of about 256 KiB. A reader holds one chunk of each stream that it reads, and the dictionaries of a stripe. It skips indexes.
//
// Values have the same text as those of Parquet. A timestamp has the local time that its writer saw; CHAR has no trailing blanks; a union has the
// value of its branch. Every length, count and offset of a file is checked before it is used. Start reading at reader.go.
package orc
