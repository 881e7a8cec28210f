// Package reference generates the reference documentation from the program itself: docs/commands.md and the man pages from its
// commands, docs/job-file.md from the table of the job file's fields, docs/messages.txt from the texts in the code. Its tests
// check the other documents: links to files and headings, and quoted messages against the code.
//
// The program does not contain this package: cmd/bulkload's tests call it, so that the dependencies of man pages are not
// dependencies of the binary.
package reference
