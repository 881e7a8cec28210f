// Package inspect determines how files were written: format, compression, character set,
// dialect, columns with guessed types, the text of NULL, the records that would be refused, and a job file to start from.
//
// It reads a bounded sample: the beginnings of the files. [Run] takes paths and returns a [Report].
//
// # How text is judged
//
// A reading is a known writer (an exporter with its quotes, escapes and NULL), separators, and whether the first record is a header. All readings
// that the bytes of the sample suggest are tried. A reading is kept if every record has the same number of columns and its writer would have written
// exactly these bytes: a mysql export leaves no single backslash, COPY writes a line feed as \n, a column of INTO OUTFILE is quoted completely or not
// at all. A text for NULL shows in a column of numbers or dates. Readings that give the same values count as one.
//
// If more than one is left, that is a [Doubt], with the readings and the first place where they differ; nothing is chosen. Configured settings
// exclude readings with other settings; of the remaining ones, the nearest to a configured dialect is chosen.
//
// A reading is dropped in favour of one that explains the sample better only by the rules in prefer.go. They all count coincidences that a file of
// the other kind would have to show by chance.
//
// The result holds for the sample. It is checked again with the scanner that jobs use.
package inspect
