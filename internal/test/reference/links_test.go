package reference

import (
	gocmp "cmp"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLinks: every relative link of every document leads to a file that is there,
// and to a heading of it. BULKLOAD_LINKS names another directory with documents.
func TestLinks(t *testing.T) {
	broken, n, err := BrokenLinks(gocmp.Or(os.Getenv("BULKLOAD_LINKS"), "../../.."))
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
			"[gone](c.md) [gone](b.md#gone) [gone](#three) [out](../x.md)\n`[code](c.md)`\n```\n[code](c.md)\n# No heading\n```\n[gone](#no-heading)\n",
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
		"sub/d.md: ..#one: a directory has no headings",
	}
	if d := cmp.Diff(want, got); d != "" || n != 11 {
		t.Errorf("%d links: %s", n, d)
	}
}
