// Package report gathers what a job does while it runs ([Gather]), and draws it at
// the end as one HTML file that needs nothing else: no script, no font, no picture
// from elsewhere. It is a record to be kept with a job and sent by mail.
//
// A document is plain data, in whatever order the chapters are; Write makes
// the file of it. Everything in it is text of others (table names, keys,
// errors), so all of it is escaped by html/template, and the file forbids
// itself to load or run anything.
//
// Charts are SVG whose horizontal places are per cent, so that they fill a
// wide screen and a phone with letters of one size. Each has a title and a
// description, and a table with the same figures.
package report
