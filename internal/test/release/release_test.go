package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/reference"
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

func TestModules(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Modules(program, "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	var bom struct {
		Format     string      `json:"bomFormat"`
		Components []component `json:"components"`
	}
	if err := json.Unmarshal(b, &bom); err != nil || bom.Format != "CycloneDX" || len(bom.Components) == 0 || bom.Components[0].Name != "stdlib" {
		t.Errorf("%v %s", err, b)
	}
	if _, err := Modules([]byte("no program"), "1"); err == nil {
		t.Error("a text file has modules")
	}
}

// TestRelease makes the archive of this platform twice, from two clones of one commit, and uses one as its user would. The commit has what
// the checkout has not committed: other tests, and people, may write to the checkout while this one runs.
func TestRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program, which -short leaves out")
	}
	root, err := filepath.Abs("../../..")
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
	o := Options{Root: one, Out: t.TempDir(), Version: "1.2.3", Platforms: []string{runtime.GOOS + "/" + runtime.GOARCH}}
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
	for _, name := range append(names, "SHA256SUMS") {
		if !bytes.Equal(read(t, filepath.Join(first, name)), read(t, filepath.Join(o.Out, name))) {
			t.Errorf("%s differs from build to build", name)
		}
	}
	archive := filepath.Join(first, names[0])
	if sums := string(read(t, filepath.Join(first, "SHA256SUMS"))); sums != sumLine(names[0], read(t, archive)) {
		t.Errorf("SHA256SUMS is %q", sums)
	}
	useArchive(t, unpack(t, archive, t.TempDir()))
}

// commitChanges commits in a clone what the checkout has not committed, if anything.
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

// useArchive does in an unpacked archive what its user does first.
func useArchive(t *testing.T, dir string) {
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
	if out := run("version"); !strings.HasPrefix(out, "bulkload 1.2.3") {
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
		"man/man1/bulkload.1", "man/man1/bulkload-run.1", "sbom.cdx.json"} {
		if len(read(t, filepath.Join(dir, name))) == 0 {
			t.Errorf("%s is empty", name)
		}
	}
	if bom := string(read(t, filepath.Join(dir, "sbom.cdx.json"))); !strings.Contains(bom, "pkg:golang/github.com/spf13/cobra@v") || strings.Contains(bom, "md2man") {
		t.Errorf("the list of modules is not the program's: %s", bom)
	}
	broken, _, err := reference.BrokenLinks(dir)
	if err != nil || len(broken) > 0 {
		t.Errorf("links that lead nowhere in the archive: %v\n%s", err, strings.Join(broken, "\n"))
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

// unpack gives the directory that is in the archive.
func unpack(t *testing.T, archive, to string) string {
	z, err := gzip.NewReader(bytes.NewReader(read(t, archive)))
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(z)
	dir := ""
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return filepath.Join(to, dir)
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		dir, _, _ = strings.Cut(h.Name, "/")
		name := filepath.Join(to, filepath.FromSlash(h.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, b, h.FileInfo().Mode()); err != nil {
			t.Fatal(err)
		}
	}
}
