// Package setting has the settings that messages of the libraries name, and the texts and errors that name them. What a
// library knows is a setting by the name that files have for it, such as spill_dir; how a caller gives it, by a flag, a
// field of a struct or a line of a file, is the caller's knowledge. So a text and an error keep the settings that they
// name as fields: [Text.String] and Error say them as `spill_dir`, [Text.In] and [In] in the words of the caller.
//
// Nothing here has state; everything may be used by several goroutines.
package setting
