// Package rowkey writes row keys as text and reads them back, as HBase's
// Bytes.toStringBinary and Bytes.toBytesBinary do. It is a small leaf of its own,
// so that packages that only print keys need not import keygen.
package rowkey
