package source

import (
	"slices"
	"strings"

	"bulkload/internal/formats/jsonlines"
)

// settings returns how a file's text is read: the name of a dialect, and all that decides on what comes out.
func (f *inputFile) settings(o *Options) (dialect, settings string) {
	if f.dialect != nil {
		return f.dialect.Name, f.dialect.String()
	}
	if t, ok := f.content.(textForm); ok {
		return "", t.settings(o)
	}
	return "", ""
}

// passOver notes which of a file's columns were not asked for. What a path leads into, or a path to it, is asked for.
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
