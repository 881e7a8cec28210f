// Package rowkey writes row keys as text and reads them back, as HBase's
// Bytes.toStringBinary and Bytes.toBytesBinary do.
package rowkey
