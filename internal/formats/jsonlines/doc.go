// Package jsonlines reads JSON lines (also called ndjson): one JSON object on each line, as rows of text values.
// [Compile] takes the wanted members, [Plan.NewParser] returns a parser for each goroutine, and [Parser.Parse] returns
// the spans of one line's values in the buffer of the line. It allocates nothing for a row or a value. [Names] lists the
// members of a line, for a schema.
//
// The caller splits lines, skips blank ones ([Blank]) and removes a byte order mark at a file's start: JSON has no raw line
// feed within a string, so every LF ends a line.
//
// # Paths
//
// A wanted member is named by its path: the names from the outermost object on, separated by dots, such as id or addr.city.
// A dot that is part of a name is written \. and a backslash \\, so a\.b is the member "a.b" of the line itself and never
// the member b of a. No other character is escaped. A path without backslashes has a second meaning: the member of the line
// whose name is the whole path. So a.b is the member b of a, or the member "a.b" if the line does not have the former. A
// line that has both is an error, unless a\.b is wanted as well and takes the member "a.b". A name may be empty: "" is the
// member {"":…}. Names are compared byte by byte after their own escapes are undone. There are no paths into arrays. An
// object and members of it can be wanted at the same time.
//
// # Values
//
//	string              its text, with escapes undone; the empty string is a value
//	number              its literal, unchanged: 100.00, 1e5, 9223372036854775807
//	true, false         the word
//	null, no member     [span.Null]
//	object, array       its JSON text in the line, blanks and escapes included
//
// If a path leads through null or a missing member, the value is null. If it leads through any other value that is not an
// object, the line is an error: its structure has changed, and a null would hide that. It is not an error if the line has
// members whose names are the whole paths: {"a":1,"a.b":2}.
//
// # Errors
//
// The parser checks the whole line, also the members that are not wanted. A fault anywhere is an [Error] of the whole line.
// The grammar is RFC 8259. In addition to encoding/json's errors, these are errors:
//
//   - invalid UTF-8, and a \u escape that is half of a surrogate pair: there is no text for either
//   - a name that occurs twice in the line's object or in an object that a path leads into, whether it is wanted or not;
//     other objects, which are skipped or taken as JSON text, are not checked for this
//   - more than 512 levels of objects and arrays; more than 65,536 members of the line's object or of an object that a
//     path leads into
//   - a line that is not an object, and text after the object
//
// A CR before the line's end is white space in JSON and is skipped.
package jsonlines
