package reference

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// refusals returns the texts of errors that a running command returns: those of a kind other than Config, made by fail.Errorf or
// fail.With, and the reasons of undo.
func refusals(t *testing.T, patterns ...string) []string {
	t.Helper()
	var all []string
	add := func(e ast.Expr) {
		if text, ok := textOf(e); ok && len(regexp.MustCompile(`[a-z]{3,}`).FindAllString(verb.ReplaceAllString(text, ""), -1)) >= 3 {
			all = append(all, verb.ReplaceAllString(text, "…"))
		}
	}
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				name := ""
				switch fun := call.Fun.(type) {
				case *ast.Ident:
					name = fun.Name
				case *ast.SelectorExpr:
					if pkg, ok := fun.X.(*ast.Ident); ok {
						name = pkg.Name + "." + fun.Sel.Name
					}
				}
				switch {
				case name == "no":
					add(call.Args[0])
				case (name == "fail.Errorf" || name == "fail.With") && isKind(call.Args[0], "Config"):
				case name == "fail.Errorf":
					add(call.Args[1])
				case name == "fail.With":
					if inner, ok := call.Args[1].(*ast.CallExpr); ok && len(inner.Args) > 0 {
						add(inner.Args[0])
					}
				}
				return true
			})
		}
	}
	return all
}

func isKind(e ast.Expr, kind string) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && s.Sel.Name == kind
}

// TestLaterCommands checks that docs/troubleshooting.md explains every refusal of undo, replace, drop-old and export.
func TestLaterCommands(t *testing.T) {
	b, err := os.ReadFile("../../../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	var explained []string
	for _, m := range regexp.MustCompile("(?m)^(?:### |\\| )`(.+?)`").FindAllStringSubmatch(string(b), -1) {
		if !slices.ContainsFunc(foreign, func(f string) bool { return strings.Contains(m[1], f) }) {
			explained = append(explained, m[1])
		}
	}
	all := refusals(t, "../../jobs/undo/*.go", "../../jobs/replace/*.go", "../../jobs/fresh/*.go", "../../jobs/export/*.go", "../../jobs/job/replace.go", "../../jobs/job/fresh.go", "../../../cmd/bulkload/fresh.go")
	if len(all) < 30 {
		t.Errorf("only %d messages are found", len(all))
	}
messages:
	for _, text := range all {
		for _, e := range explained {
			if occurs(e, []string{text}) {
				continue messages
			}
		}
		t.Errorf("docs/troubleshooting.md does not explain %q", text)
	}
}
