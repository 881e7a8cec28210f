// Package progress reports on a running job: its phases send [Events], and a
// [Tracker] gathers them into [Progress] with the estimated time left. Work waits
// at the [Gate] while a user or a time window pauses it.
//
// Phases know only events, not the listeners. The package reads no files and
// contacts no cluster.
package progress
