package manifests

import (
	"bytes"
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
)

// stages reads the Dockerfile as BuildKit does.
func stages(t *testing.T) []instructions.Stage {
	t.Helper()
	b, err := os.ReadFile(root + "/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	r, err := parser.Parse(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range r.Warnings {
		t.Errorf("line %v: %s", w.Location, w.Short)
	}
	s, _, err := instructions.Parse(r.AST, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestDockerfile sees that the image is made from nothing, for a user without rights.
func TestDockerfile(t *testing.T) {
	all := stages(t)
	last := all[len(all)-1]
	if last.BaseName != "scratch" {
		t.Errorf("the image is made from %s", last.BaseName)
	}
	user, entry, ran := "", []string(nil), false
	for _, c := range last.Commands {
		switch c := c.(type) {
		case *instructions.UserCommand:
			user = c.User
		case *instructions.EntrypointCommand:
			entry = c.CmdLine
			if c.PrependShell {
				t.Error("the entry point needs a shell, which the image does not have")
			}
		case *instructions.RunCommand:
			ran = true
		}
	}
	job := find[*batch.Job](t, objects(t, "job.yaml"))[0]
	if user != "65532:65532" || *job.Spec.Template.Spec.SecurityContext.RunAsUser != 65532 {
		t.Errorf("user %s in the image", user)
	}
	if len(entry) != 1 || entry[0] != "/usr/local/bin/bulkload" || ran {
		t.Errorf("entry point %q; runs commands in an image without a shell: %v", entry, ran)
	}
}

// buildLine is the Dockerfile's line that builds the program, writing below out instead of /out.
func buildLine(t *testing.T, out string) string {
	t.Helper()
	for _, c := range stages(t)[0].Commands {
		if run, ok := c.(*instructions.RunCommand); ok && strings.Contains(strings.Join(run.CmdLine, " "), "go build") {
			return strings.ReplaceAll(strings.Join(run.CmdLine, " "), "/out/", out+"/")
		}
	}
	t.Fatal("the Dockerfile builds no program")
	return ""
}

// TestImage builds the program as the Dockerfile says, and runs it where the image's root directory would be: nothing
// is in there but what the Dockerfile puts there, and the configuration that the manifest mounts.
func TestImage(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	image := t.TempDir()
	build := exec.CommandContext(t.Context(), "sh", "-ec", buildLine(t, image))
	build.Dir, build.Env = root, append(os.Environ(), "VERSION=1.2.3")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	program := filepath.Join(image, "usr/local/bin/bulkload")
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	libs, err := f.ImportedLibraries()
	if err != nil || len(libs) > 0 || f.Section(".interp") != nil {
		t.Errorf("not static: %v %v", libs, err)
	}
	if info, err := os.Stat(program); err == nil {
		t.Logf("%.1f MiB", float64(info.Size())/(1<<20))
	}

	// The flags of the manifests are the program's: it complains of the job file, which is not here.
	for _, args := range [][]string{
		find[*batch.Job](t, objects(t, "job.yaml"))[0].Spec.Template.Spec.Containers[0].Args,
		find[*batch.CronJob](t, objects(t, "cronjob.yaml"))[0].Spec.JobTemplate.Spec.Template.Spec.Containers[0].Args,
	} {
		out, _ := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
		if !strings.Contains(string(out), "/etc/bulkload/check.yaml: no such file") {
			t.Errorf("%q: %s", args, out)
		}
	}

	if os.Getuid() != 0 {
		t.Skip("needs root, to change the root directory")
	}
	for _, dir := range []string{"tmp", "etc/bulkload", "exports", "out"} {
		if err := os.MkdirAll(filepath.Join(image, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chmod(filepath.Join(image, "tmp"), 0o777|os.ModeSticky), os.Chown(filepath.Join(image, "out"), 65532, 65532)); err != nil {
		t.Fatal(err)
	}
	for _, c := range find[*core.ConfigMap](t, objects(t, "config.yaml")) {
		if text, ok := c.Data["check.yaml"]; ok {
			if err := os.WriteFile(filepath.Join(image, "etc/bulkload/check.yaml"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	export, err := os.ReadFile(root + "/testdata/exports/check.dump")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(image, "exports/check.dump"), export, 0o644); err != nil {
		t.Fatal(err)
	}
	inside := func(args ...string) string {
		t.Helper()
		cmd := &exec.Cmd{Path: "/usr/local/bin/bulkload", Args: append([]string{"bulkload"}, args...), Dir: "/", Env: []string{"HADOOP_USER_NAME=tina"}}
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: image, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
		return string(out)
	}
	if out := inside("version"); !strings.Contains(out, "1.2.3") {
		t.Errorf("version %s", out)
	}
	out := inside("build", "--quiet", "--output=json", "--job=/etc/bulkload/check.yaml", "--input=/exports/check.dump", "--out=/out/files", "--splits=1,2,3,4,5,6,7,8,9")
	if files, err := filepath.Glob(filepath.Join(image, "out/files/f/*")); err != nil || len(files) != 10 {
		t.Errorf("built %q: %s", files, out)
	}
}
