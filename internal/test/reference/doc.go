// Package reference generates the reference documentation from the code: docs/configuration.md from the table of the job file's fields,
// docs/messages.txt from the texts in the code. Its tests check the other documents: links to files and headings, and quoted messages against
// the code. docs/commands.md and the man pages are made of the commands by the tests of cmd/bulkload.
//
// Its code without tests is a small leaf of its own: the Markdown that these tests and those of cmd/bulkload write.
package reference
