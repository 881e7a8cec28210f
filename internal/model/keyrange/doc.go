// Package keyrange finds where the rows of a range of original keys are: an original key is what follows the salts of a row key, and
// each salt has a range of its own. [Split] cuts a key spec after its salts, [Key.Between] and [Key.Beginning] return the [Rows] of bounds and of a
// prefix, and [Rows.Ranges] returns these as ranges of row keys.
package keyrange
