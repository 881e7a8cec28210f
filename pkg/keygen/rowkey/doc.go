// Package rowkey writes row keys as text and reads them back, as HBase's
// Bytes.toStringBinary and Bytes.toBytesBinary do. It is a small leaf of its own:
// what only prints keys need not know how they are made.
package rowkey
