package reference

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

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
