package arch

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// allowed says which packages of this module a package may import beside
// those below itself. Tests may import more.
var allowed = map[string][]string{
	"cmd/bulkload":          {"internal/deliver", "internal/durable", "internal/lineage", "internal/metrics", "internal/report", "pkg/job", "pkg/hdfsio", "pkg/hfile", "pkg/keygen", "pkg/loader", "pkg/partition", "pkg/partition/extsort", "pkg/rowkey", "pkg/source"},
	"pkg/job":               {"internal/durable", "pkg/hdfsio", "pkg/hfile", "pkg/journal", "pkg/keygen", "pkg/loader", "pkg/partition", "pkg/partition/extsort", "pkg/rowkey", "pkg/source"},
	"pkg/loader":            {"pkg/frames", "pkg/hdfsio", "pkg/hfile", "pkg/rowkey"},
	"pkg/source":            {"internal/durable"},
	"pkg/keygen":            {"pkg/rowkey"},
	"pkg/partition":         {"pkg/rowkey"},
	"pkg/partition/extsort": {},
	"pkg/hfile":             {},
	"pkg/hdfsio":            {"internal/durable", "pkg/frames"},
	"pkg/frames":            {},
	"pkg/journal":           {"internal/durable"},
	"pkg/rowkey":            {},
}

// TestImportDirection reads the imports of every file: cmd imports job, job
// imports the rest, and the rest import no siblings but loader; durable,
// frames and rowkey are for any of them.
func TestImportDirection(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") || d.Name() == "build") && path != root {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(rel)
		if strings.HasPrefix(pkg, "internal/") {
			return nil
		}
		may, ok := allowed[pkg]
		if !ok {
			t.Errorf("package %s is in no row of the table of imports", pkg)
		}
		seen[pkg] = true
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range f.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			ours, ok := strings.CutPrefix(name, "bulkload/")
			if ok && !slices.Contains(may, ours) {
				t.Errorf("%s imports %s, which %s may not", path, ours, pkg)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range allowed {
		if _, err := os.Stat(filepath.Join(root, pkg)); err == nil && !seen[pkg] {
			t.Errorf("package %s has no files", pkg)
		}
	}
}
