// Package serve is the reader service: rows of the tables of job files over
// HTTP, read-only. [Open] loads a directory of job files, each a resource by the
// file's name; [Server.Serve] answers until its context ends, and drains.
//
// An answer is made as a whole before its first byte is sent, within bounds of
// rows and bytes: it is complete, or it names the page that continues it, or it
// is a problem (RFC 9457) whose type is stable. One open cluster serves all
// requests. Memory is bounded by [Limits].
package serve
