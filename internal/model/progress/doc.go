// Package progress has what a job reports while it runs: [Events], which its
// phases send, a [Tracker] that gathers them into [Progress], how long is left,
// and the [Gate] at which work waits while a person or a window wants it to.
//
// Phases know only events, not the listeners. The package reads no files and
// contacts no cluster.
package progress
