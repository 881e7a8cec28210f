package release

import (
	"bytes"
	"embed"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// packaging contains the scripts of installation and removal, and the files that only packages have.
//
//go:embed packaging
var packaging embed.FS

// units lists the units of examples/systemd that a package installs.
var units = []string{"bulkload@.service", "bulkload@.timer", "bulkload-serve.service", "bulkload-serve.socket"}

// pack makes a package, of kind deb or rpm, from the files of an archive.
func (m *maker) pack(kind, arch string, archive []File) (name string, data []byte, err error) {
	dir, err := os.MkdirTemp(m.tmp, kind)
	if err != nil {
		return "", nil, err
	}
	tree := &tree{maker: m, dir: dir}
	for _, f := range archive {
		if err := tree.place(kind, f); err != nil {
			return "", nil, err
		}
	}
	if err := tree.extras(); err != nil {
		return "", nil, err
	}
	script := func(name string) string { return filepath.Join(dir, "scripts", name) }
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "bulkload", Arch: arch, Platform: "linux", Version: m.Version, Section: "admin", Priority: "optional", MTime: m.Date, DisableGlobbing: true, License: m.licence,
		Maintainer:  "The authors of bulkload", // the owner's to name
		Description: "Bulk loader for Apache HBase\nFills HBase tables from exports without Spark or MapReduce: it builds row keys, sorts rows by region, writes HFiles, loads and verifies them.",
		Overridables: nfpm.Overridables{
			Contents: tree.contents,
			Depends:  map[string][]string{"deb": {"passwd"}, "rpm": {"/usr/sbin/useradd"}}[kind], // the scripts create a user
			Scripts:  nfpm.Scripts{PostInstall: script("postinstall.sh"), PreRemove: script("preremove.sh"), PostRemove: script("postremove.sh")},
			RPM:      nfpm.RPM{Summary: "Bulk loader for Apache HBase", BuildHost: "localhost", Group: "Applications/Databases", Packager: "The authors of bulkload"},
		},
	})
	if err := nfpm.PrepareForPackager(info, kind); err != nil {
		return "", nil, err
	}
	p, err := nfpm.Get(kind)
	if err != nil {
		return "", nil, err
	}
	var b bytes.Buffer
	if err := p.Package(info, &b); err != nil {
		return "", nil, err
	}
	return p.ConventionalFileName(info), b.Bytes(), nil
}

// A tree holds the files of a package, copied below a directory from which nfpm reads them.
type tree struct {
	*maker
	dir      string
	contents files.Contents
}

// add adds a file of the package. kind is a type of nfpm, such as config.
func (t *tree) add(to string, data []byte, mode fs.FileMode, kind string) error {
	from := filepath.Join(t.dir, "files", filepath.FromSlash(to))
	if err := os.MkdirAll(filepath.Dir(from), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(from, data, mode); err != nil {
		return err
	}
	t.contents = append(t.contents, &files.Content{Source: from, Destination: to, Type: kind, FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: t.Date}})
	return nil
}

// place adds a file of the archive, at the usual path of systems with this kind of package.
func (t *tree) place(kind string, f File) error {
	const doc = "/usr/share/doc/bulkload/"
	base := path.Base(f.Name)
	switch {
	case f.Name == "bulkload":
		return t.add("/usr/bin/bulkload", f.Data, 0o755, files.TypeFile)
	case strings.HasPrefix(f.Name, "man/"):
		data, err := packed(f.Data)
		if err != nil {
			return err
		}
		return t.add("/usr/share/man/man1/"+base+".gz", data, 0o644, files.TypeFile)
	case base == "bulkload.bash":
		return t.add("/usr/share/bash-completion/completions/bulkload", f.Data, 0o644, files.TypeFile)
	case base == "bulkload.fish":
		return t.add("/usr/share/fish/vendor_completions.d/bulkload.fish", f.Data, 0o644, files.TypeFile)
	case base == "_bulkload":
		dir := map[string]string{"deb": "vendor-completions", "rpm": "site-functions"}[kind]
		return t.add("/usr/share/zsh/"+dir+"/_bulkload", f.Data, 0o644, files.TypeFile)
	}
	mode := fs.FileMode(0o644)
	if f.Executable {
		mode = 0o755
	}
	if dir, name := path.Split(f.Name); dir == "examples/systemd/" {
		for _, unit := range units {
			if name == unit {
				data := bytes.ReplaceAll(f.Data, []byte("/usr/local/bin/"), []byte("/usr/bin/"))
				if err := t.add("/usr/lib/systemd/system/"+unit, data, mode, files.TypeFile); err != nil {
					return err
				}
			}
		}
	}
	return t.add(doc+f.Name, f.Data, mode, files.TypeFile)
}

// extras adds the files that only packages have, and writes the scripts.
func (t *tree) extras() error {
	read := func(name string) []byte {
		b, err := packaging.ReadFile("packaging/" + name)
		if err != nil {
			panic(err) // embedded files cannot be missing
		}
		return b
	}
	t.contents = append(t.contents, &files.Content{Destination: "/etc/bulkload/jobs", Type: files.TypeDir,
		FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: 0o755, MTime: t.Date}})
	if err := t.add("/etc/bulkload/environment", read("environment"), 0o644, files.TypeConfigNoReplace); err != nil {
		return err
	}
	if err := t.add("/usr/lib/sysusers.d/bulkload.conf", read("sysusers.conf"), 0o644, files.TypeFile); err != nil {
		return err
	}
	scripts := filepath.Join(t.dir, "scripts")
	if err := os.Mkdir(scripts, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"postinstall.sh", "preremove.sh", "postremove.sh"} {
		if err := os.WriteFile(filepath.Join(scripts, name), read(name), 0o755); err != nil {
			return err
		}
	}
	return nil
}
