package reference

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestNamedTests checks that every test that docs/reliability.md names is in the package that it names.
func TestNamedTests(t *testing.T) {
	places := testPlaces(t, "../../..")
	b, err := os.ReadFile("../../../docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`\b([a-z0-9]+): |\b((?:Test|Fuzz|Benchmark)[A-Z0-9]\w*)`)
	n := 0
	for number, line := range strings.Split(string(b), "\n") {
		at := ""
		for _, m := range named.FindAllStringSubmatch(line, -1) {
			if m[1] != "" {
				at = m[1]
				continue
			}
			if n++; at != "" && !slices.Contains(places[m[2]], at) {
				t.Errorf("line %d: %s is in %v, not in %s", number+1, m[2], places[m[2]], at)
			}
			if len(places[m[2]]) == 0 {
				t.Errorf("line %d: there is no %s", number+1, m[2])
			}
		}
	}
	if n < 300 {
		t.Errorf("only %d tests are named", n)
	}
}

// testPlaces returns the packages of each test function, by the last name of their paths; the commands are cmd.
func testPlaces(t *testing.T, root string) map[string][]string {
	t.Helper()
	places := map[string][]string{}
	for _, top := range []string{"cmd", "internal", "pkg"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			name := filepath.Base(filepath.Dir(path))
			if top == "cmd" {
				name = top
			}
			for _, d := range f.Decls {
				if fun, ok := d.(*ast.FuncDecl); ok && fun.Recv == nil && !slices.Contains(places[fun.Name.Name], name) {
					places[fun.Name.Name] = append(places[fun.Name.Name], name)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return places
}
