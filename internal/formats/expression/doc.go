// Package expression computes the values of expressions for records: of computed cells and of filters. Package keygen parses
// expressions, with one grammar for keys and expressions; docs/mapping.md is the reference.
//
// [Compile] takes the result of keygen.ParseValue. [Program.Append] and [Program.True] take the fields of a record, where nil is
// NULL. They allocate nothing for a row.
//
// # NULL
//
// NULL follows SQL's logic. A comparison with NULL is NULL, and so is a function of NULL, except for coalesce, nullif, concat, is null
// and case. A filter accepts a record only if its condition is true, so it drops a record whose condition is NULL. An empty text is not NULL.
//
// # How it works
//
// A part of an expression that has only functions of keys is compiled by package keygen; it is NULL if one of its columns is NULL. All
// other parts become a tree of nodes. Each node has its own buffer for its result, and returns a value that is valid until the next record.
// Numbers are exact decimals in 64 bits; larger ones are big integers that a node keeps.
package expression
