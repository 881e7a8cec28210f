// Package checkpoint works with the journal and the state of jobs. [Open] takes a job's lock
// and replays its journal, so that the same command resumes the job after a crash. [Job.Steps] takes
// the steps of a command, and [Job.Record] writes what they do. `status` makes a [State] from a
// journal ([Read]), and `clean` decides which directories and resources to remove ([Clean]).
// What a record means is in package history.
//
// One process works on a job at a time: it holds the lock in the job's directory.
// Reading takes no lock.
package checkpoint
