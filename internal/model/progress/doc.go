// Package progress has what a job reports while it runs: [Events], which its
// phases send, a [Tracker] that gathers them into [Progress], how long is left,
// and the [Gate] at which work waits while a person or a window wants it to.
//
// Phases know events alone; they do not know the listeners. Nothing here reads
// files or talks to a cluster.
package progress
