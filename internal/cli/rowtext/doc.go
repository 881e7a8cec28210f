// Package rowtext prints the rows that get and scan read: a [Printer] prints them as lines of JSON, as CSV or as a table,
// with a name for each column that no other column has, and [PrintStats] says what the read has cost.
package rowtext
