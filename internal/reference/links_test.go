package reference

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// documents are all Markdown files of the repository.
func documents(t *testing.T, root string) []string {
	var files []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "build") {
			return filepath.SkipDir
		}
		if !d.IsDir() && strings.HasSuffix(path, ".md") {
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

var (
	fence   = regexp.MustCompile("(?ms)^```.*?^```$")
	span    = regexp.MustCompile("`[^`\n]*`")
	link    = regexp.MustCompile(`\]\(([^)\s]+)(?: "[^"]*")?\)`)
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)
	mdLink  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// anchors are the headings of a document as links name them; of headings that
// are the same the second has -1 behind it.
func anchors(document string) map[string]bool {
	have := map[string]bool{}
	seen := map[string]int{}
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(document, ""), -1) {
		a := Anchor(mdLink.ReplaceAllString(m[1], "$1"))
		if n := seen[a]; n > 0 {
			have[a+"-"+string(rune('0'+n))] = true
		} else {
			have[a] = true
		}
		seen[a]++
	}
	return have
}

// TestLinks: every relative link of every document leads to a file that is there, and to a
// heading of it.
func TestLinks(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, file := range documents(t, root) {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, _ := filepath.Rel(root, file)
		prose := span.ReplaceAllStringFunc(fence.ReplaceAllString(string(b), ""), func(s string) string { return "`" })
		for _, m := range link.FindAllStringSubmatch(prose, -1) {
			target := m[1]
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			n++
			path, anchor, _ := strings.Cut(target, "#")
			to := file
			if path != "" {
				to = filepath.Join(filepath.Dir(file), filepath.FromSlash(path))
			}
			if rel, err := filepath.Rel(root, to); err != nil || strings.HasPrefix(rel, "..") {
				t.Errorf("%s: %s leads out of the repository", name, target)
				continue
			}
			text, err := os.ReadFile(to)
			if info, e := os.Stat(to); e == nil && info.IsDir() {
				err = nil
			}
			if err != nil {
				t.Errorf("%s: %s: there is no such file", name, target)
			} else if anchor != "" && !anchors(string(text))[anchor] {
				t.Errorf("%s: %s: there is no such heading", name, target)
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d links were found", n)
	}
}
