package spec

import (
	"strings"
	"testing"

	"bulkload/internal/model/fail"
)

// TestOneDocument checks that a second document of a file is refused with its line, since the decoder would silently ignore it. A byte order mark,
// leading dashes, trailing dots, a directive and comments are not a second document.
func TestOneDocument(t *testing.T) {
	for text, line := range map[string]string{
		"memory: 1GiB\n":                                "",
		"\ufeffmemory: 1GiB\n":                          "",
		"---\nmemory: 1GiB\n...\n":                      "",
		"# c\n--- # d\nmemory: 1GiB\n":                  "",
		"%YAML 1.2\n---\nmemory: 1GiB\n":                "",
		"memory: 1GiB\n---\nworkers: 2\n":               "line 2",
		"memory: 1GiB\n...\nworkers: 2\n":               "line 3",
		"memory: 1GiB\n---\n":                           "line 2",
		"memory: 1GiB\n\n---\n# nothing\n":              "line 3",
		"memory: 1GiB\n---\n---\nworkers: 2\n":          "line 2",
		"%YAML 1.2\n---\nmemory: 1GiB\n---\nworkers: 2": "line 4",
	} {
		o, err := ParseOptions("c.yaml", []byte(text))
		checkDocument(t, text, line, err)
		if line == "" && (len(o) != 1 || o[0].Name != "memory") {
			t.Errorf("%q: %v", text, o)
		}
		job := strings.NewReplacer("memory: 1GiB", "table: t", "workers: 2", "table: u").Replace(text)
		s, err := ParseSpec("job.yaml", []byte(job))
		checkDocument(t, job, line, err)
		if line == "" && s.Table != "t" {
			t.Errorf("%q: table %q", job, s.Table)
		}
		if line == "" && FieldLines([]byte(job))["table"] == 0 {
			t.Errorf("%q: no line of its field", job)
		}
	}
}

func checkDocument(t *testing.T, text, line string, err error) {
	t.Helper()
	if line == "" && err != nil || line != "" && (fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), line+": a second document begins")) {
		t.Errorf("%q: %v, want %q", text, err, line)
	}
}
