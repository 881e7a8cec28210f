// Package report gathers the events of a job while it runs ([Gather]), and writes a report at the end: one HTML file
// without scripts and without references to other files. The file is a record to keep with a job and to
// send by mail.
//
// A document is plain data, independent of the order of the chapters; Write creates the file from it. All of its text
// comes from outside (table names, keys, errors), so html/template escapes all of it, and the file's own policy
// forbids it to load or run anything.
//
// Charts are SVG whose horizontal positions are percentages, so that they fill a wide screen and a phone with letters
// of one size. Each has a title and a description, and a table with the same figures.
package report
