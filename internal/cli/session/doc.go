// Package session produces the output of a command while it runs and when it ends. A [Program] is the output of all commands:
// the log, results as text or JSON, and exit codes. A [Session] is a command's work on a job. It passes the job's
// events and its end to the log, to a view of the progress, to the state directory, and to the targets that [Watch]
// selects (the report, metrics, lineage).
package session
