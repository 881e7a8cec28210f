// Package serve is the reader service: rows of the tables of job files over HTTP, read-only. [Open] loads a directory
// of job files. Each file is a resource with the file's name. [Server.Serve] handles requests until its context ends,
// and then drains.
//
// A response is built completely before its first byte is sent, within limits of rows and bytes. It is complete, or
// it names the page that continues it, or it is a problem (RFC 9457) of a stable type. One open cluster serves all
// requests. Memory is limited by [Limits].
package serve
