// Package checkpoint records what a job has finished, so that the same command resumes
// it after a crash, and reports the job's state. An event is one entry of a table
// (events.go, eventsload.go, undo.go): when its record is written, how durable
// it is, and its effect on a [History]. records.go defines the fields of the
// records, and replay.go applies them; no other code interprets journals. A run
// resumes from its [History] ([Open]), `status` makes a [State] from it ([Read]), and
// `clean` decides which directories to remove ([Clean]). The format is described in
// internal/engine/journal/format.md.
//
// One process works on a job at a time: it holds the lock in the job's directory.
// Reading takes no lock.
package checkpoint
