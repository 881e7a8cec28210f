package spec

import (
	"strings"
	"testing"

	"bulkload/internal/model/fail"

	"github.com/google/go-cmp/cmp"
)

func TestParseOptions(t *testing.T) {
	for text, want := range map[string]Options{
		"":                      nil,
		"# nothing\n":           nil,
		"---\n":                 nil,
		"memory: 2GiB\n":        {{"memory", []string{"2GiB"}, 1}},
		"workers: 08":           {{"workers", []string{"08"}, 1}},
		"a: 1e3 # all\n":        {{"a", []string{"1e3"}, 1}},
		"\nquiet: true\n":       {{"quiet", []string{"true"}, 2}},
		"a: 'x: y'\nb: \"\\t\"": {{"a", []string{"x: y"}, 1}, {"b", []string{"\t"}, 2}},
		"input: [a, 2]\n":       {{"input", []string{"a", "2"}, 1}},
		"input:\n  - a\n  - 'b c'\nx: |\n  two\n  lines\n": {{"input", []string{"a", "b c"}, 1}, {"x", []string{"two\nlines\n"}, 4}},
	} {
		got, err := ParseOptions("c.yaml", []byte(text))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v %s", text, err, diff)
		}
	}
	for _, text := range []string{"d: {{", "a", "a: {b: c}", "a:\n", "a: 1\na: 2\n", "- a\n", "a: [[1]]", "a: 1\n---\nb: 2\n"} {
		if _, err := ParseOptions("c.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), "c.yaml") || fail.KindOf(err) != fail.Config {
			t.Errorf("%q: %v", text, err)
		}
	}
	_, err := ParseOptions("c.yaml", []byte("a: 1\nb: {c: 1}\n"))
	if err == nil || !strings.Contains(err.Error(), "c.yaml:2:") {
		t.Errorf("the line is not named: %v", err)
	}
}

// TestSpecOptions checks that the options of a job file have their lines in that
// file.
func TestSpecOptions(t *testing.T) {
	s, err := ParseSpec("job.yaml", []byte("key: id\noptions:\n  memory: 1GiB\n  spill_dir: /x\n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Options{{"memory", []string{"1GiB"}, 3}, {"spill_dir", []string{"/x"}, 4}}, s.Options); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]int{"key": 1, "options": 2}, FieldLines([]byte("key: id\noptions:\n  memory: 1GiB\n"))); diff != "" {
		t.Error(diff)
	}
	if _, err := ParseSpec("job.yaml", []byte("key: id\noptions:\n  memory: {a: 1}\n")); err == nil || !strings.Contains(err.Error(), "job.yaml:3:") {
		t.Errorf("%v", err)
	}
}

func FuzzParseOptions(f *testing.F) {
	for _, s := range []string{"a: 1\nb: [x, 'y']\n", "a: |\n  x\n", "a: &x 1\nb: *x\n", "<<: {a: 1}\n", "a: !!str 1", "? a\n: b\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(_ *testing.T, b []byte) {
		_, _ = ParseOptions("c.yaml", b)
		_ = FieldLines(b)
	})
}

// TestFieldOfAnotherPlace checks that a field that stands where it does not belong is named with its place.
func TestFieldOfAnotherPlace(t *testing.T) {
	for text, want := range map[string]string{
		"covers: d\n":                           "covers is a field of tables",
		"key: id\nqualifier: q\n":               "qualifier is a field of cells",
		"tables:\n  - {table: x, salt_file: s}": "salt_file is a field of the job file",
		"coverz: d\n":                           "did you mean covers?",
	} {
		if _, err := ParseSpec("job.yaml", []byte(text)); err == nil || !strings.HasSuffix(strings.TrimSpace(err.Error()), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
