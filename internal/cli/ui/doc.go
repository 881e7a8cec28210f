// Package ui shows the progress of a job to a person: standard error as a [Console], a [Live] view that is redrawn
// below the log, periodic [Lines] in the log, and formatted numbers and texts. It reads a
// progress.Tracker and knows no command.
package ui
