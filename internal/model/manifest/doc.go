// Package manifest describes the HFiles of a build: their rows and checksums, a digest
// of all rows that depends neither on their order nor on their distribution over
// regions, and a sample of rows to look up in the table. Later phases check the files
// against the manifest.
package manifest
