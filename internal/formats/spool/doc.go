// Package spool copies streams, which can be read once and from the front only, into files on local disk, which can be read
// from any place, by several readers, and again. [Copy] takes length and checksum on the way: by these a later stream is
// known to be the same, and a copy of an earlier process to be whole. [File] is a copy that is open, and [FS] a file system
// in which it has the stream's name.
//
// A stream that is cut short cannot be distinguished from a whole one: a writer that died looks like an end.
//
// What is read goes through buffers of a fixed size. A copy may be read by any number of goroutines; one call of Copy works on
// a stream alone.
package spool
