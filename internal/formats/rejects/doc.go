// Package rejects writes reject files, which contain bad records or records that a job left out, and reads them back as the original text. [File]
// collects records and writes them in the order of the input. The first line of a file is a [Form], which describes how the records were read. A
// [Reader] returns the text of the records.
package rejects
