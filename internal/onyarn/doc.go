// Package onyarn runs the built program with --engine yarn on a real YARN, beside HBase. It has tests only.
//
// The judges are a build of the same input in one process, whose HFiles must be those that HBase has taken, byte for byte, and HBase's own
// Java client for the rows. Mappers, reducers, the ApplicationMaster and the program itself are killed while they work.
//
// BULKLOAD_YARN=1 runs it.
package onyarn
