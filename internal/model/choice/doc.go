// Package choice selects the cells of a table to read: by ranges of rows, by columns, and by times. [Asked] is a choice as flags and job
// files express it, in texts; [Asked.Resolve] parses it into a [Choice], which has the bytes of row keys and milliseconds.
//
// A choice selects the same cells as an HBase Scan with the same ranges, columns and time range: in each column, the newest cells within the time
// range, and never a deleted cell.
package choice
