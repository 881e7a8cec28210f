package release

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/licensecheck"
	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdx/v2/v2_3"
)

// A module is a Go module that is linked into the program.
type module struct {
	path, version string
	dir           string   // the directory of its files
	legal         []string // the names of its licences and notices in dir
	licence       string   // an SPDX expression
}

// modulesOf returns the modules of a Go program, the standard library first, from the build information that the compiler has recorded in the
// program. Their licences are those in the module cache from which the program was built.
func modulesOf(ctx context.Context, root string, program []byte) ([]module, error) {
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return nil, fmt.Errorf("modules of the program: %w", err)
	}
	goroot, err := output(ctx, root, nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	dirs, err := moduleDirs(ctx, root)
	if err != nil {
		return nil, err
	}
	all := []module{{path: "stdlib", version: strings.TrimPrefix(info.GoVersion, "go"), dir: strings.TrimSpace(goroot)}}
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		all = append(all, module{path: d.Path, version: d.Version, dir: dirs[d.Path+"@"+d.Version]})
	}
	for i := range all {
		if err := all[i].readLicences(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// moduleDirs returns the directories of all modules that the program's module requires, by path and version.
func moduleDirs(ctx context.Context, root string) (map[string]string, error) {
	list, err := output(ctx, root, nil, "go", "list", "-m", "-json=Path,Version,Dir", "all")
	if err != nil {
		return nil, err
	}
	dirs := map[string]string{}
	for d := json.NewDecoder(strings.NewReader(list)); d.More(); {
		var m struct{ Path, Version, Dir string }
		if err := d.Decode(&m); err != nil {
			return nil, err
		}
		dirs[m.Path+"@"+m.Version] = m.Dir
	}
	return dirs, nil
}

// ownLicence returns the licence of the program: that of LICENSE, which scripts/set-licence writes, or NOASSERTION without that file.
func ownLicence(root string) (string, error) {
	m := module{path: "bulkload", dir: root}
	if _, err := os.Stat(filepath.Join(root, "LICENSE")); errors.Is(err, fs.ErrNotExist) {
		return "NOASSERTION", nil
	}
	err := m.readLicences()
	return m.licence, err
}

// legalName matches the names of files with licences and notices.
var legalName = regexp.MustCompile(`(?i)^(licen[cs]e|unlicense|copying|notice|patents|authors)([-.].*)?$`)

// patentGrant is licensecheck's name of a grant that accompanies a licence and has no SPDX identifier.
const patentGrant = "GooglePatentsFile"

// withoutLicence is a module without a licence file. Arrow, which is published under Apache-2.0, requires it for checks of integers. Its
// SPDX licence is NOASSERTION. Any other module without a licence file fails the release.
const withoutLicence = "github.com/JohnCGriffin/overflow"

// readLicences finds the licence files of a module and identifies the licences. A module without a known licence is an error, because a program
// that contains it may not be distributed.
func (m *module) readLicences() error {
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		return fmt.Errorf("licence of %s %s: %w", m.path, m.version, err)
	}
	var found []string
	for _, e := range entries {
		if e.Type()&fs.ModeType != 0 || !legalName.MatchString(e.Name()) {
			continue
		}
		m.legal = append(m.legal, e.Name())
		b, err := os.ReadFile(filepath.Join(m.dir, e.Name()))
		if err != nil {
			return err
		}
		for _, match := range licensecheck.Scan(b).Match {
			if !match.IsURL && match.ID != patentGrant && !slices.Contains(found, match.ID) {
				found = append(found, match.ID)
			}
		}
	}
	if len(found) == 0 && m.path == withoutLicence {
		m.licence = "NOASSERTION"
		return nil
	}
	if len(found) == 0 {
		return fmt.Errorf("module %s %s has no licence that is known: its files are in %s", m.path, m.version, m.dir)
	}
	slices.Sort(found)
	m.licence = strings.Join(found, " AND ")
	return nil
}

// noticesOf returns the texts of all licences and notices, module by module.
func noticesOf(modules []module) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("bulkload contains the Go modules below. Each is under the licence that follows its name.\n")
	for _, m := range modules {
		fmt.Fprintf(&b, "\n%s\n%s %s (%s)\n", strings.Repeat("=", 80), m.path, m.version, m.licence)
		for _, name := range m.legal {
			text, err := os.ReadFile(filepath.Join(m.dir, name))
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&b, "%s\n%s:\n\n%s\n", strings.Repeat("-", 80), name, bytes.TrimSpace(text))
		}
	}
	return b.Bytes(), nil
}

// billOf returns the bill of materials, an SPDX 2.3 document in JSON.
func billOf(modules []module, version, licence string, at time.Time) ([]byte, error) {
	const program = common.ElementID("Package-bulkload")
	doc := &v2_3.Document{
		SPDXVersion: v2_3.Version, DataLicense: v2_3.DataLicense, SPDXIdentifier: "DOCUMENT",
		DocumentName:      "bulkload-" + version,
		DocumentNamespace: "https://spdx.org/spdxdocs/bulkload-" + version,
		CreationInfo:      &v2_3.CreationInfo{Created: at.Format(time.RFC3339), Creators: []common.Creator{{CreatorType: "Tool", Creator: "bulkload-release"}}},
		Packages: []*v2_3.Package{{PackageName: "bulkload", PackageSPDXIdentifier: program, PackageVersion: version, PackageDownloadLocation: "NOASSERTION",
			PackageLicenseConcluded: "NOASSERTION", PackageLicenseDeclared: licence, PackageCopyrightText: "NOASSERTION", PrimaryPackagePurpose: "APPLICATION"}},
		Relationships: []*v2_3.Relationship{{RefA: common.MakeDocElementID("", "DOCUMENT"), RefB: common.MakeDocElementID("", string(program)), Relationship: "DESCRIBES"}},
	}
	for i, m := range modules {
		id := common.ElementID(fmt.Sprintf("Package-%d", i+1))
		doc.Packages = append(doc.Packages, &v2_3.Package{PackageName: m.path, PackageSPDXIdentifier: id, PackageVersion: m.version, PackageDownloadLocation: "NOASSERTION",
			PackageLicenseConcluded: "NOASSERTION", PackageLicenseDeclared: m.licence, PackageCopyrightText: "NOASSERTION", PrimaryPackagePurpose: "LIBRARY",
			PackageExternalReferences: []*v2_3.PackageExternalReference{{Category: "PACKAGE-MANAGER", RefType: "purl", Locator: "pkg:golang/" + m.path + "@" + m.version}}})
		doc.Relationships = append(doc.Relationships, &v2_3.Relationship{
			RefA: common.MakeDocElementID("", string(program)), RefB: common.MakeDocElementID("", string(id)), Relationship: "CONTAINS"})
	}
	var b bytes.Buffer
	err := spdxjson.Write(doc, &b, spdxjson.Indent("  "))
	return b.Bytes(), err
}
