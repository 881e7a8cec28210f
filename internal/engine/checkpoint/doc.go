// Package checkpoint keeps what a job has finished, so that the same command goes
// on after a crash, and reports it to others. An event is one entry of a table
// (eventsbegin.go, eventsload.go, undo.go): when its record is written, how durable
// it is, and what it changes in a [History]. records.go says what the records have,
// replay.go applies them: the only place where journals are understood. From its [History] a run resumes
// ([Open]), `status` makes a [State] ([Read]), and `clean` decides what may go
// ([Clean]). The format is drawn in internal/engine/journal/format.md.
//
// One process works on a job at a time: it holds the lock in the job's directory.
// Reading takes no lock.
package checkpoint
