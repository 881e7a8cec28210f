// Package choice says which cells of a table are read: rows of some ranges, columns, and times. [Asked] is a choice as flags and job
// files have it, in texts; [Asked.Resolve] makes a [Choice] of it, which has the bytes of row keys and milliseconds.
//
// A choice shows the cells that a Scan of HBase with the same ranges, columns and range of times shows: of a column the newest cells among
// those of the times, never a cell that is deleted.
package choice
