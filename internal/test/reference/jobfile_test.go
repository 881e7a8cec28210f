package reference

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"bulkload/internal/cli/settings"
	"bulkload/internal/model/spec"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the table of docs/configuration.md again")

// TestJobFile checks that the tables of docs/configuration.md, and its list of settings of a single call, are generated from the code.
func TestJobFile(t *testing.T) {
	const file = "../../../docs/configuration.md"
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want, err := Between(have, "fields", JobFields(spec.SpecFields()))
	if err == nil {
		want, err = Between(want, "once", []byte("`"+strings.Join(settings.OnceFlags(), "`, `")+"`.\n"))
	}
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(string(have), string(want)); d != "" {
		t.Errorf("docs/configuration.md is stale, make docs writes its table again:\n%s", d)
	}
}

func TestBetween(t *testing.T) {
	got, err := Between([]byte("a\n<!-- x: begin, made -->\nold\n<!-- x: end -->\nb\n"), "x", []byte("new\n"))
	if want := "a\n<!-- x: begin, made -->\n\nnew\n\n<!-- x: end -->\nb\n"; err != nil || string(got) != want {
		t.Errorf("%v %q", err, got)
	}
	for _, bad := range []string{"", "<!-- x: begin -->\n", "<!-- x: end -->\n<!-- x: begin -->\n", "<!-- x: begin --><!-- x: end -->"} {
		if _, err := Between([]byte(bad), "x", nil); err == nil {
			t.Errorf("%q has no markers, which was not seen", bad)
		}
	}
}

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		`a_b`: `a_b`, `_a`: `\_a`, `FAST_DIFF`: `FAST_DIFF`, `\x01`: `\x01`, `a comma \, and \\`: `a comma \\, and \\\`, `a|b`: `a\|b`, `<x>`: `\<x>`, `2*3`: `2\*3`, `\`: `\`,
	} {
		if got := Escape(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestAnchor(t *testing.T) {
	for in, want := range map[string]string{
		"Exit status": "exit-status", "`cells`": "cells", "What is promised, and how": "what-is-promised-and-how",
		"`table: x` – y": "table-x--y", "a_b/c": "a_bc",
	} {
		if got := Anchor(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// TestJobFileExamples checks that the job files in the document are valid.
func TestJobFileExamples(t *testing.T) {
	b, err := os.ReadFile("../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	jobFile, _, found := strings.Cut(string(b), "\n## Environment\n") // after it are configuration files
	blocks := strings.Split(jobFile, "```yaml\n")[1:]
	if !found || len(blocks) == 0 {
		t.Error("there are none")
	}
	for _, block := range blocks {
		text, _, _ := strings.Cut(block, "```")
		s, err := spec.ParseSpec("docs/configuration.md", []byte(text))
		if err == nil {
			_, err = s.Resolve()
		}
		if err != nil {
			t.Errorf("%s\n%v", text, err)
		}
	}
}

// JobFields returns the part of docs/configuration.md between its markers: a table of the fields, and one for each field
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
		fmt.Fprintf(&b, "\n### `%s`\n\n%s\n\n| field | takes | meaning | default |\n|---|---|---|---|\n", f.Name, Escape(f.Doc))
		for _, sub := range f.Fields {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", sub.Name, sub.Type, meaning(sub), code(sub.Default))
		}
	}
	return b.Bytes()
}

// meaning returns the description of a field, with its valid texts if they are limited.
func meaning(f spec.SpecField) string {
	s := Escape(f.Doc)
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
		return Escape(s)
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
