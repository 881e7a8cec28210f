// Package testdfs is what tests need to stand in for the servers of an HDFS: frames of the NameNode's calls, requests to a
// DataNode and its answers.
package testdfs
