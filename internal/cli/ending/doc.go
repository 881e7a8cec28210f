// Package ending has how a command ended: its exit code ([CodeOf]), the object that programs read of a job
// ([Object]), and the summary that people read ([Outcome.Print]). Observers of a job receive an [Outcome].
package ending
