// Package extsort sorts rows by key within one memory budget.
//
// Workers put rows, a key and an opaque payload, into arenas of their own
// ([Sorter.Writer]). A full arena is sorted and spilled to disk as a run,
// compressed. When all rows are in, [Sorter.Region] merges the runs of one
// region, and duplicates of a key are decided on the way.
//
// # Order
//
// Rows come out by key as unsigned bytes. Rows of one key come in the order
// of their sequence numbers, which follow the input; so the outcome depends
// neither on the number of workers nor on the budget.
//
// # How
//
// What is sorted is an index, 16 bytes a row: eight bytes of the key after
// what its whole region shares, with the region in front, and the row's place
// in the arena. Rows whose eight bytes are equal are sorted by the next eight
// in which they differ, so a key is fetched from the arena about once however
// long the prefix that it shares with its neighbours.
//
// Rows of one record in several tables may have the same payload. An arena holds it once ([Writer.AddShared]); in runs each row
// has its own.
//
// # Files
//
// A run is a file that has no name any more once it is open, so a killed
// process leaves nothing behind. Its layout: blocks of whole rows, each
// u32 stored length, u32 raw length, u32 CRC32C of the stored bytes, then Snappy.
// All integers are little-endian. Where each region's blocks are is kept in memory.
//
// With [Options].Keep a run has a name and ends with where its blocks are, so
// that another process can merge it ([Sorter.Saved], [Reopen]):
//
//	+--------+-----+---------------------------------------------------+--------------+------------+-----------+
//	| blocks |  …  | uvarint regions, uvarint greatest raw block, then  | u32 length   | u32 CRC32C | "BLRUN 1\n"|
//	|        |     | per region uvarint bytes, rows, raw bytes          | of the index | of it      |           |
//	+--------+-----+---------------------------------------------------+--------------+------------+-----------+
//
// It is not forced to the disk: what a machine that stopped has left of it is
// determined by the checksums.
package extsort
