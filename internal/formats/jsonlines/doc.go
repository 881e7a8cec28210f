// Package jsonlines reads JSON lines (also called ndjson): one JSON object on each line, as rows of text values.
// [Compile] takes the wanted members, [Plan.NewParser] makes a parser for each goroutine, and [Parser.Parse] turns one
// line into places of values in the buffer that the line is in. Nothing is allocated for a row or a value. [Names] lists
// the members of a line, for a schema.
//
// Lines, blank ones ([Blank]) and a byte order mark at a file's start are the caller's: JSON has no raw line feed within
// a string, so every LF ends a line.
//
// # Paths
//
// A wanted member is named by its path: the names from the outermost object on, with a dot between them: id, addr.city.
// A dot that is part of a name is written \. and a backslash \\, so a\.b is the member "a.b" of the line itself and never
// the member b of a. A path without backslashes also means the member of the line whose name is the whole path: a.b is the
// member b of a, or the member "a.b" of the line where it has no such path. A line that has both is an error, unless a\.b is wanted as well, which then is that member. No other character is escaped. A name may be empty: "" is the member {"":…}. Names are compared
// byte by byte after their own escapes are undone. There are no paths into arrays. An object and members of it can be
// wanted at once.
//
// # Values
//
//	string              its text, with escapes undone; the empty string is a value
//	number              its literal as it stands: 100.00, 1e5, 9223372036854775807
//	true, false         the word
//	null, no member     [span.Null]
//	object, array       its JSON text as it stands in the line, blanks and escapes included
//
// Where a path goes through null or a member that is not there, the value is null. Where it goes through any other value
// that is not an object, the line is an error: its members have changed, and a null would hide that. It is no error if the
// line has the whole paths as names of its members: {"a":1,"a.b":2}.
//
// # Errors
//
// A line is read as a whole: what is not wanted is checked as well, and a fault anywhere is an [Error] of the whole line.
// The grammar is RFC 8259. In addition to encoding/json's errors, these are errors:
//
//   - invalid UTF-8, and a \u escape that is half of a surrogate pair: there is no text for either
//   - a name twice in the line's object, or in an object that a path leads into, wanted or not; objects that are passed
//     over or taken as JSON text are not looked into for that
//   - more than 512 objects and arrays within each other; more than 65,536 members of an object that is looked into for
//     names
//   - a line that is no object, and text after the object
//
// A CR before the line's end is a blank of JSON, and so passed over.
package jsonlines
