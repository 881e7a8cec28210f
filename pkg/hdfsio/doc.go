// Package hdfsio implements the file systems that a load reads from and writes to: HDFS, the local disk, and memory. They share one
// interface, [FS], one set of rules and one conformance suite.
//
// # HDFS
//
// A client of HDFS's published protocols (package dfs) reads and writes files. It returns no byte before the checksums of its
// packet have been verified, reads around a DataNode that fails, and excludes a DataNode that does not answer from new blocks. The
// client library makes the other calls: names, modes, lists.
//
// A small interim file ([CreateOptions.Interim]) is buffered until Finish. It is then created, given its block and closed, read back
// and renamed in five NameNode calls (create, addBlock, complete, getBlockLocations, rename2), with one connection to a DataNode for
// its block and a shared one for the files that are read back. If a DataNode fails meanwhile, the file is written once more.
//
// # Rules
//
//   - Names are absolute paths with forward slashes. [Conf.Resolve] turns user input (hdfs://, file://, a bare path) into
//     a [Location].
//   - A [Writer] writes a file once, from front to back. The file exists for others only after Finish has returned nil: it
//     is then complete, closed, and its length was compared with the number of bytes written. Anything that another reader
//     sees of it before (on HDFS the name with length 0) has no meaning.
//   - A failed write is never patched. HDFS pipelines are not recovered, so such a file
//     is abandoned with a [*RewriteError] ([ErrRewrite]); the caller aborts it and writes the whole file again, under a new
//     name.
//   - Create and Rename refuse an existing target with [fs.ErrExist]. For a small interim file Finish does so instead of
//     Create.
//   - Modes are applied exactly, except that [Local].MkdirAll lets the owner write to and pass the parents that it
//     creates. No umask is applied, neither by the process nor by the NameNode: see [Masked].
//   - Errors match fs.ErrNotExist, fs.ErrExist and fs.ErrPermission with errors.Is.
//
// Every call takes a context, and every network operation has its own deadline, so no call blocks forever. Any number of goroutines
// may use an FS. A Writer or an open file must be used by one goroutine, except that ReadAt may be called in parallel.
package hdfsio
