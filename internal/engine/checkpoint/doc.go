// Package checkpoint works with the journal and the state of jobs. [Open] takes a job's lock
// and replays its journal, so that the same command resumes the job after a crash. [Job.Steps] takes
// the steps of a command, and [Job.Record] writes what they do. `clean` decides which directories
// and resources to remove ([Clean]). What a record means is in package history, and what is known
// of a job without its lock in package status.
//
// One process works on a job at a time: it holds the lock in the job's directory.
// Reading takes no lock.
package checkpoint
