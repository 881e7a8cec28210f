// Package setting defines the settings that messages of the libraries name, and the texts and errors that name them. A
// library knows a setting by its name in files, such as spill_dir. Only the caller knows how the setting is given: by a
// flag, a field of a struct or a line of a file. Texts and errors therefore keep the settings that they name as fields:
// [Text.String] and Error write them as `spill_dir`, [Text.In] and [In] in the caller's words.
//
// The package has no state. Everything may be used by several goroutines.
package setting
