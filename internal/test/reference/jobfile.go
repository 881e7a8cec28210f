package reference

import (
	"bytes"
	"fmt"
	"strings"

	"bulkload/internal/model/spec"
)

// JobFields returns the part of docs/job-file.md between its markers: a table of the fields, and one for each field
// that has fields of its own.
func JobFields(fields []spec.SpecField) []byte {
	var b bytes.Buffer
	b.WriteString("| field | takes | flag | meaning | default |\n|---|---|---|---|---|\n")
	for _, f := range fields {
		flag := "–"
		if f.Usage != "" {
			flag = "`--" + f.Flag() + "`"
		}
		name := "`" + f.Name + "`"
		if len(f.Fields) > 0 {
			name = "[" + name + "](#" + Anchor(f.Name) + ")"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", name, f.Type, flag, meaning(f), code(f.Default))
	}
	for _, f := range fields {
		if len(f.Fields) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n### `%s`\n\n%s\n\n| field | takes | meaning | default |\n|---|---|---|---|\n", f.Name, escape(f.Doc))
		for _, sub := range f.Fields {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", sub.Name, sub.Type, meaning(sub), code(sub.Default))
		}
	}
	return b.Bytes()
}

// meaning returns the description of a field, with its valid texts if they are limited.
func meaning(f spec.SpecField) string {
	s := escape(f.Doc)
	if len(f.Enum) > 0 {
		var quoted []string
		for _, v := range f.Enum {
			quoted = append(quoted, "`"+v+"`")
		}
		s += " One of " + strings.Join(quoted, ", ") + "."
	}
	return s
}

// code formats a default as code if it is a value rather than words.
func code(s string) string {
	if s == "" {
		return "–"
	}
	if strings.ContainsAny(s, " '") || s == "UTC" {
		return escape(s)
	}
	return "`" + s + "`"
}

// Between replaces the text between the markers "<!-- NAME: begin … -->" and "<!-- NAME: end -->" of a document.
func Between(document []byte, name string, block []byte) ([]byte, error) {
	begin := bytes.Index(document, []byte("<!-- "+name+": begin"))
	end := bytes.Index(document, []byte("<!-- "+name+": end -->"))
	if begin < 0 || end < begin {
		return nil, fmt.Errorf("the markers of %q are not there", name)
	}
	line := bytes.IndexByte(document[begin:], '\n')
	if line < 0 || begin+line > end {
		return nil, fmt.Errorf("the markers of %q are on one line", name)
	}
	var out []byte
	out = append(out, document[:begin+line+1]...)
	out = append(out, '\n')
	out = append(out, block...)
	out = append(out, '\n')
	return append(out, document[end:]...), nil
}
