// Package delimited cuts text of any [dialect.Dialect] into records and fields. A
// [Scanner] is given a piece of text that begins with a record, fills spans of
// the values, and stops at a record that is bad or not whole. Values that are
// written otherwise than they are, by escapes, doubled quotes or another
// character set, are appended after the text.
//
// The scanner looks at the bytes that mean something in its dialect only, and finds
// them for 64 bytes at a time. CSV of RFC 4180 and dumps without any of NULL,
// escapes and comments have faster scanners in package source.
package delimited
