// Package rfc4180 has the grammar of CSV, byte by byte: where a record breaks it ([Find]), what its first record is, and what a [Block] of a
// text shows of where records begin. It is strict: a quote may only stand around a field, and within it doubled.
package rfc4180
