package arch

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// leastLines is the number of lines of code from which a package needs no reason to exist.
const leastLines = 150

// reason is in the doc comment of a smaller package, followed by the packages that share it.
const reason = "small leaf of its own"

// TestSmallPackages checks that a package is one idea of some size, or that many share it and its comment names them.
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
		lines[dir] += bytes.Count(code, []byte{'\n'}) - 1 // without the package clause
	}
	for dir, n := range lines {
		if n <= 1 { // only tests
			continue
		}
		if (n < leastLines) != said[dir] {
			t.Errorf("%s has %d lines, and its comment says %v that it is a %s: join it to what uses it, or say who shares it", dir, n, said[dir], reason)
		}
	}
}
