// Package rfc4180 parses the grammar of CSV byte by byte: it finds faults in a record ([Find]), splits the first record of a text
// ([FirstRecord]), and finds possible beginnings of records in a [Block] of text. It is strict: a quote may only enclose a field, or be doubled
// within a quoted field.
package rfc4180
