package reference

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestArchitectureNamesFilesThatExist looks for the files that ARCHITECTURE.md
// names, below pkg, internal, cmd or the top level.
func TestArchitectureNamesFilesThatExist(t *testing.T) {
	root := "../.."
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range regexp.MustCompile("`((?:[a-z]+/)+[a-z]+\\.(?:go|md|txt))`").FindAllStringSubmatch(string(text), -1) {
		found := false
		for _, below := range []string{"", "pkg", "internal", "cmd"} {
			_, err := os.Stat(filepath.Join(root, below, name[1]))
			found = found || err == nil
		}
		if !found {
			t.Errorf("there is no %s", name[1])
		}
	}
}
