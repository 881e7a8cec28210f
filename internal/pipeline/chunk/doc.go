// Package chunk carries sorted rows from the processes that read an input to those that write HFiles.
//
// A process that has read a part of the input has a run: its rows, sorted, with its duplicates decided. [Writer] cuts a run
// into chunks, which never cross the border of a region. [Reader] takes the chunks of many runs as they arrive, by region and
// first key, and merges them; duplicates between runs are decided by extsort, by the order of the input. It holds at most one
// chunk of each run and the one that came last, since chunks of a run do not overlap.
//
// # Transports
//
// A chunk is a key and a value. [FrameWriter] and [FrameReader] write them one after the other, as Hadoop Streaming's
// rawbytes does: u32 big-endian length of the key, key, u32 big-endian length of the value, value. [FileWriter] makes a file
// of frames with an index after them, [File] reads the chunks of one region of it.
//
// # Format
//
// The key is the region, u32 big-endian, and the key of the chunk's first row. So chunks sort as bytes by region and first
// key. Lengths in a value are little-endian:
//
//	+--------+------------+---------+------------------+----------+-----------+---------------+-----------------------+
//	| "BLC1" | u32 CRC32C | u32 run | u32 ordinal in   | u32 rows | u32 flags | u32 raw bytes | blocks                |
//	|        |            |         | run and region   |          | 1 = last  |               |                       |
//	+--------+------------+---------+------------------+----------+-----------+---------------+-----------------------+
//
//	block: | u32 stored bytes | u32 raw bytes | Snappy of whole rows |
//	row:   | u64 sequence number | u32 length of key and payload | u16 length of the key | key | payload |
//
// The CRC32C is of the key and of all of the value that follows it. Last says that the run has no further chunk of the
// region. A run without rows of a region has none.
//
// # What is refused
//
// Every error about a chunk is [ErrDamaged], and names the chunk: one that is short or does not have its checksum, rows out of
// order or outside of their region, a chunk that is missing, comes twice, or follows the last one of its run, and, where
// it is known what a run holds ([Counts]), a run that is missing as a whole or has other rows. A length in a chunk takes no more
// memory than a small multiple of the bytes that came.
package chunk
