// Package ui shows a job's progress to the user: standard error as a [Console], a [Live] view that is redrawn below
// the log, periodic [Lines] in the log, and numbers in readable form. It reads a progress.Tracker and knows no
// command.
package ui
