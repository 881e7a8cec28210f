// Package onyarn runs the built program with --engine yarn on a real YARN, next to HBase. It has tests only.
//
// The judges are a build of the same input in one process, whose HFiles must be those that HBase has taken, byte for byte and each once, and
// HBase's own Java client for the rows. What is done to jobs: mappers, reducers, their JVMs, the ApplicationMaster, a node and the command
// itself are killed in the middle of their work; tasks stand still, have second attempts at the same time, or find a disk full; the command is
// asked to stop. With Kerberos the tasks have delegation tokens alone.
//
//	yarn_test.go     the jobs
//	harm_test.go     processes that are killed
//	slow_test.go     speculation, silence, full disks
//	client_test.go   the command killed and asked to stop
//	secured_test.go  tokens, and where no keys may be
//	cost_test.go     ImportTsv on the same YARN
//	large_test.go    many rows, many tasks
//
// BULKLOAD_YARN=1 runs all but the last two, which want BULKLOAD_YARN_COST (rounds; BULKLOAD_YARN_COST_ROWS
// rows) and BULKLOAD_YARN_LARGE.
package onyarn
