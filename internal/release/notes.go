package release

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// notes is the section of the changelog about the version. A version with a hyphen or dots beyond three numbers is one for a try: its section is
// Unreleased, as is that of the version after the last released one.
func (m *maker) notes() ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(m.Root, "CHANGELOG.md"))
	if err != nil {
		return nil, err
	}
	section, ok := changesOf(b, m.Version)
	if !ok && !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(m.Version) {
		section, ok = changesOf(b, "Unreleased")
	}
	if !ok {
		return nil, fmt.Errorf("CHANGELOG.md has no section ## %s: write it, or rename ## Unreleased", m.Version)
	}
	return section, nil
}

// changesOf is a section of a changelog: from the heading that begins with the title to the next one of that level.
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
