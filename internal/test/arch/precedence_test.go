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

// bitOperators are the operators whose precedence readers do not know: in Go | and ^ have that of +, and &, &^, <<
// and >> that of *.
var bitOperators = []token.Token{token.OR, token.XOR, token.AND, token.AND_NOT, token.SHL, token.SHR}

// mixed reports whether two operators of the same precedence are adjacent without parentheses, and at least one of them is a bit operator:
// a^b | c^d is ((a^b)|c)^d. Chains of one operator, of + and -, and of *, / and % are read from left to right by all readers; 1<<n - 1 and
// a&m | b&m have two precedences, which gofmt's blanks show.
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

// TestPrecedence checks that the evaluation order of bit expressions is visible without the table of precedences.
func TestPrecedence(t *testing.T) {
	names := goFiles(t)
	if len(names) < 1000 {
		t.Fatalf("%d files", len(names))
	}
	refuse(t, names, mixtures)
}

// refuse reports each place in the files that a rule finds.
func refuse(t *testing.T, names []string, rule func(*token.FileSet, *ast.File) []string) {
	t.Helper()
	for _, name := range names {
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, filepath.Join(root, name), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, place := range rule(files, f) {
			t.Error(place)
		}
	}
}

// TestMixtures checks expressions that are refused, and expressions that are not.
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
