// Package delimited cuts text of any [dialect.Dialect] into records and fields. A
// [Scanner] scans a piece of text that begins with a record, fills the spans of
// the values, and stops at a record that is bad or incomplete. Values that have
// escapes or doubled quotes, or are not in UTF-8, are decoded and appended to the text.
//
// The scanner examines only the special bytes of its dialect, and finds them for
// 64 bytes at a time. CSV of RFC 4180 and dumps without NULL, escapes and
// comments have faster scanners in package source.
package delimited
