package main

import (
	"os"
	"strings"
	"testing"

	"bulkload/internal/model/spec"
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
