// Package session is what a command says while it runs and when it ends. A [Program] has what all commands say: a log, results for people or
// programs, and how they ended. A [Session] is a command's work on a job: the job's events go to the log, to a view of the progress, to the
// state directory, and to what [Watch] asks for (the report, metrics, lineage), and so does its end.
package session
