// Package manifest describes the HFiles of a build, and later phases check the files
// against it: their rows and checksums, a digest of all rows that depends neither
// on their order nor on their distribution over regions, and a sample of rows to
// look up in the table.
package manifest
