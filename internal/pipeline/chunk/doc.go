// Package chunk transfers sorted rows from the processes that read an input to the processes that write HFiles.
//
// A process that has read a part of the input has a run: its rows, sorted, with its duplicates resolved. [Writer] cuts a run
// into chunks, which never cross a region boundary. [Reader] takes the chunks of many runs as they arrive, by region and
// first key, and merges them; extsort resolves duplicates between runs, by the order of the input. It holds at most one chunk
// of each run and the latest one, since chunks of a run do not overlap.
//
// # Transports
//
// A chunk is a key and a value. [FrameWriter] and [FrameReader] write and read them one after the other, in the format of
// Hadoop Streaming's rawbytes: u32 big-endian length of the key, key, u32 big-endian length of the value, value.
// [FileWriter] writes a file of frames followed by an index, [File] reads the chunks of one region from it.
//
// # Format
//
// The key is the region, u32 big-endian, followed by the key of the chunk's first row. Chunks therefore sort as bytes by
// region and first key. Lengths in a value are little-endian:
//
//	+--------+------------+---------+------------------+----------+-----------+---------------+-----------------------+
//	| "BLC1" | u32 CRC32C | u32 run | u32 ordinal in   | u32 rows | u32 flags | u32 raw bytes | blocks                |
//	|        |            |         | run and region   |          | 1 = last  |               |                       |
//	+--------+------------+---------+------------------+----------+-----------+---------------+-----------------------+
//
//	block: | u32 stored bytes | u32 raw bytes | Snappy of whole rows |
//	row:   | u64 sequence number | u32 length of key and payload | u16 length of the key | key | payload |
//
// The CRC32C covers the key and everything that follows it in the value. Last means that the run has no further chunk
// of the region. A run without rows in a region has no chunk of it.
//
// # Errors
//
// Every error about a chunk is [ErrDamaged], and names the chunk. Errors are: a chunk that is truncated or has a wrong checksum,
// rows out of order or outside of their region, a chunk that is missing, repeated, or follows the last one of its run, and,
// where the contents of a run are known ([Counts]), a run that is missing as a whole or has other rows. A length in a chunk
// takes no more memory than a small multiple of the bytes received.
package chunk
