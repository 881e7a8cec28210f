package reference

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// mostMessage is how many characters the text of a message has at most, before values take the place of its verbs.
const mostMessage = 160

// makers are the functions that make messages, and which of their arguments is the text.
var makers = map[string]int{
	"fmt.Errorf": 0, "errors.New": 0, "fail.Errorf": 1, "setting.Errorf": 0, "setting.Textf": 0, "setting.Plain": 0, "fail.AboutData": 1,
}

// longMessages are the texts in the code that are longer, or have several lines, by file.
func longMessages(t *testing.T, roots ...string) []string {
	t.Helper()
	var long []string
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && strings.HasSuffix(path, "internal/test") { // no user reads what helpers of tests say
				return filepath.SkipDir
			}
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				maker, ok := call.Fun.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				pkg, ok := maker.X.(*ast.Ident)
				if !ok {
					return true
				}
				at, ok := makers[pkg.Name+"."+maker.Sel.Name]
				if !ok || at >= len(call.Args) {
					return true
				}
				text, ok := textOf(call.Args[at])
				if ok && (utf8.RuneCountInString(text) > mostMessage || strings.Contains(text, "\n")) {
					long = append(long, filepath.ToSlash(strings.TrimPrefix(path, "../../../"))+": "+strings.ReplaceAll(text, "\n", `\n`))
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(long)
	return long
}

// TestMessageLength: a message is one line of at most 160 characters. testdata/long.txt has those that are still longer; it only
// gets shorter.
func TestMessageLength(t *testing.T) {
	long := longMessages(t, "../../../cmd", "../../../pkg", "../../../internal")
	const list = "testdata/long.txt"
	b, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	allowed := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	for _, l := range long {
		if !slices.Contains(allowed, l) {
			t.Errorf("longer than %d characters, or of several lines: %s", mostMessage, l)
		}
	}
	for _, l := range allowed {
		if !slices.Contains(long, l) {
			t.Errorf("%s lists a message that the code has no more: %s", list, l)
		}
	}
}
