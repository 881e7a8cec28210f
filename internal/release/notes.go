package release

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// notes returns the section of the changelog about the version. A version with a hyphen, such as 0.2.0-dev, is a pre-release: if it has no section,
// notes returns that of its release, 0.2.0, or else Unreleased.
func (m *maker) notes() ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(m.Root, "CHANGELOG.md"))
	if err != nil {
		return nil, err
	}
	section, ok := changesOf(b, m.Version)
	if next, _, early := strings.Cut(m.Version, "-"); early && !ok {
		if section, ok = changesOf(b, next); !ok {
			section, ok = changesOf(b, "Unreleased")
		}
	}
	if !ok {
		return nil, fmt.Errorf("CHANGELOG.md has no section ## %s: write it, or rename ## Unreleased", m.Version)
	}
	return section, nil
}

// changesOf returns a section of a changelog: from the heading that begins with the title to the next one of that level.
func changesOf(changelog []byte, title string) ([]byte, bool) {
	heading := regexp.MustCompile(`(?m)^## \[?` + regexp.QuoteMeta(title) + `(?:[ \]].*)?$`).FindIndex(changelog)
	if heading == nil {
		return nil, false
	}
	section := changelog[heading[0]:]
	if next := bytes.Index(section[1:], []byte("\n## ")); next >= 0 {
		section = section[:next+2]
	}
	return append(bytes.TrimSpace(section), '\n'), true
}
