// Package inspect determines how files were written: format, compression, character set,
// dialect, columns with guessed types, the text of NULL, the records that would be refused, and a job file to start from.
//
// It reads a bounded sample: the beginnings of the files. [Run] takes paths and returns a [Report].
//
// # How text is judged
//
// A reading assumes a known writer (an exporter with its quotes, escapes and NULL), separators, and that the first record is a header or is not. All
// readings that the bytes of the sample suggest are tried. A reading is kept if every record has the same number of columns and the writer would have
// written exactly these bytes: for example, a mysql export has no single backslash, COPY writes a line feed as \n, and INTO OUTFILE quotes either all
// values of a column or none. A text for NULL is recognized in columns of numbers or dates. Readings that give the same values count as one.
//
// If more than one reading is left, that is a [Doubt], with these readings and the first place where they differ, and none is chosen. Configured
// settings exclude readings with other settings. If a dialect is configured, the reading that is nearest to it is chosen.
//
// A reading is dropped in favour of one that explains the sample better, but only by the rules in prefer.go. Each rule counts coincidences that the
// dropped reading would have to explain.
//
// The result holds for the sample. It is checked with the scanner that jobs use.
package inspect
