package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/model/spec"
	"bulkload/internal/test/testcheck"
)

// TestReadmeIsComplete checks that README names every command and every input format, each in the first column of a
// table.
func TestReadmeIsComplete(t *testing.T) {
	b, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	first := map[string]bool{}
	for line := range strings.Lines(string(b)) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for i, name := range strings.Split(cells[1], "`") {
				if i%2 == 1 {
					first[name] = true
				}
			}
		}
	}
	for _, c := range commandsOf(t) {
		if !first[c] {
			t.Errorf("README has no command %s", c)
		}
	}
	formats := 0
	for _, f := range spec.SpecFields() {
		if f.Name == "format" {
			for _, name := range f.Enum {
				if formats++; !first[name] {
					t.Errorf("README has no format %s", name)
				}
			}
		}
	}
	if formats < 6 {
		t.Errorf("%d formats", formats)
	}
}

// TestReadmeLinksDocuments checks that README has a question for every document, and that there are at most 24.
func TestReadmeLinksDocuments(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	testcheck.Must(t, err)
	documents, err := filepath.Glob("../../docs/*.md")
	testcheck.Must(t, err)
	if len(documents) < 10 || len(documents) > 24 {
		t.Errorf("%d documents", len(documents))
	}
	_, questions, _ := strings.Cut(string(readme), "| question | document |")
	for _, d := range documents {
		if !strings.Contains(questions, "(docs/"+filepath.Base(d)) {
			t.Errorf("README has no question for %s", filepath.Base(d))
		}
	}
}

// commandsOf returns the names of the program's commands, except hidden ones.
func commandsOf(t *testing.T) (names []string) {
	t.Helper()
	root := newRootCmd(&globals{})
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	if len(names) < 20 {
		t.Fatalf("%d commands: %s", len(names), names)
	}
	return names
}
