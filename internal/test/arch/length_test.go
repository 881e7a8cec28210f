package arch

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// longest is the greatest number of lines of a test's function, including its first and last line.
const longest = 100

// long returns the functions of a file that have more lines.
func long(files *token.FileSet, f *ast.File) (places []string) {
	for _, d := range f.Decls {
		if d, ok := d.(*ast.FuncDecl); ok {
			begin := files.Position(d.Pos())
			if n := files.Position(d.End()).Line - begin.Line + 1; n > longest {
				places = append(places, fmt.Sprintf("%s: %s has %d lines, more than %d: put each scenario into a function of its own", begin, d.Name.Name, n, longest))
			}
		}
	}
	return places
}

// TestLengths checks that functions of tests fit a screen: a function of a scenario has a name that describes it.
func TestLengths(t *testing.T) {
	names := slices.DeleteFunc(goFiles(t), func(name string) bool { return !strings.HasSuffix(name, "_test.go") })
	if len(names) < 400 {
		t.Fatalf("%d files", len(names))
	}
	refuse(t, names, long)
}

// longestFile is the greatest number of lines of a file that is not a test: a file has one idea.
const longestFile = 350

// TestFileLengths checks that no file is so long that it has more than one idea.
func TestFileLengths(t *testing.T) {
	for _, name := range goFiles(t) {
		b, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(b, []byte("\n")); n > longestFile && !strings.HasSuffix(name, "_test.go") {
			t.Errorf("%s has %d lines, more than %d: give each idea a file of its own", name, n, longestFile)
		}
	}
}

// TestLong checks functions at the limit and above it.
func TestLong(t *testing.T) {
	for _, c := range []struct {
		lines int
		want  []string
	}{
		{longest, nil},
		{longest + 1, []string{"x_test.go:4:1: TestX has 101 lines, more than 100: put each scenario into a function of its own"}},
	} {
		text := "package x\n\n// TestX has a comment, which does not count.\nfunc TestX() {\n" + strings.Repeat("\tf()\n", c.lines-2) + "}\n\nfunc f() {}\n"
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, "x_test.go", text, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := long(files, f); !slices.Equal(got, c.want) {
			t.Errorf("%d lines: %q, want %q", c.lines, got, c.want)
		}
	}
}
