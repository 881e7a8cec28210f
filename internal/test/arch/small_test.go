package arch

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// leastLines is how many lines of code a package has that needs no reason to be one.
const leastLines = 150

// reason stands in the doc comment of a smaller one, followed by who shares it.
const reason = "small leaf of its own"

// TestSmallPackages: a package is one idea of some size, or many share it and its comment says who.
func TestSmallPackages(t *testing.T) {
	lines, said := map[string]int{}, map[string]bool{}
	for _, name := range goFiles(t) {
		dir := path.Dir(name)
		if strings.HasSuffix(name, "_test.go") || strings.Contains(dir, "/cmd/") || strings.HasPrefix(dir, "examples") {
			continue
		}
		b, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		code, comment := b, []byte(nil)
		if i := bytes.Index(b, []byte("\npackage ")); i >= 0 {
			comment, code = b[:i], b[i+1:]
		}
		said[dir] = said[dir] || bytes.Contains(bytes.ReplaceAll(comment, []byte("\n// "), []byte(" ")), []byte(reason))
		lines[dir] += bytes.Count(code, []byte{'\n'}) - 1 // that which names the package
	}
	for dir, n := range lines {
		if n <= 1 { // tests alone
			continue
		}
		if (n < leastLines) != said[dir] {
			t.Errorf("%s has %d lines, and its comment says %v that it is a %s: join it to what uses it, or say who shares it", dir, n, said[dir], reason)
		}
	}
}
