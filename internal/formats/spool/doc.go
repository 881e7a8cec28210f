// Package spool copies streams, which can be read only once and sequentially, into files on local disk, which can be read
// repeatedly, at any offset, by several readers. [Copy] computes length and checksum: they show whether a later stream is
// the same, and whether a copy of an earlier process is complete. [File] is an open copy, and [FS] a file system
// in which the copy has the stream's name.
//
// A truncated stream cannot be distinguished from a complete one: if the writer dies, the reader sees a normal end.
//
// Data passes through buffers of a fixed size. Any number of goroutines may read a copy; one call of Copy has exclusive use
// of a stream.
package spool
