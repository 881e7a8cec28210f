// Package inspect determines how files were written: format, compression, character set,
// dialect, columns with guessed types, the text of NULL, the records that would be refused, and a job file to start from.
//
// It reads a bounded sample: the beginnings of the files. [Run] is given paths and returns a [Report].
//
// # How text is judged
//
// A reading is a writer that is known (an exporter with its quotes, escapes and NULL), separators, and whether the first
// record is a header. All readings are tried that the bytes of the sample suggest. One survives if every record has the same
// number of columns and its writer would have written these very bytes: a mysql export leaves no backslash alone, COPY writes a
// line feed as \n, a column of INTO OUTFILE is in quotes as a whole or not at all. A NULL that stands in a column of numbers
// or dates shows the text of NULL. Readings that give the same values count as one.
//
// If more than one is left, that is a [Doubt], with the readings and the first place where they differ: nothing is chosen.
// Settings that are given leave only the readings that have them; of those left, the nearest to a dialect that was given is taken.
//
// A reading may be left out for one that explains the sample better only by the rules in prefer.go, which all count
// coincidences that a file of the other kind would have to show by chance.
//
// What is found holds for the sample. It is checked once more with the scanner that jobs use.
package inspect
