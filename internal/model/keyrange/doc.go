// Package keyrange finds the rows of a range of original keys: an original key is a row key without its salts, and
// each salt has its own range. [Split] cuts a key spec, [Key.Between] and [Key.Beginning] give the [Rows] of bounds and of a prefix,
// and [Rows.Ranges] those as ranges of row keys.
package keyrange
