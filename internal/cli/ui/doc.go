// Package ui shows a person how far a job is: standard error as a [Console], a [Live] view that is drawn again and
// again below the log, [Lines] in the log once in a while, and numbers as people read them. It reads a
// progress.Tracker and knows no command.
package ui
