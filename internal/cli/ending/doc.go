// Package ending describes the end of a command: its exit code ([CodeOf]), the job's result for programs ([Object]), and the
// summary in text form ([Outcome.Print]). Observers of a job receive an [Outcome].
package ending
