package source

import (
	"slices"
	"strings"

	"bulkload/internal/formats/jsonlines"
)

// settings returns how a file's text is read: the name of a dialect, and all settings that affect the result.
func (f *inputFile) settings(o *Options) (dialect, settings string) {
	if f.dialect != nil {
		return f.dialect.Name, f.dialect.String()
	}
	if t, ok := f.content.(textForm); ok {
		return "", t.settings(o)
	}
	return "", ""
}

// passOver records which of a file's columns were not requested. A column that a requested path leads into counts as requested, and so does
// a path to it.
func (f *inputFile) passOver(names []string) {
	for _, name := range names {
		asked := slices.ContainsFunc(f.columns, func(want string) bool {
			return jsonlines.SameMember(want, name) || strings.HasPrefix(want, name+".") || strings.HasPrefix(name, want+".")
		})
		if !asked && !slices.Contains(f.ignored, name) {
			f.ignored = append(f.ignored, name)
		}
	}
}
