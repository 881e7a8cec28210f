package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

// lostErrors returns the places of a file where a deferred call sets an err that the function does not return: a variable of its body,
// which may hide a named result. The file is parsed with object resolution.
func lostErrors(files *token.FileSet, f *ast.File) (places []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		var body *ast.BlockStmt
		switch n := n.(type) {
		case *ast.FuncDecl:
			body = n.Body
		case *ast.FuncLit:
			body = n.Body
		}
		if body == nil {
			return true
		}
		ast.Inspect(body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				return false // has its own results
			case *ast.DeferStmt:
				for _, name := range setErrors(n) {
					at := name.Obj.Pos()
					if inside := func(n ast.Node) bool { return n.Pos() <= at && at < n.End() }; inside(body) && !inside(n) {
						places = append(places, fmt.Sprintf("%s: the deferred call sets the err of line %d, which is no result", files.Position(name.Pos()), files.Position(at).Line))
					}
				}
			}
			return true
		})
		return true
	})
	return places
}

// setErrors returns the variables err that a deferred call assigns, or whose address it takes.
func setErrors(call *ast.DeferStmt) (names []*ast.Ident) {
	add := func(e ast.Expr) {
		if name, ok := e.(*ast.Ident); ok && name.Name == "err" && name.Obj != nil {
			names = append(names, name)
		}
	}
	ast.Inspect(call, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok == token.ASSIGN {
				for _, e := range n.Lhs {
					add(e)
				}
			}
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				add(n.X)
			}
		}
		return true
	})
	return names
}

// TestDeferredErrors checks that the error of a deferred call, of a Close for example, is returned.
func TestDeferredErrors(t *testing.T) { refuse(t, goFiles(t), lostErrors) }

// TestLostErrors checks functions that are refused, and functions that are not.
func TestLostErrors(t *testing.T) {
	for text, want := range map[string]int{
		"func f() error { err := g(); defer func() { err = h() }(); return err }":                               1,
		"func f() (err error) { x, err := g(); defer func() { err = h() }(); return err }":                      0,
		"func f() (err error) { if x, err := g(); x { defer func() { err = h() }() }; return err }":             1,
		"func f() (err error) { if x { y, err := g(); defer end(&err) }; return err }":                          1,
		"func f() { k := func() error { var err error; defer func() { _, err = h() }(); return err }; k() }":    1,
		"func f() (err error) { defer func() { err = h() }(); return g() }":                                     0,
		"func f() (err error) { defer end(&err); return g() }":                                                  0,
		"func f() (_ int, err error) { k := func() (err error) { defer end(&err); return nil }; return 1, k()}": 0,
		"func f() (err error) { defer func() { if err := h(); err != nil { log(err) } }(); return g() }":        0,
		"func f() error { var err error; func() { defer func() { err = h() }(); g() }(); return err }":          0,
		"func f() error { err := g(); defer log(err); return err }":                                             0,
	} {
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, "x.go", "package x\n"+text, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := lostErrors(files, f); len(got) != want {
			t.Errorf("%s: %q, want %d", text, got, want)
		}
	}
}
