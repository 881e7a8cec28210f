package abilities

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"bulkload/internal/test/testcheck"
)

// TestCells checks that every cell has tests or a reason, and that reasons are short and are the errors of refusals.
func TestCells(t *testing.T) {
	const mostMessage = 160
	for _, r := range Rows() {
		for _, c := range Columns() {
			cell := Of(r, c)
			if len(cell.Tests) == 0 && cell.Why.IsZero() {
				t.Errorf("%s: it has neither tests nor a reason", key(r, c))
			}
			if why := cell.Why.String(); utf8.RuneCountInString(why) > mostMessage || strings.HasSuffix(why, ".") {
				t.Errorf("%s: %q is longer than %d characters, or ends with a full stop", key(r, c), why, mostMessage)
			}
			if err := Refusal(r, c); (err == nil) != cell.Why.IsZero() || err != nil && err.Error() != cell.Why.String() {
				t.Errorf("%s: refused with %v, and the cell says %q", key(r, c), err, cell.Why)
			}
		}
	}
}

// TestVerifies checks that a mode that a kind of work does not support is refused, with the reason of its cell if another kind supports it.
func TestVerifies(t *testing.T) {
	for mode, want := range map[string]string{"full": "", "off": "", "some": "`verify` \"some\" is invalid: want full or off",
		"files": "`verify` \"files\" is invalid: want full or off (" + Of(Load, Files).Why.String() + ")"} {
		if err := Verifies(Load, mode, "full", "off"); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v, want %s", mode, err, want)
		}
	}
}

// TestNamedTests checks that every test that a cell names exists, with the part that it names.
func TestNamedTests(t *testing.T) {
	known := map[string]testFiles{}
	for _, r := range Rows() {
		for _, c := range Columns() {
			for _, name := range Of(r, c).Tests {
				pkg, test, ok := strings.Cut(name, ": ")
				if _, read := known[pkg]; !read && ok {
					known[pkg] = testsOf(t, filepath.Join("../../..", pkg))
				}
				if !ok || !known[pkg].has(test) {
					t.Errorf("%s: there is no test %s", key(r, c), name)
				}
			}
		}
	}
}

// testFiles are the names of a package's tests, the texts in its test files, and its scripts.
type testFiles struct{ tests, texts, scripts map[string]bool }

func (f testFiles) has(test string) bool {
	name, part, parted := strings.Cut(test, "/")
	switch {
	case !f.tests[name]:
		return false
	case name == "TestScripts":
		return f.scripts[path.Join("testdata", part)]
	case name == "TestClusterScripts":
		return f.scripts[path.Join("testdata/cluster", part)]
	}
	return !parted || f.texts[part]
}

func testsOf(t *testing.T, dir string) testFiles {
	t.Helper()
	f := testFiles{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	names, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	testcheck.Must(t, err)
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		testcheck.Must(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				f.tests[n.Name.Name] = n.Recv == nil && strings.HasPrefix(n.Name.Name, "Test")
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil {
					f.texts[text] = true
				}
			}
			return true
		})
	}
	for _, pattern := range []string{"testdata/*.txtar", "testdata/cluster/*.txtar"} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		testcheck.Must(t, err)
		for _, name := range names {
			rel, err := filepath.Rel(dir, strings.TrimSuffix(name, ".txtar"))
			testcheck.Must(t, err)
			f.scripts[filepath.ToSlash(rel)] = true
		}
	}
	return f
}

// key returns the name of a cell in lists.
func key(r Row, c Column) string { return fmt.Sprintf("%s: %s", r, c) }
