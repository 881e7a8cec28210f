package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// names returns the names by which a file refers to the packages that it imports.
func names(f *ast.File) map[string]string {
	names := map[string]string{}
	for _, spec := range f.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := path.Base(imported)
		if imported == "math/rand/v2" {
			name = "rand"
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = imported
	}
	return names
}

// chances returns the places of a test file where its outcome, or that of another test, depends on chance: a pause instead of a wait for a condition,
// random numbers that differ in each run, and a cache of its own for a cluster that other tests use.
func chances(files *token.FileSet, f *ast.File) (places []string) {
	packages := names(f)
	bubbles := false
	for _, imported := range packages {
		bubbles = bubbles || imported == "testing/synctest"
	}
	called := func(n ast.Node) (imported, function string) {
		if call, ok := n.(*ast.CallExpr); ok {
			n = call.Fun
		}
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				return packages[x.Name], s.Sel.Name
			}
		}
		return "", ""
	}
	selected := map[ast.Node]bool{} // calls that a select waits for, with other channels
	note := func(n ast.Node, format string, args ...any) {
		places = append(places, fmt.Sprintf("%s: ", files.Position(n.Pos()))+fmt.Sprintf(format, args...))
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CommClause:
			if s, ok := n.Comm.(*ast.ExprStmt); ok {
				selected[s.X] = true
			}
		case *ast.UnaryExpr:
			if imported, function := called(n.X); n.Op == token.ARROW && imported == "time" && function == "After" && !selected[n] && !bubbles {
				note(n, "time.After is a pause: testcheck.Eventually waits for a condition")
			}
		case *ast.BasicLit:
			if n.Value == `"XDG_CACHE_HOME"` && packages["testcluster"] != "" {
				note(n, "a cluster that this test starts has its jars there, and other tests use it later: testcluster.OwnCache")
			}
		case *ast.SelectorExpr:
			switch imported, function := called(n); {
			case imported == "time" && function == "Sleep":
				note(n, "time.Sleep: testcheck.Eventually waits for a condition, testing/synctest has a clock of its own")
			case (imported == "math/rand" || imported == "math/rand/v2") && ast.IsExported(function) && seedless(function):
				note(n, "rand.%s is another one in each run: testcheck.Rand and testcheck.Name", function)
			case imported == "pgregory.net/rapid" && (function == "Check" || function == "MakeCheck"):
				note(n, "rapid.%s has another seed in each run: testcheck.Check", function)
			}
		}
		return true
	})
	return places
}

// seedless reports whether a name of math/rand is a function whose numbers have no explicit seed, rather than a type
// or its constructor.
func seedless(name string) bool {
	return !strings.HasPrefix(name, "New") && name != "Rand" && name != "Source" && name != "Source64" && name != "PCG" && name != "ChaCha8" && name != "Zipf"
}

// TestChance checks that no test file's outcome depends on chance.
func TestChance(t *testing.T) {
	names := slices.DeleteFunc(goFiles(t), func(name string) bool { return !strings.HasSuffix(name, "_test.go") })
	if len(names) < 500 {
		t.Errorf("%d test files", len(names))
	}
	refuse(t, names, chances)
}

// TestChances checks statements that are refused, and statements that are not.
func TestChances(t *testing.T) {
	for _, c := range []struct {
		imports, statement string
		want               int
	}{
		{`"time"`, "time.Sleep(1)", 1},
		{`clock "time"`, "clock.Sleep(1)", 1},
		{`"time"`, "defer time.Sleep(1)", 1},
		{`"time"`, "pause := time.Sleep; pause(1)", 1},
		{`"time"`, "<-time.After(1)", 1},
		{`"time"`, "for ; ; <-time.After(1) {\n}", 1},
		{`"time"`, "select {\ncase <-time.After(1):\ncase <-done:\n}", 0},
		{`"time"; "testing/synctest"`, "<-time.After(1)", 0},
		{`"time"; "testing/synctest"`, "time.Sleep(1)", 1},
		{`"time"`, "clock.Sleep(time.Second)", 0},
		{`"math/rand/v2"`, "_ = rand.IntN(3) + rand.IntN(4)", 2},
		{`"math/rand"`, "rand.Shuffle(3, swap)", 1},
		{`"math/rand/v2"`, "var r *rand.Rand = rand.New(rand.NewPCG(1, 2)); r.IntN(3)", 0},
		{`"crypto/rand"`, "rand.Text()", 0},
		{`"bulkload/internal/test/testcluster"`, `t.Setenv("XDG_CACHE_HOME", dir)`, 1},
		{`"testing"`, `t.Setenv("XDG_CACHE_HOME", dir)`, 0},
		{`"pgregory.net/rapid"`, "rapid.Check(t, f)", 1},
		{`"pgregory.net/rapid"`, "rapid.Int().Draw(t, name)", 0},
	} {
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, "x.go", "package x\nimport ("+c.imports+")\nfunc f() {\n"+c.statement+"\n}\n", parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := chances(files, f); len(got) != c.want {
			t.Errorf("%s: %q, want %d", c.statement, got, c.want)
		}
	}
}
