package release

import (
	"archive/tar"
	"bytes"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdxlib"
)

// released is the directory of a release.
type released struct {
	dir     string
	names   []string
	version string
}

// file returns the path of the only file whose name has this suffix.
func (r *released) file(t *testing.T, end string) string {
	t.Helper()
	found := ""
	for _, name := range r.names {
		if strings.HasSuffix(name, end) {
			if found != "" {
				t.Fatalf("%s and %s end with %s", found, name, end)
			}
			found = name
		}
	}
	if found == "" {
		t.Fatalf("no file ends with %s: %q", end, r.names)
	}
	return filepath.Join(r.dir, found)
}

// checkBill checks with SPDX's library that the bill of materials lists the modules of the program and no others.
func (r *released) checkBill(t *testing.T) {
	t.Helper()
	doc, err := spdxjson.Read(bytes.NewReader(read(t, r.file(t, ".spdx.json"))))
	if err != nil {
		t.Fatal(err)
	}
	if err := spdxlib.ValidateDocument(doc); err != nil {
		t.Error(err)
	}
	names := map[string]string{}
	for _, p := range doc.Packages {
		names[p.PackageName] = p.PackageLicenseDeclared
	}
	if names["github.com/spf13/cobra"] != "Apache-2.0" || names["stdlib"] != "BSD-3-Clause" || names["github.com/cpuguy83/go-md2man/v2"] != "" {
		t.Errorf("the bill has %v", names)
	}
}

// ofPackages are files that each package contains.
var ofPackages = []string{"/usr/bin/bulkload", "/usr/lib/systemd/system/bulkload@.service", "/usr/lib/systemd/system/bulkload@.timer", "/usr/lib/systemd/system/bulkload-serve.socket",
	"/usr/lib/sysusers.d/bulkload.conf", "/etc/bulkload/environment", "/usr/share/man/man1/bulkload-run.1.gz", "/usr/share/bash-completion/completions/bulkload",
	"/usr/share/doc/bulkload/examples/check.yaml", "/usr/share/doc/bulkload/THIRD-PARTY-NOTICES"}

// checkPackages checks the contents of the packages with dpkg and rpm, if they are installed.
func (r *released) checkPackages(t *testing.T) {
	t.Helper()
	for _, c := range []struct {
		end  string
		list []string
		line string // the line of a file; %s is its name
	}{
		{".deb", []string{"dpkg-deb", "-c"}, `(?m)^-\S+ root/root .* \.%s$`},
		{".rpm", []string{"rpm", "-qlvp"}, `(?m)^-\S+ .* root +root .* %s$`},
	} {
		if _, err := exec.LookPath(c.list[0]); err != nil {
			t.Logf("%s is not installed", c.list[0])
			continue
		}
		out, err := exec.CommandContext(t.Context(), c.list[0], append(c.list[1:], r.file(t, c.end))...).CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", c.list, err, out)
		}
		for _, name := range ofPackages {
			if !regexp.MustCompile(strings.ReplaceAll(c.line, "%s", regexp.QuoteMeta(name))).Match(out) {
				t.Errorf("%s lacks %s", c.end, name)
			}
		}
	}
}

// checkImage checks that the image has the program of the archive, and certificates.
func (r *released) checkImage(t *testing.T) {
	t.Helper()
	root := t.TempDir()
	r.unpackImage(t, root)
	archive := unpack(t, r.file(t, ".tar.gz"), t.TempDir())
	if !bytes.Equal(read(t, filepath.Join(root, "usr/local/bin/bulkload")), read(t, filepath.Join(archive, "bulkload"))) {
		t.Error("the image has another program than the archive")
	}
	if n := bytes.Count(read(t, filepath.Join(root, "etc/ssl/certs/ca-certificates.crt")), []byte("BEGIN CERTIFICATE")); n < 50 {
		t.Errorf("the image has %d certificates", n)
	}
}

// unpackImage writes the image's file system below root.
func (r *released) unpackImage(t *testing.T, root string) {
	t.Helper()
	dir := t.TempDir()
	extract(t, bytes.NewReader(read(t, r.file(t, ".oci.tar"))), dir)
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("%v %+v", err, manifest)
	}
	image, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil || config.Config.User != "65532:65532" || config.Architecture == "" {
		t.Fatalf("%v %+v", err, config)
	}
	content := mutate.Extract(image)
	defer content.Close()
	extract(t, content, root)
}

// extract writes the entries of a tar file below a directory, with their modes, and with their owners if the test has
// the right to set them.
func extract(t *testing.T, content io.Reader, dir string) {
	t.Helper()
	entries := tar.NewReader(content)
	for {
		h, err := entries.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := place(filepath.Join(dir, filepath.FromSlash(h.Name)), h, entries); err != nil {
			t.Fatal(err)
		}
	}
}
