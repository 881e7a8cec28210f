package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// shown returns the packages below internal that exported declarations of a file refer to: in signatures, exported
// fields, and other types.
func shown(module string, files *token.FileSet, f *ast.File) (places []string) {
	packages := names(f)
	look := func(what string, n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && strings.HasPrefix(packages[x.Name], module+"/internal/") {
					places = append(places, fmt.Sprintf("%s: %s shows %s.%s, which programs of others cannot name", files.Position(s.Pos()), what, x.Name, s.Sel.Name))
				}
			}
			return true
		})
	}
	fields := func(what string, list *ast.FieldList) {
		for _, field := range list.List {
			exported := len(field.Names) == 0
			for _, name := range field.Names {
				exported = exported || name.IsExported()
			}
			if exported {
				look(what, field.Type)
			}
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && (d.Recv == nil || ast.IsExported(receiver(d.Recv.List[0].Type))) {
				look(d.Name.Name, d.Type)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					if !spec.Name.IsExported() {
						continue
					}
					switch t := spec.Type.(type) {
					case *ast.StructType:
						fields(spec.Name.Name, t.Fields)
					case *ast.InterfaceType:
						fields(spec.Name.Name, t.Methods)
					case *ast.SelectorExpr:
						if !spec.Assign.IsValid() { // an alias is a name for others
							look(spec.Name.Name, t)
						}
					default:
						look(spec.Name.Name, t)
					}
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						if name.IsExported() && spec.Type != nil {
							look(name.Name, spec.Type)
						}
					}
				}
			}
		}
	}
	return places
}

// receiver returns the name of a method's type.
func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

// TestDoorsShowNothingInternal checks that no exported declaration below pkg has a type of a package that other
// modules cannot import.
func TestDoorsShowNothingInternal(t *testing.T) {
	module := modulePath(t, root)
	read := 0
	for _, name := range goFiles(t) {
		if !strings.HasPrefix(filepath.ToSlash(name), "pkg/") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		read++
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, filepath.Join(root, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, place := range shown(module, files, f) {
			t.Error(place)
		}
	}
	if read < 200 {
		t.Errorf("%d files", read)
	}
}

// TestShown checks declarations that refer to an internal type, and declarations that do not.
func TestShown(t *testing.T) {
	for text, want := range map[string]int{
		"func F(a.T) {}": 1,
		"func f(a.T) {}": 0,
		"func F() (x []a.T, err error) { return }":      1,
		"func (x *X) F(a.T) {}\ntype X struct{}":        1,
		"func (x *x) F(a.T) {}\ntype x struct{}":        0,
		"type X struct { F a.T; f a.T }":                1,
		"type X struct { a.T }":                         1,
		"type X interface { F(a.T) }":                   1,
		"type X a.T":                                    1,
		"type X = a.T":                                  0,
		"type X = []a.T":                                1,
		"type X func(map[string]a.T)":                   1,
		"var V a.T":                                     1,
		"var v a.T":                                     0,
		"func F() { var x a.T; _ = x }":                 0,
		"func F(b.T) {}":                                0,
		"type X struct { F func() *a.T }\nfunc G() a.T": 2,
	} {
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, "x.go", "package x\nimport (\"m/internal/a\"; \"m/pkg/b\")\n"+text+"\n", parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := shown("m", files, f); len(got) != want {
			t.Errorf("%s: %q, want %d", text, got, want)
		}
	}
}
