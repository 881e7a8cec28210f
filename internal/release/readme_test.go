package release

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// readmeVersion returns the version in the names of README's section Install, and its commands: those in the right column of the table.
func readmeVersion(t *testing.T) (version string, commands []string) {
	t.Helper()
	_, section, _ := strings.Cut(string(read(t, "../../README.md")), "\n## Install\n")
	section, _, _ = strings.Cut(section, "\n## ")
	m := regexp.MustCompile("`make release VERSION=([^ `]+)`").FindStringSubmatch(section)
	if m == nil {
		t.Fatal("README's section Install does not say how a release is made")
	}
	span := regexp.MustCompile("`([^`]+)`")
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		for _, s := range span.FindAllStringSubmatch(line, -1) {
			if strings.Contains(s[1], " ") {
				commands = append(commands, s[1])
			}
		}
	}
	return m[1], commands
}

// installation runs a command of README in the directory of a release, and checks the installed program.
type installation func(t *testing.T, r *released, command string)

// installations returns the installations of README by the program that does them, as far as they need neither root nor a container engine.
func installations() map[string]installation {
	return map[string]installation{"pip": pipInstalls, "tar": tarUnpacks, "docker": imageHasTag, "skopeo": hasFiles, "helm": hasFiles, "dpkg": hasFiles, "rpm": hasFiles}
}

// runsReadme runs each command of README's section Install. A command without an installation, or an installation without a command, is an error.
func (r *released) runsReadme(t *testing.T, by map[string]installation) {
	if runtime.GOOS+"/"+runtime.GOARCH != "linux/amd64" {
		t.Log("README has the files of linux/amd64")
		return
	}
	_, commands := readmeVersion(t)
	left := map[string]bool{}
	for name := range by {
		left[name] = true
	}
	for _, command := range commands {
		name, _, _ := strings.Cut(command, " ")
		run := by[name]
		if run == nil {
			t.Errorf("README has %q, which no test runs", command)
			continue
		}
		delete(left, name)
		t.Run("README "+name, func(t *testing.T) {
			hasFiles(t, r, command)
			run(t, r, command)
		})
	}
	for name := range left {
		t.Errorf("README does not say how to install with %s", name)
	}
}

// hasFiles checks that the release has the files that the command names.
func hasFiles(t *testing.T, r *released, command string) {
	for _, name := range regexp.MustCompile(`bulkload[-_][0-9][^ ]*`).FindAllString(command, -1) {
		if !slices.Contains(r.names, name) {
			t.Errorf("the release has no %s: %q", name, r.names)
		}
	}
}

// shell runs a command of README in the directory of the release, with a directory of programs first in PATH.
func (r *released) shell(t *testing.T, programs, line string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-euc", line)
	cmd.Dir = r.dir
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "BULKLOAD_") }), "PATH="+programs+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// freshPython makes a virtual environment and returns the directory of its programs.
func freshPython(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3")
	}
	if err := exec.CommandContext(t.Context(), "python3", "-c", "import ensurepip").Run(); err != nil {
		t.Skip("python3 makes no virtual environments: install python3-venv")
	}
	venv := filepath.Join(t.TempDir(), "venv")
	if out, err := exec.CommandContext(t.Context(), "python3", "-m", "venv", venv).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(venv, "bin")
}

// pipInstalls checks that pip installs the program of the release on PATH, and a package that runs it and passes its tests.
func pipInstalls(t *testing.T, r *released, command string) {
	bin := freshPython(t)
	r.shell(t, bin, command)
	if out := r.shell(t, bin, "bulkload --version"); !strings.HasPrefix(out, "bulkload "+r.version+" ") {
		t.Errorf("version: %s", out)
	}
	archive := unpack(t, r.file(t, ".tar.gz"), t.TempDir())
	if !bytes.Equal(read(t, filepath.Join(bin, "bulkload")), read(t, filepath.Join(archive, "bulkload"))) {
		t.Error("pip installs another program than the archive has")
	}
	if out := r.shell(t, bin, "bulkload demo "+t.TempDir()+"/demo"); !strings.Contains(out, "HFile") {
		t.Errorf("demo: %s", out)
	}
	if out := r.shell(t, bin, `python -c 'import importlib.metadata as m; print(m.version("bulkload"))'`); strings.TrimSpace(out) != pythonVersion(r.version) {
		t.Errorf("the package has version %s", out)
	}
	testPython(t, bin)
	target := t.TempDir()
	r.shell(t, bin, command+" --target "+target+"; rm "+bin+"/bulkload")
	if out := r.shell(t, bin, "PYTHONPATH="+target+" python -c 'import bulkload; print(bulkload.find_bulkload_bin())'"); strings.TrimSpace(out) != target+"/bin/bulkload" {
		t.Errorf("installed into %s the package finds %s", target, out)
	}
}

// loadsByPython installs the package in a new Python with the libraries of data frames, and loads tables of the cluster that make test-release
// starts. Public checkers must accept its types and its wheel.
func (r *released) loadsByPython(t *testing.T) {
	if os.Getenv("HADOOP_CONF_DIR") == "" {
		t.Skip("make test-release starts a cluster")
	}
	bin := freshPython(t)
	r.shell(t, bin, "pip install --quiet --find-links . 'bulkload[pandas]' polars mypy twine check-wheel-contents")
	testPython(t, bin, "HADOOP_CONF_DIR="+os.Getenv("HADOOP_CONF_DIR"), "HBASE_CONF_DIR="+os.Getenv("HBASE_CONF_DIR"))
	top, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"mypy --strict --cache-dir " + t.TempDir() + " " + top + "/python/bulkload/src", "twine check --strict *.whl", "check-wheel-contents *.whl"} {
		t.Log(line + "\n" + r.shell(t, bin, line))
	}
}

// testPython runs the package's own tests with the installed package; the environment names the cluster, if any.
func testPython(t *testing.T, bin string, env ...string) {
	t.Helper()
	top, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "python"), top+"/python/bulkload/tests/test_bulkload.py", "-v")
	cmd.Dir = t.TempDir()
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "BULKLOAD_") || strings.HasPrefix(v, "HADOOP_") || strings.HasPrefix(v, "HBASE_")
	})
	cmd.Env = append(cmd.Env, append(env, "PATH="+bin+":"+os.Getenv("PATH"))...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("tests of the package: %v\n%s", err, out)
		return
	}
	t.Logf("%s", out)
}

func tarUnpacks(t *testing.T, r *released, command string) {
	dir := t.TempDir()
	name := strings.Fields(command)[len(strings.Fields(command))-1]
	r.shell(t, "/bin", command+" -C "+dir)
	if out := r.shell(t, "/bin", filepath.Join(dir, strings.TrimSuffix(name, ".tar.gz"), "bulkload")+" version"); !strings.HasPrefix(out, "bulkload "+r.version+" ") {
		t.Errorf("version: %s", out)
	}
}

// imageHasTag checks that docker would load the image under README's name, according to its manifest.json. If docker runs, it runs the command.
func imageHasTag(t *testing.T, r *released, command string) {
	dir := t.TempDir()
	extract(t, bytes.NewReader(read(t, r.file(t, "linux-amd64.oci.tar"))), dir)
	if manifest := string(read(t, filepath.Join(dir, "manifest.json"))); !strings.Contains(manifest, `"RepoTags":["bulkload:`+r.version+`"]`) {
		t.Errorf("manifest.json: %s", manifest)
	}
	if exec.CommandContext(t.Context(), "docker", "info").Run() == nil {
		r.shell(t, "/bin", command+"; docker image rm bulkload:"+r.version)
	}
}

// installationsAsRoot returns all installations; packages are installed in new root directories of Debian.
func installationsAsRoot() map[string]installation {
	by := installations()
	by["dpkg"] = func(t *testing.T, r *released, command string) {
		s := debian(t)
		s.bring(r.file(t, "_amd64.deb"))
		s.does("root", "sh", "-c", "cd /tmp && "+command)
		s.checkInstalled(r.version)
	}
	by["rpm"] = func(t *testing.T, r *released, command string) {
		s := debian(t) // rpm does not know its database, so dependencies are not checked
		r.shell(t, "/bin", strings.Replace(command, "rpm ", "rpm --root "+s.root+" --nodeps ", 1))
		s.checkInstalled(r.version)
	}
	by["skopeo"] = func(t *testing.T, r *released, command string) {
		if _, err := exec.LookPath("skopeo"); err != nil {
			t.Skip("there is no skopeo")
		}
		r.shell(t, "/bin", regexp.MustCompile(`docker://\S+`).ReplaceAllString(command, "dir:"+t.TempDir()))
	}
	return by
}
