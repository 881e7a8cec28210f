package reference

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLinks checks that every relative link of every document leads to an existing file, and to a heading of it.
func TestLinks(t *testing.T) { checkLinks(t, "../../..") }

// TestArchivedLinks checks the same for the documents of a release's archive, with only the files of the archive.
func TestArchivedLinks(t *testing.T) {
	root := "../../.."
	patterns, err := os.ReadFile(filepath.Join(root, "internal/release/archived.txt"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, pattern := range strings.Fields(string(patterns)) {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			copyTo(t, root, name, dir)
		}
	}
	checkLinks(t, dir)
}

// copyTo copies a file or a directory below root to the same place below dir.
func copyTo(t *testing.T, root, name, dir string) {
	t.Helper()
	rel, err := filepath.Rel(root, name)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, rel)
	if info, err := os.Stat(name); err != nil {
		t.Fatal(err)
	} else if info.IsDir() {
		if err := os.CopyFS(to, os.DirFS(name)); err != nil {
			t.Fatal(err)
		}
		return
	}
	b, err := os.ReadFile(name)
	if err := errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, b, 0o644)); err != nil {
		t.Fatal(err)
	}
}

func checkLinks(t *testing.T, root string) {
	t.Helper()
	broken, n, err := BrokenLinks(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range broken {
		t.Error(b)
	}
	if n < 20 {
		t.Errorf("only %d links were found", n)
	}
}

func TestBrokenLinks(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.md": "# One\n## Two `x`\n## Two `x`\n[ok](b.md) [ok](b.md#there) [`ok`](#two-x-1) [ok](https://x/y#z) ![ok](sub)\n" +
			"[gone](c.md) [gone](b.md#gone) [gone](#three) [out](../x.md)\n`[code](c.md)`\n```\n[code](c.md)\n# No heading\n```\n[gone](#no-heading)\n[self](a.md#one)\n",
		"b.md":         "# There\n",
		"build/c.md":   "[x](gone.md)",
		"sub/d.md":     "[up](../a.md#one) [dir](..#one)",
		".hidden/e.md": "[x](gone.md)",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, n, err := BrokenLinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"a.md: c.md: there is no such file",
		"a.md: b.md#gone: there is no such heading",
		"a.md: #three: there is no such heading",
		"a.md: ../x.md: it leads out of the repository",
		"a.md: #no-heading: there is no such heading",
		"a.md: a.md#one: it is this page: name a heading by # alone",
		"sub/d.md: ..#one: a directory has no headings",
	}
	if d := cmp.Diff(want, got); d != "" || n != 12 {
		t.Errorf("%d links: %s", n, d)
	}
}
