package secured

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// spying returns the program with a net package that records all bytes that it reads and writes; see
// testdata/spy/spy.go.txt. So all connections of the program are recorded, whichever library dials.
func spying(t testing.TB) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.Abs(filepath.Join(root, "build", "secured", "_spy")) // no package of the module: go build ./... leaves it out
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	net := filepath.Join(strings.TrimSpace(string(out)), "src", "net")
	replace := map[string]string{filepath.Join(net, "spy.go"): filepath.Join(dir, "spy.go")}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("spy.go", read(t, filepath.Join("testdata", "spy", "spy.go.txt")))
	for _, change := range []struct {
		file     string
		old, new []string
	}{
		{"fd_posix.go", []string{"fd.pfd.Read(p)", "fd.pfd.Write(p)"}, []string{"fd.spyRead(p)", "fd.spyWrite(p)"}},
		{"writev_unix.go", []string{"fd.pfd.Writev((*[][]byte)(v))"}, []string{"fd.spyWritev((*[][]byte)(v))"}},
	} {
		name := filepath.Join(net, change.file)
		text := read(t, name)
		for i, old := range change.old {
			if strings.Count(text, old) != 1 {
				t.Fatalf("%s has %q not once: the spy does not know this version of Go", name, old)
			}
			text = strings.Replace(text, old, change.new[i], 1)
		}
		write(change.file, text)
		replace[name] = filepath.Join(dir, change.file)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	write("overlay.json", string(overlay))
	return build(t, "spying", "-tags", "stopafter", "-overlay", filepath.Join(dir, "overlay.json"))
}
