package reference

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bulkload/internal/cli/settings"
	"bulkload/internal/model/fail"
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

// TestMessagesExitCodes checks that docs/troubleshooting.md explains each message under the exit code that the code gives it, where it names one.
func TestMessagesExitCodes(t *testing.T) {
	b, err := os.ReadFile("../../../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	all, err := Messages("../../..")
	if err != nil {
		t.Fatal(err)
	}
	section, known := "", 0
	for _, m := range regexp.MustCompile("(?m)^## (.+)$|^### `(.+)`$").FindAllStringSubmatch(string(b), -1) {
		if m[1] != "" {
			section, _, _ = strings.Cut(m[1], ":")
			section = strings.ToLower(section)
			continue
		}
		if !strings.HasPrefix(section, "exit ") {
			continue
		}
		classes := map[string]bool{}
		for _, have := range all {
			if strings.HasPrefix(have.Class, "exit ") && occurs(m[2], []string{verb.ReplaceAllString(have.Format, "…"), have.Text}) {
				classes[have.Class] = true
			}
		}
		if known += min(len(classes), 1); len(classes) > 0 && !classes[section] {
			t.Errorf("%q is under %s, the code has %v", m[2], section, classes)
		}
	}
	if known < 40 {
		t.Errorf("the code of only %d messages is known", known)
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

// A Message is a text in the code that an operator can see: an error, a line of the log, a finding or printed text.
type Message struct {
	File   string
	Format string // as in the code
	Text   string // with placeholders instead of verbs, and settings as flags
	Class  string // "exit 3", "log" or empty
	Error  bool   // created by a function that creates errors
}

// makers are the functions that create messages, with the index of their text argument.
var makers = map[string]int{
	"fmt.Errorf": 0, "errors.New": 0, "fail.Errorf": 1, "setting.Errorf": 0, "setting.Textf": 0, "setting.Plain": 0, "fail.AboutData": 1,
}

// maxText is the greatest length in bytes of a text that is not an error.
const maxText = 400

// logging are the methods that write to the log.
var logging = []string{"Debug", "Info", "Warn", "Error", "Note", "DebugContext", "WarnContext", "Log"}

// otherTexts are calls whose texts are not messages, fields whose texts are in other documents, and files with only
// such texts.
var (
	otherCalls = []string{
		"MustCompile", "Contains", "HasPrefix", "HasSuffix", "Index", "Replace", "ReplaceAll", "Cut", "CutPrefix", "CutSuffix", "Sscanf", "MarshalIndent", "Indent",
		"Format", "Parse", "by", "headMagic", "digestOf", "parameter", "operation", "gauge", "counter", "histogram", "NewDesc", "Join",
	}
	otherFields = []string{"Short", "Long", "Example", "Use", "help", "Help", "Usage"}
	otherFiles  = []string{
		"internal/test/", "internal/model/spec/specfields.go", "internal/cli/settings/table.go", "internal/cli/settings/groups.go", "internal/serve/openapi.go",
		"internal/cli/metrics/", "internal/formats/charset/names.go", "pkg/setting/name.go",
	}
)

var (
	verb     = regexp.MustCompile(`%[-+#0-9.]*(?:\[[0-9]+\])?[a-zA-Z]`)
	wordOf   = regexp.MustCompile(`[\pL']{2,}`)
	inQuotes = regexp.MustCompile(`"?(%%|` + verb.String() + `)"?`)
)

// Messages returns the messages of the program below a directory, ordered by file and position, each once in a
// package.
func Messages(root string) ([]Message, error) {
	names, err := settingNames(root)
	if err != nil {
		return nil, err
	}
	var all []Message
	for _, top := range []string{"cmd", "internal", "pkg"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			file = filepath.ToSlash(file)
			if slices.ContainsFunc(otherFiles, func(o string) bool { return strings.HasPrefix(file, o) }) {
				return nil
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			v := &messageVisitor{file: file, names: names}
			v.walk(f, "", nil)
			all = append(all, v.found...)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// A messageVisitor collects the messages of a file.
type messageVisitor struct {
	file  string
	names map[string]setting.Name
	found []Message
}

// walk visits the tree below a node; class is that of the enclosing call.
func (v *messageVisitor) walk(root ast.Node, class string, call *ast.CallExpr) {
	ast.Inspect(root, func(n ast.Node) bool {
		if n == root {
			return true
		}
		switch n := n.(type) {
		case *ast.ImportSpec, *ast.Field:
			return false
		case *ast.CallExpr:
			v.call(n, class)
			return false
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && slices.Contains(otherFields, key.Name) {
				return false
			}
		case *ast.CaseClause:
			for _, s := range n.Body {
				v.walk(&ast.BlockStmt{List: []ast.Stmt{s}}, class, nil)
			}
			return false
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				return false
			}
		}
		if e, ok := n.(ast.Expr); ok {
			if text, ok := textOf(e); ok {
				v.add(text, class, call, n)
				return false
			}
		}
		return true
	})
}

// call visits a call: its arguments have the class of the failure that it marks, or of the log.
func (v *messageVisitor) call(call *ast.CallExpr, class string) {
	pkg, name := calleeOf(call)
	if slices.Contains(otherCalls, name) {
		return
	}
	switch {
	case pkg == "fail" && (name == "Errorf" || name == "With") && len(call.Args) > 1:
		class = exitOf(call.Args[0])
	case slices.Contains(logging, name) && pkg != "fmt":
		class = "log"
	}
	v.walk(call.Fun, class, nil)
	for _, arg := range call.Args {
		v.walk(&ast.ParenExpr{X: arg}, class, call)
	}
}

// add records a text if it is a message: at least two words, or the text of an error.
func (v *messageVisitor) add(format, class string, call *ast.CallExpr, at ast.Node) {
	m := Message{File: v.file, Format: format, Class: class}
	var args []ast.Expr
	if call != nil {
		pkg, name := calleeOf(call)
		i := slices.Index(call.Args, at.(ast.Expr))
		maker, ok := makers[pkg+"."+name]
		m.Error = ok && maker == i
		if i >= 0 {
			args = call.Args[i+1:]
		}
	}
	words := len(wordOf.FindAllString(verb.ReplaceAllString(format, ""), -1))
	switch {
	case words == 0, !m.Error && (words < 2 || !strings.Contains(strings.TrimSpace(format), " ")):
		return
	case !m.Error && len(format) > maxText: // a help text, or a list of names
		return
	}
	m.Text = v.readable(format, args)
	v.found = append(v.found, m)
}

// readable returns a format with placeholders instead of verbs, and with flags instead of settings.
func (v *messageVisitor) readable(format string, args []ast.Expr) string {
	next := -1
	return inQuotes.ReplaceAllStringFunc(format, func(with string) string {
		is := strings.Trim(with, `"`)
		if is == "%%" {
			return strings.Replace(with, "%%", "%", 1)
		}
		if next++; next < len(args) {
			if e, ok := args[next].(*ast.SelectorExpr); ok && fmt.Sprint(e.X) == "setting" && v.names[e.Sel.Name] != "" {
				return strings.Replace(with, is, settings.Flag(v.names[e.Sel.Name]), 1)
			}
		}
		switch is[len(is)-1] {
		case 'q':
			return `"…"`
		case 'd':
			return strings.Replace(with, is, "N", 1)
		}
		return strings.Replace(with, is, "…", 1)
	})
}

// calleeOf returns the package or variable, and the name, of the called function.
func calleeOf(call *ast.CallExpr) (pkg, name string) {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return "", f.Name
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok {
			pkg = x.Name
		}
		return pkg, f.Sel.Name
	}
	return "", ""
}

// exitOf returns the exit code of a kind of failure, such as "exit 3", or "" if the kind is only known at run time.
func exitOf(e ast.Expr) string {
	name := ""
	switch e := e.(type) {
	case *ast.SelectorExpr:
		name = e.Sel.Name
	case *ast.Ident:
		name = e.Name
	}
	kinds := map[string]fail.Kind{
		"Config": fail.Config, "Check": fail.Check, "BadRows": fail.BadRows, "Input": fail.Input, "HDFS": fail.HDFS, "Load": fail.Load, "Verify": fail.Verify,
		"Busy": fail.Busy, "State": fail.State, "Unexpected": fail.Unexpected,
	}
	if k, ok := kinds[name]; ok {
		return fmt.Sprintf("exit %d", k.ExitCode())
	}
	return ""
}

// textOf returns the text of a literal, or of a sum of literals; other operands of a sum become a verb.
func textOf(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		s, err := strconv.Unquote(e.Value)
		return s, err == nil
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return "", false
		}
		a, okA := textOf(e.X)
		b, okB := textOf(e.Y)
		if !okA {
			a = "%v"
		}
		if !okB {
			b = "%v"
		}
		return a + b, okA || okB
	}
	return "", false
}

// settingNames returns the constants of the package setting.
func settingNames(root string) (map[string]setting.Name, error) {
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "pkg/setting/name.go"), nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	names := map[string]setting.Name{}
	ast.Inspect(f, func(n ast.Node) bool {
		if c, ok := n.(*ast.ValueSpec); ok && len(c.Values) == 1 {
			if text, ok := textOf(c.Values[0]); ok {
				names[c.Names[0].Name] = setting.Name(text)
			}
		}
		return true
	})
	return names, nil
}

// MessageList returns docs/messages.txt: all messages, those of each package below the package's purpose.
func MessageList(root string) ([]byte, error) {
	all, err := Messages(root)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString(`All messages of bulkload, by package, in the order of the code; "make docs" writes this file.

exit N  an error that ends the command with this exit code (bulkload help exit-codes)
log     a line of the log
        other texts: errors that others wrap, findings of bulkload check, advice, printed lines

Placeholders: "…" a quoted value, … another value or the cause, N a number.
`)
	done, dir := map[string]bool{}, ""
	oneLine := strings.NewReplacer("\n", " / ", "\x00", `\x00`) // a file with NUL is not text
	for _, m := range all {
		if d := filepath.Dir(m.File); d != dir {
			dir = d
			about, err := synopsis(filepath.Join(root, dir))
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&b, "\n%s: %s\n\n", dir, about)
			clear(done)
		}
		line := fmt.Sprintf("%-8s%s", m.Class, oneLine.Replace(strings.TrimSpace(m.Text)))
		if !done[line] {
			done[line] = true
			b.WriteString(line + "\n")
		}
	}
	return b.Bytes(), nil
}

// synopsis returns the first sentence of a package's comment.
func synopsis(dir string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return "", err
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			return "", err
		}
		if f.Doc != nil {
			return new(doc.Package).Synopsis(f.Doc.Text()), nil
		}
	}
	return "", nil
}
