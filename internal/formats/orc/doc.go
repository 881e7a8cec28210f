// Package orc reads ORC files as text: [Open] reads a file's tail, [File.Plan] decides which columns are read, and a [Reader] gives the rows
// of stripes as spans. It knows nothing of files and their names.
//
//	+-----+----------------------------------+-----+--------+-------------+--------+
//	| ORC | stripe: indexes, streams, footer | ... | footer | post script | length |
//	+-----+----------------------------------+-----+--------+-------------+--------+
//
// A column has a stream for each thing that it keeps of its values: which are there, their bytes, their lengths. Streams are packed in chunks
// of 256 KiB or so, and a reader holds a chunk of each stream that it reads, and the dictionaries of a stripe. Indexes are passed over.
//
// Values become the texts that Parquet's become. A timestamp is that of the clock that its writer saw; CHAR has no blanks at its end; a union
// has the value of its branch. Every length, count and place of a file is checked before it is used. Begin reading at reader.go.
package orc
