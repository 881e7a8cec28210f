// Package onyarn runs the built program with --engine yarn on a real YARN, next to HBase. It has tests only.
//
// The judges are a build of the same input in one process, whose HFiles must be those that HBase has loaded, byte for byte and each once, and
// HBase's own Java client for the rows. The tests kill mappers, reducers, their JVMs, the ApplicationMaster, a node and the command itself
// during their work; they suspend tasks, run second attempts concurrently, and fill disks; they stop the command. With Kerberos the tasks have
// only delegation tokens.
//
//	yarn_test.go     the jobs
//	harm_test.go     processes that are killed
//	slow_test.go     speculation, silence, full disks
//	client_test.go   a killed and a stopped command
//	secured_test.go  tokens, and locations that must not have keys
//	cost_test.go     ImportTsv on the same YARN
//	large_test.go    many rows, many tasks
//
// BULKLOAD_YARN=1 runs all except the last two, which need BULKLOAD_YARN_COST (rounds; BULKLOAD_YARN_COST_ROWS rows) and BULKLOAD_YARN_LARGE.
package onyarn
