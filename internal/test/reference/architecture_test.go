package reference

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestArchitectureNamesFilesThatExist looks for the files that ARCHITECTURE.md names, by the end of their paths.
func TestArchitectureNamesFilesThatExist(t *testing.T) {
	root := "../../.."
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, top := range []string{"pkg", "internal", "cmd", "testdata"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				files = append(files, filepath.ToSlash(path))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	named := regexp.MustCompile("`((?:[a-z]+/)+[a-z]+\\.(?:go|md|txt))`").FindAllStringSubmatch(string(text), -1)
	for _, name := range named {
		if !slices.ContainsFunc(files, func(path string) bool { return strings.HasSuffix(path, "/"+name[1]) }) {
			t.Errorf("there is no %s", name[1])
		}
	}
	if len(named) < 30 {
		t.Errorf("ARCHITECTURE.md names %d files", len(named))
	}
}
