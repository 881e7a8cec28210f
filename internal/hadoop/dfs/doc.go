// Package dfs is a client of HDFS on the published protocols: calls of the NameNode (ClientNamenodeProtocol.proto, hdfs.proto) and
// blocks of DataNodes (datatransfer.proto), as Hadoop 3.4 has them.
//
// A [Client] makes calls and keeps idle connections. A [Reader] reads a file: each byte after its checksum was compared, from one
// replica after the other. A [StripedReader] does the same with an erasure coded file, and rebuilds what is lost. A [File] is one that is being made: its blocks are written by a [BlockWriter] to all DataNodes of a
// pipeline at once. A pipeline is never repaired: the file has to be written again. When a call may be repeated, and what an
// error means, is for the caller to decide.
package dfs
