package hdfsio

import (
	"io/fs"
	"syscall"
	"testing"
)

// TestUmask checks the rights of new files by the texts that fs.permissions.umask-mode takes, and by the umask of the process.
func TestUmask(t *testing.T) {
	for text, want := range map[string]fs.FileMode{
		"": 0o644, "022": 0o644, "0022": 0o644, " 077 ": 0o600, "027": 0o640, "0": 0o666, "777": 0o600,
		"u=rwx,g=rx,o=": 0o640, "u=rwx,go=": 0o600, "a=rwx": 0o666, "g-w": 0o600, "private": 0o600,
	} {
		if got := Masked(&HDFS{options: HDFSOptions{Umask: parseUmask(text)}}, 0o666); got != want {
			t.Errorf("%q: %04o, want %04o", text, got, want)
		}
	}
	if got := Masked(&Memory{}, 0o777); got != 0o755 {
		t.Errorf("of no umask: %04o", got)
	}
	before := syscall.Umask(0o077)
	got := Masked(Local{}, 0o777)
	syscall.Umask(before)
	if got != 0o700 {
		t.Errorf("of the process: %04o", got)
	}
}
