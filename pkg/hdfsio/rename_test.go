package hdfsio

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"bulkload/internal/test/testcheck"
)

// TestRenameNew checks that the atomic rename has the same results as the fallback.
func TestRenameNew(t *testing.T) {
	for _, kind := range []string{"file", "directory", "missing"} {
		for _, target := range []string{"", "file", "directory"} {
			dir := t.TempDir()
			from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
			for name, is := range map[string]string{from: kind, to: target} {
				switch is {
				case "file":
					testcheck.Must(t, os.WriteFile(name, []byte(name), 0o600))
				case "directory":
					testcheck.Must(t, os.Mkdir(name, 0o700))
				}
			}
			var want error
			switch {
			case kind == "missing" && target == "":
				want = fs.ErrNotExist
			case target != "":
				want = fs.ErrExist
			}
			err := rename(from, to)
			if want == nil && err != nil || want != nil && !errors.Is(err, want) && !(kind == "missing" && errors.Is(err, fs.ErrNotExist)) {
				t.Errorf("%s to a name that is a %q: %v, want %v", kind, target, err, want)
			}
			if _, err := os.Lstat(to); want == nil && err != nil {
				t.Error(err)
			}
		}
	}
}
