package testrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// clusters is the package that is imported by tests with a cluster.
const clusters = "bulkload/internal/test/testcluster"

// A pkg is a package with tests.
type pkg struct {
	path       string
	dir        string // directory of its module
	concurrent bool   // its code starts goroutines
	cluster    bool   // its tests use a cluster
	rank       int    // position in the order of the runs
}

// listed is the description of a package by go list.
type listed struct {
	Dir, ImportPath                    string
	GoFiles, TestGoFiles, XTestGoFiles []string
	Imports, TestImports, XTestImports []string
}

// packages lists the packages of patterns that have tests.
func packages(ctx context.Context, dir string, patterns ...string) ([]pkg, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-json=Dir,ImportPath,GoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports"}, patterns...)...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, stderr.String())
	}
	var all []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var l listed
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if len(l.TestGoFiles)+len(l.XTestGoFiles) == 0 {
			continue
		}
		p := pkg{path: l.ImportPath, dir: dir, cluster: l.ImportPath == clusters || slices.Contains(slices.Concat(l.Imports, l.TestImports, l.XTestImports), clusters)}
		for _, name := range l.GoFiles {
			starts, err := startsGoroutines(filepath.Join(l.Dir, name))
			if err != nil {
				return nil, err
			}
			p.concurrent = p.concurrent || starts
		}
		all = append(all, p)
	}
}

// startsGoroutines reports whether a Go file has a go statement or calls a method Go, such as that of errgroup.Group
// or sync.WaitGroup.
func startsGoroutines(name string) (bool, error) {
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		return false, err
	}
	found := false
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Go" {
				found = true
			}
		}
		return !found
	})
	return found, nil
}
