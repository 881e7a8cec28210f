// Package jobtext prints jobs for people: their state as [PrintJobs], [PrintJob] and [Line] do, and what a job has done: [PrintComparison],
// [PrintExport], [PrintRekey], [PrintSwitch], [PrintUndo], [PrintSurvey]. The summary of a load is in package ending.
package jobtext
