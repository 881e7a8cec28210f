// Package keyrange finds where the rows of a range of original keys are: an original key is what follows the salts of a row key, and
// each salt has a range of its own. [Split] parts a key spec, [Key.Between] and [Key.Beginning] give the [Rows] of bounds and of a prefix,
// and [Rows.Ranges] those as ranges of row keys.
package keyrange
