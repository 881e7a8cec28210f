package history

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/pipeline/build"
)

// TestNobodyElseChangesAHistory parses the program, and checks that only this package assigns a field of a history, or an element of one.
func TestNobodyElseChangesAHistory(t *testing.T) {
	fields := map[string]bool{}
	for _, v := range []any{History{}, tableLoad{}, build.Done{}, Undoing{}} {
		for i := range reflect.TypeOf(v).NumField() {
			fields[reflect.TypeOf(v).Field(i).Name] = true
		}
	}
	owners := []string{"st", "log", "History", "Journal", "undoing", "Undo"}
	seen := 0
	for _, root := range []string{"../../../pkg", "../../../cmd", "../.."} {
		err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && d.Name() == "testdata" {
				return fs.SkipDir
			}
			if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || filepath.Dir(name) == "." {
				return err
			}
			files := token.NewFileSet()
			f, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
			if err != nil || !slices.ContainsFunc(f.Imports, func(s *ast.ImportSpec) bool {
				return s.Path.Value == `"bulkload/internal/engine/checkpoint"` || s.Path.Value == `"bulkload/internal/engine/history"`
			}) {
				return err
			}
			seen++
			for _, x := range assigned(f) {
				for i, part := range x.chain[1:] {
					if slices.Contains(owners, x.chain[i]) && fields[part] {
						t.Errorf("%s: %s changes a history without a record", files.Position(x.pos), strings.Join(x.chain, "."))
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < 20 {
		t.Errorf("%d files import this package", seen)
	}
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc f() { j.st.Built = nil; delete(st.Written, 1); u.st.Undo.Out[2] = true; j.dir = j.st.Dir; log.Loading = true }", 0)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(assigned(f)), "[j.st.Built st.Written u.st.Undo.Out j.dir log.Loading]"; got != want {
		t.Errorf("assigned are %s, want %s", got, want)
	}
}

// place is the target of an assignment, as a path of names.
type place struct {
	chain []string
	pos   token.Pos
}

func (p place) String() string { return strings.Join(p.chain, ".") }

// assigned returns the places that a file assigns or deletes from.
func assigned(f *ast.File) (places []place) {
	add := func(e ast.Expr) {
		p := place{pos: e.Pos()}
		for e != nil {
			switch x := e.(type) {
			case *ast.SelectorExpr:
				p.chain, e = append(p.chain, x.Sel.Name), x.X
			case *ast.IndexExpr:
				e = x.X
			case *ast.StarExpr:
				e = x.X
			case *ast.ParenExpr:
				e = x.X
			case *ast.Ident:
				p.chain, e = append(p.chain, x.Name), nil
			default:
				e = nil
			}
		}
		if slices.Reverse(p.chain); len(p.chain) > 1 {
			places = append(places, p)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.AssignStmt:
			for _, e := range x.Lhs {
				add(e)
			}
		case *ast.IncDecStmt:
			add(x.X)
		case *ast.CallExpr:
			if name, ok := x.Fun.(*ast.Ident); ok && (name.Name == "delete" || name.Name == "clear") && len(x.Args) > 0 {
				add(x.Args[0])
			}
		}
		return true
	})
	return places
}
