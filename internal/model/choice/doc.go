// Package choice selects the cells of a table to read: by ranges of rows, by columns, and by times. [Asked] is a choice as flags and job
// files have it, in texts; [Asked.Resolve] parses it into a [Choice], which has the bytes of row keys and milliseconds.
//
// A choice returns the same cells as an HBase Scan with the same ranges, columns and time range: of each column the newest cells within the time
// range, never a deleted cell.
package choice
