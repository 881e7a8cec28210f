package source

import (
	"fmt"
	"slices"
	"strings"
)

// settings are how a file's text is read: the name of a dialect, and all that decides on what comes out.
func (f *inputFile) settings(o *Options) (dialect, settings string) {
	field, record := o.dumpSeps()
	switch {
	case f.dialect != nil:
		return f.dialect.Name, f.dialect.String()
	case f.format == FormatJSON && f.charset != nil:
		return "", "charset=" + f.charset.Name()
	case f.format == FormatDump:
		return "", fmt.Sprintf("field_sep=%s record_sep=%s", SepOf(field), SepOf(record))
	case f.format == FormatCSV:
		header := "yes"
		if o.Header == HeaderNone || f.rejects != nil {
			header = "no"
		}
		return "", fmt.Sprintf("field_sep=%s quote=\" doubled=yes header=%s", SepOf(o.FieldSep.or(',')), header)
	}
	return "", ""
}

// passOver notes which of a file's columns were not asked for. What a path leads into, or a path to it, is asked for.
func (f *inputFile) passOver(names []string) {
	for _, name := range names {
		asked := slices.ContainsFunc(f.columns, func(want string) bool {
			return sameMember(want, name) || strings.HasPrefix(want, name+".") || strings.HasPrefix(name, want+".")
		})
		if !asked && !slices.Contains(f.ignored, name) {
			f.ignored = append(f.ignored, name)
		}
	}
}
