package mutants

import (
	"fmt"
	"path"
	"strings"
)

// A Mutant is one mistake.
type Mutant struct {
	File    string // path in the module, with slashes
	What    string // short description
	Old     string // removed lines of the file
	New     string // their replacement; empty: none
	Package string // package of the tests, as go test accepts it
	Run     string // pattern of the tests for -run; empty: all
	Cluster bool   // the tests need a cluster
}

// Name returns the name of a mutant in reports.
func (m Mutant) Name() string { return m.File + ": " + m.What }

// Parse parses a list. It skips empty lines and lines that begin with #.
func Parse(text string) ([]Mutant, error) {
	var list []Mutant
	names := map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		err := func() error {
			switch {
			case line == "" || line[0] == '#':
				return nil
			case strings.HasPrefix(line, "pkg/") || strings.HasPrefix(line, "internal/") || strings.HasPrefix(line, "cmd/"):
				m, err := head(line)
				if names[m.Name()] {
					return fmt.Errorf("the name %q stands twice", m.Name())
				}
				names[m.Name()], list = true, append(list, m)
				return err
			case len(list) == 0:
				return fmt.Errorf("%q stands before any mutant", line)
			}
			return list[len(list)-1].take(line)
		}()
		if err != nil {
			return nil, fmt.Errorf("line %d of the list: %w", i+1, err)
		}
	}
	for _, m := range list {
		if m.Old == "" || m.Old == m.New {
			return nil, fmt.Errorf("%s: it changes nothing", m.Name())
		}
	}
	return list, nil
}

// head parses a mutant's first line.
func head(line string) (Mutant, error) {
	file, what, ok := strings.Cut(line, ": ")
	if !ok || path.Ext(file) != ".go" || path.Clean(file) != file {
		return Mutant{}, fmt.Errorf("%q is not a Go file with a few words after a colon", line)
	}
	return Mutant{File: file, What: what, Package: "./" + path.Dir(file)}, nil
}

// take parses another line of a mutant.
func (m *Mutant) take(line string) error {
	switch line[0] {
	case '-':
		m.Old += line[1:] + "\n"
		return nil
	case '+':
		m.New += line[1:] + "\n"
		return nil
	}
	name, value, _ := strings.Cut(line, ": ")
	if name != "test" && name != "cluster" || !strings.HasPrefix(value, "./") {
		return fmt.Errorf("%q is unknown: want -, +, test: ./PACKAGE or cluster: ./PACKAGE", line)
	}
	m.Package, m.Run, _ = strings.Cut(value, " ")
	if m.Cluster = name == "cluster"; m.Cluster && m.Run == "" {
		return fmt.Errorf("%q names no test", line)
	}
	return nil
}

// Apply changes the text of the mutant's file. The removed lines must occur exactly once.
func (m Mutant) Apply(text string) (string, error) {
	text = "\n" + text
	old := "\n" + m.Old
	at := strings.Index(text, old)
	switch {
	case at < 0:
		return "", fmt.Errorf("%s: the file does not have its lines any more", m.Name())
	case strings.Contains(text[at+1:], old):
		return "", fmt.Errorf("%s: the file has its lines more than once", m.Name())
	}
	return text[1:at+1] + m.New + text[at+len(old):], nil
}
