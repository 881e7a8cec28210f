// Package checkpoint keeps what a job has finished, so that the same command goes
// on after a crash, and reports it to others. events.go lists what is written into
// the journal and when, records.go what the records have, replay.go reads them: the
// only place where journals are understood. From its [History] a run resumes
// ([Open]), `status` makes a [State] ([Read]), and `clean` decides what may go
// ([Clean]). The format is drawn in internal/engine/journal/format.md.
//
// One process works on a job at a time: it holds the lock in the job's directory.
// Reading takes no lock.
package checkpoint
