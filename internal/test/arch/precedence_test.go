package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"testing"
)

// bitOperators are the bit operators that people do not know a precedence of: Go gives | and ^ that of +, and &, &^, << and >> that of *.
var bitOperators = []token.Token{token.OR, token.XOR, token.AND, token.AND_NOT, token.SHL, token.SHR}

// mixed says that two operators of one precedence stand side by side without parentheses, and one of them at least is of bits: a^b | c^d is
// ((a^b)|c)^d. Chains of one operator, of + and -, and of *, / and % are read from left to right by all readers; 1<<n - 1 and a&m | b&m have
// two precedences, and gofmt's blanks show them.
func mixed(left, right token.Token) bool {
	return left != right && left.Precedence() == right.Precedence() && (slices.Contains(bitOperators, left) || slices.Contains(bitOperators, right))
}

// mixtures returns the places of a file where operators are mixed.
func mixtures(files *token.FileSet, f *ast.File) (places []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		if right, ok := n.(*ast.BinaryExpr); ok {
			if left, ok := right.X.(*ast.BinaryExpr); ok && mixed(left.Op, right.Op) {
				places = append(places, fmt.Sprintf("%s: %s and %s have one precedence: put parentheses around one", files.Position(right.OpPos), left.Op, right.Op))
			}
		}
		return true
	})
	return places
}

// TestPrecedence refuses expressions of bits whose order of steps is known from the table of precedences alone.
func TestPrecedence(t *testing.T) {
	names := goFiles(t)
	if len(names) < 1000 {
		t.Fatalf("%d files", len(names))
	}
	refuse(t, names, mixtures)
}

// refuse reports each place of the files that a rule finds.
func refuse(t *testing.T, names []string, rule func(*token.FileSet, *ast.File) []string) {
	t.Helper()
	for _, name := range names {
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, filepath.Join(root, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, place := range rule(files, f) {
			t.Error(place)
		}
	}
}

// TestMixtures has expressions that are refused, and those that are not.
func TestMixtures(t *testing.T) {
	for expr, want := range map[string]int{
		"a&m ^ t | s ^ z": 2, "a | b ^ c": 1, "a + b | c": 1, "a - b ^ c": 1, "a >> 1 & b": 1, "a & b << 2": 1, "a &^ b >> 63": 1, "a * b >> 56 << 8": 2, "a % b & c": 1,
		"f(a | b ^ c)": 1, "-a*b >> 1": 1, "(a | b) ^ c ^ d | e": 1,
		"(a&m ^ t) | (s ^ z)": 0, "a + b - c": 0, "a * b / c % d": 0, "a | b | c": 0, "a << 1 << 2": 0, "1<<n - 1": 0, "a&m | b&m": 0, "a & -a": 0, "a+b < c|d && e": 0,
	} {
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, "x.go", "package x; var _ = "+expr, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := mixtures(files, f); len(got) != want {
			t.Errorf("%s: %q, want %d", expr, got, want)
		}
	}
}
