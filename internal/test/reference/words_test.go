package reference

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A wording is an expression that an HBase operator would not use, with its replacement.
type wording struct {
	not     *regexp.Regexp
	instead string
}

// indirect matches comments that say in a subordinate clause what a declaration is.
var indirect = regexp.MustCompile(`^// (An? )?\w+ (is|are|returns?) (what|for people|such) `)

// A dictionary finds wordings in texts.
type dictionary struct {
	any  *regexp.Regexp // has one of them
	list []wording
}

// banned are the words that no text of the project may have: messages, help texts and comments of the program and its
// tests, documents and examples.
func banned() dictionary {
	var d dictionary
	var all []string
	for _, w := range [][2]string{
		{`tells?|told|telling`, "report, say, show, record or distinguish"},
		{`foretells?|foretold|foretelling`, "estimate, predict"},
		{`mends?|mended|mending`, "fix, correct"},
		{`anew`, "again; start over"},
		{`thr(ow|ows|own|ew) away`, "discard"},
		{`of no use`, "retrying will not help; invalid"},
		{`(go|goes|going|gone|went) on`, "resume; continue"},
		{`fate`, "outcome"},
		{`(found|finds|finding) out`, "the outcome is resolved; determine"},
		{`proves? nothing`, "verification inconclusive; no evidence"},
		{`ways? into HBase`, "load mode"},
		{`HBase calls? (is|are) repeated`, "retrying HBase RPC"},
		{`a part of (it|a load) was done|file by file`, "bulk load partially applied"},
		{`where nothing authenticates`, "user name for simple authentication"},
		{`regions are to do`, "planning horizon"},
		{`of which`, "whose; ... of them"},
		{`beside`, "next to; besides, in addition to; during"},
		{`(lies?|lay) (in|on|at|between|within|under|above|below|behind|where|there|elsewhere)`, "is, are"},
		{`whoever|somebody|everybody|no one`, "the user, client, caller, process; the passive voice"},
		{`(comes?|came) of`, "the result of"},
		{`at hand`, "current"},
		{`is none of`, "unknown x: want one of"},
		{`to be had`, "available"},
		{`has not the form`, "is malformed"},
		{`of theirs`, "their"},
		{`has it not`, "does not have it"},
		{`none is given`, "without a value, by default"},
		{`of before the`, "from before the"},
		{`may be had|has to be had`, "is available"},
		{`save for`, "except"},
		{`is not certainly`, "may not be"},
		{`asked for are`, "requested:"},
	} {
		all = append(all, w[0])
		d.list = append(d.list, wording{regexp.MustCompile(`(?i)\b(` + w[0] + `)\b`), w[1]})
	}
	d.any = regexp.MustCompile(`(?i)\b(` + strings.Join(all, "|") + `)\b`)
	return d
}

// offences returns the places of a text where it has a word of the list. line is the number of its first line in the
// file.
func (d dictionary) offences(file string, line int, text string) []string {
	if !d.any.MatchString(text) {
		return nil
	}
	var all []string
	for i, l := range strings.Split(text, "\n") {
		for _, w := range d.list {
			if m := w.not.FindString(l); m != "" {
				all = append(all, fmt.Sprintf("%s:%d: %q: write %s: %s", file, line+i, m, w.instead, strings.TrimSpace(l)))
			}
		}
	}
	return all
}

// goOffences returns the offences of string literals and comments. The name at the beginning of a doc comment does
// not count as a word.
func (d dictionary) goOffences(t *testing.T, file string, src []byte) []string {
	t.Helper()
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, file, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	tests := strings.HasSuffix(file, "_test.go") || strings.Contains(file, "/internal/test/")
	for _, group := range f.Comments {
		for i, c := range group.List {
			text := c.Text
			if i == 0 {
				if indirect.MatchString(text) && !tests {
					all = append(all, fmt.Sprintf("%s:%d: begin with a verb (returns, reads, reports whether) or with a noun: %s", file, set.Position(c.Pos()).Line, text))
				}
				_, text, _ = strings.Cut(strings.TrimPrefix(text, "// "), " ")
			}
			all = append(all, d.offences(file, set.Position(c.Pos()).Line, text)...)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			all = append(all, d.offences(file, set.Position(lit.Pos()).Line, lit.Value)...)
		}
		return true
	})
	return all
}

// TestWords checks that the program, its tests, its documents and its examples use HBase's terms.
func TestWords(t *testing.T) {
	texts := []string{".md", ".yaml", ".yml", ".py", ".sh", ".service", ".timer", ".tmpl", ".json"}
	const list = "reference/words_test.go" // which has the words as data
	words, files := banned(), 0
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, ending := d.Name(), filepath.Ext(path)
		if d.IsDir() {
			if path != "../../.." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "pictures" || path == "../../../build") { // build outputs are not texts of the project
				return filepath.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(filepath.ToSlash(path), list) {
			return nil
		}
		program := ending == ".go"
		if !program && !slices.Contains(texts, ending) && name != "Makefile" {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil || bytes.IndexByte(b, 0) >= 0 {
			return err
		}
		files++
		var found []string
		if program {
			found = words.goOffences(t, path, b)
		} else {
			found = words.offences(path, 1, string(b))
		}
		for _, o := range found {
			t.Error(o)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 700 {
		t.Errorf("only %d files were read", files)
	}
}

// TestOffences checks that words are found at their positions, and that names do not count as words.
func TestOffences(t *testing.T) {
	src := `package p

// tell is a name.
// It tells.
func tell() string {
	return "say" + ` + "`mend\nanew`" + `
}
`
	words := banned()
	got := words.goOffences(t, "p.go", []byte(src))
	if len(got) != 3 || !strings.HasPrefix(got[0], "p.go:4: ") || !strings.HasPrefix(got[1], "p.go:6: ") || !strings.HasPrefix(got[2], "p.go:7: ") {
		t.Errorf("%q", got)
	}
	for _, text := range []string{"Fortells", "it mended the file", "The job goes on where it was", "the way into HBase"} {
		if want := text != "Fortells"; (len(words.offences("a.md", 1, text)) > 0) != want {
			t.Errorf("%q", text)
		}
	}
}
