// Package rejects writes reject files, which have records that could not be used, or that a job left out, and reads them as the text that these were. [File] collects
// records and writes them in the order of the input; its first line is a [Form], which says how they are read. A [Reader] undoes it.
package rejects
