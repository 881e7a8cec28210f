// Package ending describes the end of a command: its exit code ([CodeOf]), a job's result as an object for programs
// ([Object]), and the summary for people ([Outcome.Print]). Observers of a job receive an [Outcome].
package ending
