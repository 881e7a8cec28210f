// Package keyrange finds the rows of a range of original keys. The original key is the part of a row key after its salts, so a range of original keys
// is one range of row keys for each salt. [Split] divides a key spec after its salts, [Key.Between] and [Key.Beginning] return the [Rows] between two
// bounds and with a prefix, and [Rows.Ranges] returns these as ranges of row keys.
package keyrange
