package reference

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestChecks checks that the table of checks in docs/operations.md has each check of the preflight.
func TestChecks(t *testing.T) {
	b, err := os.ReadFile("../../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../pipeline/preflight/*.go")
	if err != nil {
		t.Fatal(err)
	}
	checks := map[string]bool{}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			var name ast.Expr
			switch n := n.(type) {
			case *ast.ValueSpec:
				if n.Names[0].Name == "name" && len(n.Values) == 1 {
					name = n.Values[0]
				}
			case *ast.CallExpr:
				if _, of := calleeOf(n); slices.Contains([]string{"good", "bad", "Doubtful"}, of) {
					name = n.Args[0]
				}
			}
			if text, ok := textOf(name); ok {
				checks[text] = true
			}
			return true
		})
	}
	if len(checks) < 30 {
		t.Errorf("only %d checks were found", len(checks))
	}
	for name := range checks {
		if !strings.Contains(string(b), "\n| "+name+" | ") {
			t.Errorf("the table lacks %q", name)
		}
	}
}
