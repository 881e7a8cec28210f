// Package testdfs helps tests to replace the servers of an HDFS: frames of the NameNode's calls, requests to a DataNode
// and its responses.
package testdfs
