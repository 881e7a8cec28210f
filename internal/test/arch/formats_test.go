package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// formatName matches a constant of pkg/source for one format. FormatAuto is not one.
var formatName = regexp.MustCompile(`^Format(CSV|Dump|Parquet|ORC|JSON|Avro|Table|Text|Rejects)$`)

// askedFormats returns the places where a file compares a value with one format.
func askedFormats(files *token.FileSet, f *ast.File) (places []string) {
	note := func(exprs ...ast.Expr) {
		for _, e := range exprs {
			ast.Inspect(e, func(n ast.Node) bool {
				if name, ok := n.(*ast.Ident); ok && formatName.MatchString(name.Name) {
					places = append(places, fmt.Sprintf("%s: %s", files.Position(name.Pos()), name.Name))
				}
				return true
			})
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				note(n.X, n.Y)
			}
		case *ast.CaseClause:
			for _, e := range n.List {
				if _, compares := e.(*ast.BinaryExpr); !compares {
					note(e)
				}
			}
		}
		return true
	})
	return places
}

// TestNothingAsksForOneFormat checks that properties of some formats are traits in their facts, so that a new format
// is a type and a line in the function formats of pkg/source/format.go.
func TestNothingAsksForOneFormat(t *testing.T) {
	for _, name := range goFiles(t) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, filepath.Join(root, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, place := range askedFormats(files, f) {
			t.Errorf("%s: ask for one of source.Traits", place)
		}
	}
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, "x.go", "package x\nfunc f() { switch y { case s.FormatCSV: }; switch { case y != string(s.FormatAvro): }; o.F = FormatText; _ = y == FormatAuto }", 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := askedFormats(files, f); len(got) != 2 {
		t.Errorf("%q", got)
	}
}
