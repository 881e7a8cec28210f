package release

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestPythonVersion(t *testing.T) {
	for version, want := range map[string]string{"0.1.0": "0.1.0", "1.2.3-rc.1": "1.2.3rc1", "1.2.3-beta2": "1.2.3b2", "1.2.3-alpha.0": "1.2.3a0",
		"0.1.0-dev.90d9c695aB12": "0.1.0.dev0+90d9c695ab12", "0.1.0-dev": "0.1.0.dev0", "1.2.3-try": "1.2.3.dev0+try", "0.1.0-try.1": "0.1.0.dev0+try.1", "1.0.0-x_y-z": "1.0.0.dev0+x.y.z"} {
		if got := pythonVersion(version); got != want {
			t.Errorf("%s is %s, want %s", version, got, want)
		}
	}
}

const pyprojectText = `
[project]
name = "apache-Thing_x"
version = "9"
description = "Does things"
readme = "README.md"
license = {text = "its own"}
requires-python = ">=3.9"
authors = [{name = "A"}, {name = "B", email = "b@example.org"}, {email = "c@example.org"}]
keywords = ["x", "y"]
classifiers = ["Typing :: Typed"]
dependencies = ["bulkload>=0.1.0"]
optional-dependencies.more = ["pandas", "polars>=1; python_version > '3.10'"]
urls.Source = "https://example.org"
scripts.thing = "thing:main"
[project.entry-points.apache_airflow_provider]
provider_info = "thing:info"
[build-system]
requires = ["x"]
`

// TestMetadata checks that a wheel has the metadata of pyproject.toml, and that unsupported fields are errors.
func TestMetadata(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("pyproject.toml", pyprojectText)
	write("README.md", "# Thing\n")
	p, err := readProject(dir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.metadata(dir, "1.0", "", []string{"NOTICE"})
	if err != nil {
		t.Fatal(err)
	}
	if want := `Metadata-Version: 2.4
Name: apache-Thing_x
Version: 1.0
Summary: Does things
Keywords: x,y
Author: A
Author-email: B <b@example.org>, c@example.org
License: its own
License-File: NOTICE
Classifier: Typing :: Typed
Project-URL: Source, https://example.org
Requires-Python: >=3.9
Requires-Dist: bulkload>=0.1.0
Provides-Extra: more
Requires-Dist: pandas; extra == "more"
Requires-Dist: polars>=1; (python_version > '3.10') and extra == "more"
Description-Content-Type: text/markdown

# Thing
`; string(got) != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got, want := string(p.entryPoints()), "[apache_airflow_provider]\nprovider_info = thing:info\n[console_scripts]\nthing = thing:main\n"; got != want {
		t.Errorf("entry points %q, want %q", got, want)
	}
	if got, err := p.metadata(dir, "1.0", "Apache-2.0", nil); err != nil || !strings.Contains(string(got), "\nLicense-Expression: Apache-2.0\nClassifier") {
		t.Errorf("with a licence: %v\n%s", err, got)
	}
	for _, bad := range []string{"", "[project]\nversion = '1'", "[project]\nname = 'x'\ndynamic = ['version']", "[project]\nname = 'x'\nimport-names = ['x']", "[project"} {
		write("pyproject.toml", bad)
		if _, err := readProject(dir); err == nil {
			t.Errorf("%q is a project", bad)
		}
	}
}

// TestPureWheel checks that a wheel without the program has exactly the files below src that git knows, with the names of modules, and is independent
// of the platform.
func TestPureWheel(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{"pyproject.toml": pyprojectText, "README.md": "# Thing\n", "tests/test_thing.py": "", "src/thing/__init__.py": "x = 1\n", "src/thing/data/a.json": "{}"} {
		name = filepath.Join(root, "python", "a-thing", name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) {
		t.Helper()
		if _, err := output(t.Context(), root, nil, "git", args...); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q")
	git("add", "--all")
	at := time.Unix(1795268735, 0).UTC()
	m := &maker{Options: Options{Root: root, Out: t.TempDir(), Version: "1.0.0-rc.1", Date: at}, licence: "Apache-2.0", common: []File{{Name: "LICENSE", Data: []byte("text")}}}
	if err := os.WriteFile(filepath.Join(root, "python/a-thing/src/thing/unknown.py"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := m.pureWheels(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(m.names) != 1 || m.names[0] != "apache_thing_x-1.0.0rc1-py3-none-any.whl" {
		t.Fatalf("made %+v", m.names)
	}
	(&released{dir: m.Out, names: []string{m.names[0]}}).checkWheels(t, at)
	z, err := zip.OpenReader(filepath.Join(m.Out, m.names[0]))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var names []string
	for _, f := range z.File {
		names = append(names, strings.Replace(f.Name, "apache_thing_x-1.0.0rc1.dist-info", "INFO", 1))
	}
	if want := "thing/__init__.py thing/data/a.json INFO/METADATA INFO/WHEEL INFO/entry_points.txt INFO/licenses/LICENSE INFO/RECORD"; strings.Join(names, " ") != want {
		t.Errorf("the wheel has %q, want %q", names, want)
	}
}

// checkWheels checks that RECORD lists all files of each wheel with their checksums, as pip requires, and that no content depends on the time.
func (r *released) checkWheels(t *testing.T, at time.Time) {
	t.Helper()
	wheels := 0
	for _, name := range r.names {
		if !strings.HasSuffix(name, ".whl") {
			continue
		}
		wheels++
		z, err := zip.OpenReader(filepath.Join(r.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		var want bytes.Buffer
		for i, f := range z.File {
			content, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(content)
			if err != nil {
				t.Fatal(err)
			}
			if !f.Modified.Equal(at) {
				t.Errorf("%s: %s is of %s, want %s", name, f.Name, f.Modified, at)
			}
			if program := strings.Contains(f.Name, ".data/scripts/"); f.Mode().Perm()&0o100 != 0 != program {
				t.Errorf("%s: %s has mode %s", name, f.Name, f.Mode())
			}
			if i < len(z.File)-1 {
				sum := sha256.Sum256(b)
				fmt.Fprintf(&want, "%s,sha256=%s,%d\n", f.Name, base64.RawURLEncoding.EncodeToString(sum[:]), len(b))
				continue
			}
			fmt.Fprintf(&want, "%s,,\n", f.Name)
			if _, err := csv.NewReader(bytes.NewReader(b)).ReadAll(); err != nil || string(b) != want.String() {
				t.Errorf("%s: %v: RECORD is\n%swant\n%s", name, err, b, want.String())
			}
		}
	}
	if wheels == 0 || platformTags[runtime.GOOS+"/"+runtime.GOARCH] == nil {
		t.Errorf("%d wheels: %q", wheels, r.names)
	}
}
