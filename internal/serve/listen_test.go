package serve

import (
	"os"
	"path/filepath"
	"testing"
)

// TestListenSystemd checks that a socket is refused that systemd did not pass to this process.
func TestListenSystemd(t *testing.T) {
	for _, env := range [][2]string{{"", ""}, {"1", "1"}, {"", "1"}} {
		t.Setenv("LISTEN_PID", env[0])
		t.Setenv("LISTEN_FDS", env[1])
		if _, err := Listen(t.Context(), socketActivation); err == nil {
			t.Errorf("%q: a socket is taken", env)
		}
	}
	if _, err := Listen(t.Context(), "8091"); err == nil {
		t.Error("a port alone is taken")
	}
}

// TestAuditFile checks that the file is reopened after its name was given to another file.
func TestAuditFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit")
	a, err := OpenAudit(path)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	write := func(s string) {
		if _, err := a.Write([]byte(s)); err != nil {
			t.Fatal(err)
		}
	}
	write("1\n")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	write("2\n")
	if err := a.Reopen(); err != nil {
		t.Fatal(err)
	}
	write("3\n")
	for name, want := range map[string]string{path: "3\n", path + ".1": "1\n2\n"} {
		if b, err := os.ReadFile(name); err != nil || string(b) != want {
			t.Errorf("%s: %q %v", name, b, err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}
