package reference

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bulkload/pkg/setting"
)

// TestSettingNames checks that the names that package setting reads from its own file are those of the constants,
// each once.
func TestSettingNames(t *testing.T) {
	listed := setting.Names()
	names, err := settingNames("../../..")
	if err != nil {
		t.Fatal(err)
	}
	if len(names) != len(listed) {
		t.Errorf("%d constants, %d in the list", len(names), len(listed))
	}
	for constant, name := range names {
		if !slices.Contains(listed, name) {
			t.Errorf("%s is not in the list", constant)
		}
	}
}

// TestLibrariesKnowNoFlags checks that neither texts nor comments of the packages below the commands name a flag of
// the program.
func TestLibrariesKnowNoFlags(t *testing.T) {
	const root = "../../../"
	ofTools := []string{"chmod o+x %s, or give %s an ACL (hdfs dfs -setfacl -m user:%s:--x %s)", "hdfs dfs -setfacl -m user:%s:--x %s"}
	flagsAreData := []string{root + "internal/cli", root + "internal/test", root + "internal/release", root + "internal/base/abilities"}
	files := 0
	for _, top := range []string{root + "pkg", root + "internal"} {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && slices.Contains(flagsAreData, filepath.ToSlash(path)) {
				return filepath.SkipDir
			}
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files++
			for _, o := range flagsNamed(t, path, nil, ofTools) {
				t.Error(o)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 700 {
		t.Errorf("only %d files were read", files)
	}
}

// flagsNamed returns the places of a file that name a flag; exempt are texts that may. If src is nil, the file is
// read.
func flagsNamed(t *testing.T, file string, src any, exempt []string) []string {
	t.Helper()
	flag := regexp.MustCompile(`--[a-z][a-z-]*`)
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, file, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	look := func(at token.Pos, text string) {
		if m := flag.FindString(text); m != "" {
			found = append(found, set.Position(at).String()+": "+m+" is a flag: name the setting, with package setting")
		}
	}
	for _, group := range f.Comments {
		for _, c := range group.List {
			look(c.Pos(), c.Text)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err != nil || !slices.Contains(exempt, text) {
				look(lit.Pos(), lit.Value)
			}
		}
		return true
	})
	return found
}

// TestFlagsNamed checks that flags are found in texts and comments, and that dashes alone are not.
func TestFlagsNamed(t *testing.T) {
	src := `package p

// F is --f.
func F() []string {
	return []string{"give --memory", "a -- b", ` + "`--raw`" + `, "user:%s:--x"} // -----
}
`
	got := flagsNamed(t, "p.go", src, []string{"user:%s:--x"})
	if len(got) != 3 || !strings.HasPrefix(got[0], "p.go:3:1: --f ") || !strings.HasPrefix(got[1], "p.go:5:18: --memory ") || !strings.HasPrefix(got[2], "p.go:5:") {
		t.Errorf("%q", got)
	}
}
