package job

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"bulkload/pkg/hdfsio"
)

// TestFilesAreSyncedWithTheirDirectories watches the system calls of a process that replaces a result and builds into new
// directories on the local disk.
func TestFilesAreSyncedWithTheirDirectories(t *testing.T) {
	if dir := os.Getenv("BULKLOAD_TEST_DURABLE"); dir != "" {
		if err := ReplaceFile(filepath.Join(dir, "result.json"), []byte("{}")); err != nil {
			t.Fatal(err)
		}
		if err := (hdfsio.Local{}).MkdirAll(t.Context(), filepath.Join(dir, "out", "f"), 0o755); err != nil {
			t.Fatal(err)
		}
		return
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("no strace: ", err)
	}
	dir := t.TempDir()
	trace := filepath.Join(t.TempDir(), "trace")
	cmd := exec.Command(strace, "-f", "-y", "-o", trace, "-e", "trace=fsync,rename,renameat,renameat2,mkdir,mkdirat", os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "BULKLOAD_TEST_DURABLE="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("strace does not work here: %v: %.500s", err, out)
	}
	b, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	q := regexp.QuoteMeta(dir)
	for what, want := range map[string]string{
		"the result":      `(?s)fsync\(\d+<` + q + `/result\.json.*rename[^\n]*` + q + `/result\.json"[^\n]*\n.*fsync\(\d+<` + q + `>`,
		"new directories": `(?s)mkdir[^\n]*` + q + `/out".*fsync\(\d+<` + q + `>.*mkdir[^\n]*` + q + `/out/f".*fsync\(\d+<` + q + `/out>`,
	} {
		if !regexp.MustCompile(want).Match(b) {
			t.Errorf("%s: not synced:\n%s", what, b)
		}
	}
}
