// Package dfs is an HDFS client that implements the published protocols: NameNode calls (ClientNamenodeProtocol.proto, hdfs.proto) and block
// transfers with DataNodes (datatransfer.proto), as in Hadoop 3.4.
//
// A [Client] makes calls and keeps idle connections. A [Reader] reads a file: it verifies the checksum of each byte before returning it, and tries
// one replica after another. A [StripedReader] does the same for an erasure coded file, and reconstructs lost blocks. A [File] is a file being
// written: a [BlockWriter] writes each of its blocks to all DataNodes of a pipeline at once. A pipeline is never repaired: after a failure the file
// must be written again. Callers decide when to repeat a call, and how to handle an error.
package dfs
