package release

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// A project is the metadata of a Python package in pyproject.toml, with the fields of PyPA's specification. All fields must be static.
type project struct {
	Name           string
	Description    string
	Version        string // not used: the release has its own
	Readme         any    // a file, or a table with file
	License        any    // an SPDX expression, or a table with text
	RequiresPython string `toml:"requires-python"`
	Authors        []person
	Maintainers    []person
	Keywords       []string
	Classifiers    []string
	URLs           map[string]string
	Dependencies   []string
	Optional       map[string][]string          `toml:"optional-dependencies"`
	Scripts        map[string]string            // console programs
	GUI            map[string]string            `toml:"gui-scripts"`
	EntryPoints    map[string]map[string]string `toml:"entry-points"`
}

type person struct{ Name, Email string }

// readProject reads pyproject.toml of a directory. A project field that would be missing from the wheel is an error.
func readProject(dir string) (*project, error) {
	name := filepath.Join(dir, "pyproject.toml")
	var file struct{ Project project }
	seen, err := toml.DecodeFile(name, &file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, key := range seen.Undecoded() {
		if len(key) == 2 && key[0] == "project" {
			return nil, fmt.Errorf("%s: wheels are made without %s: remove it, or add it to internal/release/pyproject.go", name, key)
		}
	}
	if file.Project.Name == "" {
		return nil, fmt.Errorf("%s has no name under [project]", name)
	}
	return &file.Project, nil
}

// of returns v if it is a string, or the string of a table under key.
func of(v any, key string) string {
	if table, ok := v.(map[string]any); ok {
		v = table[key]
	}
	s, _ := v.(string)
	return s
}

// metadata returns the file METADATA of a wheel, version 2.4. licence is an SPDX expression, empty if none was chosen; files are the licence files.
func (p *project) metadata(dir, version, licence string, files []string) ([]byte, error) {
	var b bytes.Buffer
	field := func(name string, values ...string) {
		for _, v := range values {
			if v != "" {
				fmt.Fprintf(&b, "%s: %s\n", name, strings.ReplaceAll(v, "\n", " "))
			}
		}
	}
	field("Metadata-Version", "2.4")
	field("Name", p.Name)
	field("Version", version)
	field("Summary", p.Description)
	field("Keywords", strings.Join(p.Keywords, ","))
	people(field, "Author", p.Authors)
	people(field, "Maintainer", p.Maintainers)
	licence = cmp.Or(licence, of(p.License, ""))
	field("License-Expression", licence)
	if licence == "" {
		field("License", of(p.License, "text"))
	}
	field("License-File", files...)
	field("Classifier", p.Classifiers...)
	for _, label := range slices.Sorted(maps.Keys(p.URLs)) {
		field("Project-URL", label+", "+p.URLs[label])
	}
	field("Requires-Python", p.RequiresPython)
	field("Requires-Dist", p.Dependencies...)
	for _, extra := range slices.Sorted(maps.Keys(p.Optional)) {
		field("Provides-Extra", extra)
		for _, d := range p.Optional[extra] {
			what, marker, found := strings.Cut(d, ";")
			if marker = strings.TrimSpace(marker); found {
				marker = "(" + marker + ") and "
			}
			field("Requires-Dist", strings.TrimSpace(what)+"; "+marker+`extra == "`+extra+`"`)
		}
	}
	if readme := of(p.Readme, "file"); readme != "" {
		text, err := os.ReadFile(filepath.Join(dir, readme))
		if err != nil {
			return nil, err
		}
		kind := map[string]string{".md": "text/markdown", ".rst": "text/x-rst"}[filepath.Ext(readme)]
		field("Description-Content-Type", kind)
		b.WriteString("\n")
		b.Write(text)
	}
	return b.Bytes(), nil
}

// people writes authors or maintainers: those with an address and those without in separate fields.
func people(field func(string, ...string), kind string, all []person) {
	var names, addresses []string
	for _, p := range all {
		switch {
		case p.Email == "":
			names = append(names, p.Name)
		case p.Name == "":
			addresses = append(addresses, p.Email)
		default:
			addresses = append(addresses, p.Name+" <"+p.Email+">")
		}
	}
	field(kind, strings.Join(names, ", "))
	field(kind+"-email", strings.Join(addresses, ", "))
}

// entryPoints returns the file entry_points.txt, nil without any.
func (p *project) entryPoints() []byte {
	groups := map[string]map[string]string{"console_scripts": p.Scripts, "gui_scripts": p.GUI}
	maps.Copy(groups, p.EntryPoints)
	var b bytes.Buffer
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		for i, name := range slices.Sorted(maps.Keys(groups[group])) {
			if i == 0 {
				fmt.Fprintf(&b, "[%s]\n", group)
			}
			fmt.Fprintf(&b, "%s = %s\n", name, groups[group][name])
		}
	}
	return b.Bytes()
}

// early matches pre-release words of semantic versions that have an equivalent in PEP 440.
var early = regexp.MustCompile(`^(alpha|beta|rc)\.?(\d+)$`)

// pythonVersion returns a version in the form of PEP 440: 0.2.0-rc.1 becomes 0.2.0rc1, and any other pre-release, such as 0.2.0-dev.HASH, becomes
// 0.2.0.dev0+HASH, which sorts before 0.2.0.
func pythonVersion(version string) string {
	number, rest, _ := strings.Cut(version, "-")
	if rest == "" {
		return number
	}
	if m := early.FindStringSubmatch(rest); m != nil {
		return number + map[string]string{"alpha": "a", "beta": "b", "rc": "rc"}[m[1]] + m[2]
	}
	local := strings.ToLower(strings.NewReplacer("-", ".", "_", ".", "+", ".").Replace(strings.TrimPrefix(rest, "dev.")))
	if local == "dev" {
		return number + ".dev0"
	}
	return number + ".dev0+" + local
}
