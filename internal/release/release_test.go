package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestArchive(t *testing.T) {
	at := time.Unix(1795268735, 999)
	a, err := Archive("d", []File{{Name: "b", Data: []byte("2")}, {Name: "a", Data: []byte("1"), Executable: true}}, at)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Archive("d", []File{{Name: "a", Data: []byte("1"), Executable: true}, {Name: "b", Data: []byte("2")}}, at.In(time.FixedZone("x", 3600)))
	if err != nil || !bytes.Equal(a, b) {
		t.Errorf("the order of files or the time zone is seen in the archive: %v", err)
	}
	z, err := gzip.NewReader(bytes.NewReader(a))
	if err != nil {
		t.Fatal(err)
	}
	h, err := tar.NewReader(z).Next()
	if err != nil || h.Name != "d/a" || h.Mode != 0o755 || h.Uid != 0 || h.Uname != "" || h.ModTime.Unix() != at.Unix() {
		t.Errorf("%v %+v", err, h)
	}
	if _, err := Archive("d", []File{{Name: "a"}, {Name: "a"}}, at); err == nil {
		t.Error("a file may be in an archive twice")
	}
}

// TestModules checks that the first module of a program is the standard library, and that each module has a licence.
func TestModules(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program, which -short leaves out")
	}
	program := filepath.Join(t.TempDir(), "bulkload")
	built, err := Options{Root: "../..", Version: "1.2.3"}.build(t.Context(), runtime.GOOS+"/"+runtime.GOARCH, program)
	if err != nil {
		t.Fatal(err)
	}
	modules, err := modulesOf(t.Context(), "../..", built.Data)
	if err != nil {
		t.Fatal(err)
	}
	if modules[0].path != "stdlib" || modules[0].licence != "BSD-3-Clause" {
		t.Errorf("the first module is %+v", modules[0])
	}
	licences := map[string]string{}
	for _, m := range modules {
		licences[m.path] = m.licence
	}
	for path, want := range map[string]string{"github.com/spf13/cobra": "Apache-2.0", "github.com/colinmarc/hdfs/v2": "MIT", withoutLicence: "NOASSERTION"} {
		if licences[path] != want {
			t.Errorf("%s is under %q, want %q", path, licences[path], want)
		}
	}
	if _, err := modulesOf(t.Context(), "../..", []byte("no program")); err == nil {
		t.Error("a text file has modules")
	}
	if err := (&module{path: "example.org/x", dir: t.TempDir()}).readLicences(); err == nil {
		t.Error("a module without a licence is taken")
	}
}

func TestChangesOf(t *testing.T) {
	log := []byte("# Changelog\n\n## Unreleased\n\nnew\n\n## 0.1.0 - 2026-11-26\n\n### Added\n\nall\n\n## 0.0.9\n")
	for title, want := range map[string]string{"Unreleased": "## Unreleased\n\nnew\n", "0.1.0": "## 0.1.0 - 2026-11-26\n\n### Added\n\nall\n", "0.0.9": "## 0.0.9\n", "0.0": "", "1.0": ""} {
		got, ok := changesOf(log, title)
		if string(got) != want || ok != (want != "") {
			t.Errorf("%s: %q, want %q", title, got, want)
		}
	}
}

// TestRelease makes the files of this platform twice, from two clones of one commit, and uses one like a user. The commit includes the checkout's
// uncommitted changes: other tests and developers may change the checkout while this test runs.
func TestRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program, which -short leaves out")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := output(t.Context(), root, nil, "git", "rev-parse", "HEAD"); err != nil {
		t.Skip("not in a checkout: ", err)
	}
	one, other := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "other")
	git := func(dir string, args ...string) string {
		t.Helper()
		out, err := output(t.Context(), dir, nil, "git", args...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	git(root, "clone", "-q", root, one)
	commitChanges(t, git, root, one)
	git(one, "clone", "-q", one, other)
	version, _ := readmeVersion(t)
	o := Options{Root: one, Out: t.TempDir(), Version: version, Platforms: []string{runtime.GOOS + "/" + runtime.GOARCH}}
	names, err := Make(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	first := o.Out
	o.Root = other
	o.Out = t.TempDir()
	if _, err := Make(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !bytes.Equal(read(t, filepath.Join(first, name)), read(t, filepath.Join(o.Out, name))) {
			t.Errorf("%s differs from build to build", name)
		}
	}
	r := &released{dir: first, names: names, version: version}
	var sums strings.Builder
	for _, name := range names[:len(names)-1] {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(read(t, filepath.Join(first, name))), name)
	}
	if got := string(read(t, filepath.Join(first, "SHA256SUMS"))); got != sums.String() {
		t.Errorf("SHA256SUMS is %q, want %q", got, sums.String())
	}
	if notes := string(read(t, r.file(t, "CHANGES-"+version+".md"))); !strings.HasPrefix(notes, "## "+version) {
		t.Errorf("the changes begin with %.40q", notes)
	}
	dir := unpack(t, r.file(t, ".tar.gz"), t.TempDir())
	useArchive(t, dir, version)
	if os.Getenv("BULKLOAD_RELEASE") != "" {
		judgeChart(t, one, r.file(t, ".tgz"), version)
	}
	at, err := commitTime(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	r.checkBill(t)
	r.checkPackages(t)
	r.checkImage(t)
	r.checkWheels(t, at)
	r.runsReadme(t, installations())
}

// judgeChart checks the packed chart with Helm's own loader, in another module: compiling Helm takes longer than the rest of a release.
func judgeChart(t *testing.T, root, chart, version string) {
	t.Helper()
	judge := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-vet=off", "-run", "^TestPackaged$", ".")
	judge.Dir, judge.Env = filepath.Join(root, "internal/test/manifests"), append(os.Environ(), "BULKLOAD_CHART="+chart, "BULKLOAD_CHART_VERSION="+version)
	if out, err := judge.CombinedOutput(); err != nil {
		t.Errorf("the packed chart: %v\n%s", err, out)
	}
}

// commitChanges commits the uncommitted changes of the checkout in a clone, if there are any.
func commitChanges(t *testing.T, git func(dir string, args ...string) string, root, clone string) {
	t.Helper()
	list := git(root, "ls-files", "-z", "--modified", "--others", "--exclude-standard") + git(root, "diff", "--cached", "--name-only", "-z")
	for name := range strings.SplitSeq(strings.TrimRight(list, "\x00"), "\x00") {
		if name == "" {
			return
		}
		from, to := filepath.Join(root, name), filepath.Join(clone, name)
		info, err := os.Stat(from)
		if errors.Is(err, os.ErrNotExist) {
			if err := os.Remove(to); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, read(t, from), info.Mode()); err != nil {
			t.Fatal(err)
		}
	}
	git(clone, "add", "--all")
	git(clone, "-c", "user.name=test", "-c", "user.email=test@localhost", "commit", "-q", "--allow-empty", "-m", "as in the checkout")
}

// useArchive does the first steps of a user with an unpacked archive.
func useArchive(t *testing.T, dir, version string) {
	program := filepath.Join(dir, "bulkload")
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("bulkload %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	if out := run("version"); !strings.HasPrefix(out, "bulkload "+version+" ") {
		t.Errorf("version: %s", out)
	}
	out := run("build", "--log-level", "error", "--job", "examples/check.yaml", "--input", "testdata/exports/check.csv", "--out", "hfiles", "--splits", "1,2,3,4,5,6,7,8,9")
	if !strings.Contains(out, " in 10 HFiles of ") {
		t.Errorf("build: %s", out)
	}
	files, err := filepath.Glob(filepath.Join(dir, "hfiles", "f", "*"))
	if err != nil || len(files) != 10 {
		t.Fatalf("%v %v", err, files)
	}
	if out := run("hfile", "meta", files[0]); !strings.Contains(out, "FAST_DIFF") {
		t.Errorf("meta: %s", out)
	}
	for _, name := range []string{"README.md", "docs/commands.md", "completions/bulkload.bash", "completions/_bulkload", "completions/bulkload.fish",
		"man/man1/bulkload.1", "man/man1/bulkload-run.1", "sbom.spdx.json", "THIRD-PARTY-NOTICES"} {
		if len(read(t, filepath.Join(dir, name))) == 0 {
			t.Errorf("%s is empty", name)
		}
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// unpack unpacks an archive and returns its top directory.
func unpack(t *testing.T, archive, to string) string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(read(t, archive)))
	if err != nil {
		t.Fatal(err)
	}
	extract(t, z, to)
	return filepath.Join(to, strings.TrimSuffix(filepath.Base(archive), ".tar.gz"))
}

// place writes an entry of a tar file with its mode, and with its owner if the test has the right to set it.
func place(name string, h *tar.Header, content io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if h.Typeflag == tar.TypeDir {
		if err := os.MkdirAll(name, 0o755); err != nil {
			return err
		}
	} else {
		b, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		if err := os.WriteFile(name, b, 0o644); err != nil {
			return err
		}
	}
	if os.Getuid() == 0 {
		if err := os.Chown(name, h.Uid, h.Gid); err != nil {
			return err
		}
	}
	return os.Chmod(name, h.FileInfo().Mode())
}
