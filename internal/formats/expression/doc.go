// Package expression gives the values of expressions for records: of cells that are computed, and of filters. Package keygen
// parses them, one grammar for keys and expressions; docs/expressions.md is the reference.
//
// [Compile] takes what keygen.ParseValue gave, and [Program.Append] and [Program.True] take the fields of a record, where nil is
// NULL. A row allocates nothing.
//
// # NULL
//
// The logic is SQL's. A comparison with NULL is NULL, and so is a function of NULL, but for coalesce, nullif, concat, is null and case.
// A filter takes a record where it is true, so one where it is NULL is left out. An empty text is not NULL.
//
// # How it works
//
// A part that has only functions of keys is compiled by keygen, once; it is NULL if one of its columns is.
// Everything else is a tree of nodes. Each node has its own buffer for its result, and gives a value that is valid until the next
// record. Numbers are exact decimals in 64 bits, and beyond them in big integers that a node keeps.
package expression
