package jsonlines

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// readLines returns the lines of a file of testdata.
func readLines(t testing.TB, name string) [][]byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
}

// TestCompile checks the errors for invalid paths, and the limit of their depth.
func TestCompile(t *testing.T) {
	for paths, want := range map[string]string{
		`a b a`:                              `"a": wanted twice`,
		`a.b a a.b`:                          `"a.b": wanted twice`,
		`a\`:                                 `a backslash stands before`,
		`a\b`:                                `a backslash stands before`,
		"a\xff":                              "invalid UTF-8",
		strings.Repeat("a.", maxDepth) + "a": "more than 512 names",
	} {
		if _, err := Compile(strings.Split(paths, " ")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20s: %v", paths, err)
		}
	}
	long := strings.Repeat("a.", maxDepth-1) + "a"
	line := strings.Repeat(`{"a":`, maxDepth) + "1" + strings.Repeat("}", maxDepth)
	if row, err := parse(t, compile(t, long).NewParser(), []byte(line), 1); err != nil || shown(row) != `"1"` {
		t.Error(row, err)
	}
	line = strings.Repeat(`{"a":`, maxDepth+1) + "1" + strings.Repeat("}", maxDepth+1)
	if _, err := parse(t, compile(t, long).NewParser(), []byte(line), 1); err == nil {
		t.Error("one level too many")
	}
	for _, p := range [][]string{nil, {""}, {"a", "a.b"}, {"a.b", "a"}, {"."}, {`\.`}} {
		if _, err := Compile(p); err != nil {
			t.Errorf("%q: %v", p, err)
		}
	}
}
