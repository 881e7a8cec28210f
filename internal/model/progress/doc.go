// Package progress has the reports of a running job: [Events], which its
// phases send, a [Tracker] that gathers them into [Progress], how long is left,
// and the [Gate] at which work waits while a user or a time window pauses it.
//
// Phases know only events, not the listeners. The package reads no files and
// contacts no cluster.
package progress
