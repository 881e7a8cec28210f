package reference

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
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

// Documents returns all Markdown files below a directory, except those in hidden directories and in build.
func Documents(root string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || path == filepath.Join(root, "build")) {
			return filepath.SkipDir
		}
		if !d.IsDir() && strings.HasSuffix(path, ".md") {
			files = append(files, path)
		}
		return nil
	})
	return files, err
}

var (
	fence   = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	span    = regexp.MustCompile("`[^`\n]*`")
	link    = regexp.MustCompile(`\]\(([^)\s]+)(?: "[^"]*")?\)`)
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)
	mdLink  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// BrokenLinks returns a message for every relative link in the documents below root to a missing file or heading, or to
// the document itself by its file's name, and the number of links.
func BrokenLinks(root string) (broken []string, links int, err error) {
	files, err := Documents(root)
	if err != nil {
		return nil, 0, err
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, 0, err
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return nil, 0, err
		}
		prose := span.ReplaceAllString(fence.ReplaceAllString(string(b), ""), "`")
		for _, m := range link.FindAllStringSubmatch(prose, -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			links++
			if why := follow(root, file, m[1]); why != "" {
				broken = append(broken, fmt.Sprintf("%s: %s: %s", name, m[1], why))
			}
		}
	}
	return broken, links, nil
}

// follow returns the reason why a link of a file is broken, or "" if it is not.
func follow(root, file, target string) string {
	path, anchor, _ := strings.Cut(target, "#")
	to := file
	if path == filepath.Base(file) {
		return "it is this page: name a heading by # alone"
	}
	if path != "" {
		to = filepath.Join(filepath.Dir(file), filepath.FromSlash(path))
	}
	if rel, err := filepath.Rel(root, to); err != nil || strings.HasPrefix(rel, "..") {
		return "it leads out of the repository"
	}
	info, err := os.Stat(to)
	if err != nil {
		return "there is no such file"
	}
	if anchor == "" {
		return ""
	}
	if info.IsDir() {
		return "a directory has no headings"
	}
	text, err := os.ReadFile(to)
	if err != nil {
		return err.Error()
	}
	if !anchors(string(text))[anchor] {
		return "there is no such heading"
	}
	return ""
}

// anchors returns the anchors of a document's headings. If headings are the same, the second one has the suffix -1.
func anchors(document string) map[string]bool {
	have, seen := map[string]bool{}, map[string]int{}
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(document, ""), -1) {
		a := Anchor(mdLink.ReplaceAllString(m[1], "$1"))
		if n := seen[a]; n > 0 {
			have[a+"-"+strconv.Itoa(n)] = true
		} else {
			have[a] = true
		}
		seen[a]++
	}
	return have
}
