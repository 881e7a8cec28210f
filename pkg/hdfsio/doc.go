// Package hdfsio is the file systems that a load reads from and writes to: HDFS, the local disk, and memory.
// They share one interface, [FS], one set of rules and one conformance suite.
//
// # HDFS
//
// Files are read and written by a client of HDFS's published protocols (package dfs): no byte is handed out before the checksums of
// its packet are right, a DataNode that fails is read around, and one that does not answer is left out of new blocks. The client
// library makes the other calls: names, modes, lists.
//
// A small interim file ([CreateOptions.Interim]) is held until Finish, then made, given its block and closed, read back and
// renamed in five calls of the NameNode (create, addBlock, complete, getBlockLocations, rename2), with one connection to a DataNode
// for its block and one for all that are read back. When a DataNode fails on the way, it is written once more.
//
// # Rules
//
//   - Names are absolute paths with forward slashes. What a user typed (hdfs://, file://, a bare path) becomes a
//     [Location] by [Conf.Resolve].
//   - A file is written once, front to back, by a [Writer]. It exists for others only when Finish returned nil: then it is
//     complete, closed, and its length was compared with what was written. Whatever another reader may see of it before
//     that (on HDFS the name with length 0) means nothing.
//   - A write that went wrong is never patched. HDFS pipelines are not recovered, so such a file
//     is given up with a [*RewriteError] ([ErrRewrite]); the caller aborts it and writes the whole file again, under a new
//     name.
//   - Create and Rename refuse an existing target with [fs.ErrExist]. Of a small interim file Finish does so in place of
//     Create.
//   - Modes are taken as given. No umask is applied, neither by the process nor by the NameNode.
//   - Errors are [*fs.PathError] or wrap one, and answer errors.Is for fs.ErrNotExist, fs.ErrExist and fs.ErrPermission.
//
// Every call takes a context, and every network operation has a deadline of its own: nothing waits for ever. An FS may be
// used by any number of goroutines; a Writer or an open file belongs to one, except that ReadAt may be called in parallel.
package hdfsio
