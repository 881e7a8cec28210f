// Package extsort sorts rows by key within one memory budget.
//
// Workers add rows, each a key and an opaque payload, to their own arenas ([Sorter.Writer]). A full arena is sorted and spilled
// to disk as a compressed run. After all rows have been added, [Sorter.Region] merges the runs of one region and resolves
// duplicates of a key.
//
// # Order
//
// Rows are sorted by key as unsigned bytes. Rows of one key are sorted by their sequence numbers, which follow the input. The
// result therefore depends neither on the number of workers nor on the budget.
//
// # Algorithm
//
// The sort moves index entries of 16 bytes a row: the region followed by eight bytes of the key after the prefix that the whole
// region shares, and the row's position in the arena. Rows whose eight bytes are equal are sorted by the next eight bytes in
// which they differ, so a key is fetched from the arena about once, however long the prefix that it shares with its neighbours.
//
// Rows of one record in several tables may have the same payload. An arena holds it once ([Writer.AddShared]); in runs each row
// has its own copy.
//
// # Files
//
// A run is a file that is unlinked once it is open, so a killed process leaves no files behind. It consists of blocks of whole
// rows, each with a u32 stored length, a u32 raw length, a u32 CRC32C of the stored bytes, and Snappy data. All integers are
// little-endian. The index of each region's blocks is in memory, unless those of all runs take more than a 64th of it: then it is at the
// run's end, and read from there.
//
// With [Options].Keep a run keeps its name and always ends with its index, so that another process can merge it ([Sorter.Saved],
// [Reopen]):
//
//	+--------+-----+---------------------------------------------------+--------------+------------+-----------+
//	| blocks |  …  | uvarint regions, uvarint greatest raw block, then  | u32 length   | u32 CRC32C | "BLRUN 1\n"|
//	|        |     | per region uvarint bytes, rows, raw bytes          | of the index | of it      |           |
//	+--------+-----+---------------------------------------------------+--------------+------------+-----------+
//
// The file is not synced. After a crash of the machine, the checksums show whether it is complete.
package extsort
