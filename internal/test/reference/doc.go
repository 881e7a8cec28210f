// Package reference writes the reference documentation from the program itself:
// docs/commands.md and the man pages from its commands, docs/job-file.md from
// the table of the job file's fields, docs/messages.txt from the texts in the code. Its tests hold the other documents to what
// is there: links to files and headings, and quoted messages to the code.
//
// Nothing here is in the program: cmd/bulkload's tests call it, so that what it
// needs for man pages is not a dependency of the binary.
package reference
