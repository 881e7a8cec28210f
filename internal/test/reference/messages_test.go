package reference

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bulkload/internal/cli/settings"
	"bulkload/pkg/setting"
)

// literals returns all texts in the code that can be part of a message: string literals, those joined by + as one.
func literals(t *testing.T, roots ...string) []string {
	var all []string
	names, err := settingNames("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					all = append(all, spoken(call, names)...)
				}
				e, ok := n.(ast.Expr)
				if !ok {
					return true
				}
				text, ok := textOf(e)
				if ok {
					all = append(all, text)
				}
				return !ok
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// spoken returns the formats among a call's arguments that name settings, with settings as flags.
func spoken(call *ast.CallExpr, names map[string]setting.Name) []string {
	var all []string
	for i, arg := range call.Args {
		format, ok := textOf(arg)
		if !ok {
			continue
		}
		next, named := i, false
		text := regexp.MustCompile(`%%|`+verb.String()).ReplaceAllStringFunc(format, func(v string) string {
			if v == "%%" {
				return v
			}
			if next++; next >= len(call.Args) {
				return v
			}
			if e, ok := call.Args[next].(*ast.SelectorExpr); ok && fmt.Sprint(e.X) == "setting" && names[e.Sel.Name] != "" {
				named = true
				return settings.Flag(names[e.Sel.Name])
			}
			return v
		})
		if named {
			all = append(all, text)
		}
	}
	return all
}

// foreign are messages of the system and of libraries that the page also explains.
var foreign = []string{"no such file or directory", "unknown field"}

// TestMessages checks that every message that docs/troubleshooting.md explains is still a message of the program. A
// message is a heading in code; … stands for the variable parts.
func TestMessages(t *testing.T) {
	b, err := os.ReadFile("../../../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	var code []string
	for _, l := range literals(t, "../../../cmd", "../../../pkg", "../../../internal") {
		code = append(code, verb.ReplaceAllString(l, "…"))
	}
	messages := regexp.MustCompile("(?m)^### `(.+)`$").FindAllStringSubmatch(string(b), -1)
	if len(messages) < 40 {
		t.Errorf("only %d messages are explained", len(messages))
	}
	for _, m := range messages {
		if !occurs(m[1], code) {
			t.Errorf("no code says %q", m[1])
		}
	}
}

// occurs reports whether all parts of a message occur in one text of the code, in order. A part in quotation marks
// that contains … matches a verb like %q.
func occurs(message string, code []string) bool {
	for _, f := range foreign {
		if strings.Contains(message, f) {
			return true
		}
	}
	parts := strings.Split(strings.ReplaceAll(message, `"…"`, "…"), "…")
texts:
	for _, text := range code {
		for _, p := range parts {
			i := strings.Index(text, p)
			if i < 0 {
				continue texts
			}
			text = text[i+len(p):]
		}
		return true
	}
	return false
}
