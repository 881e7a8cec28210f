// Package manifest has what a build writes next to its HFiles and what the later
// phases hold them to: files with their rows and checksums, a digest of all rows
// that neither their order nor their spread over regions changes, and a few rows
// by which a table is looked at.
package manifest
