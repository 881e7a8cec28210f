package journal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// MakeDir makes a directory of a job's state with its parents, for the user
// alone. Their names are on disk when it returns: a journal in a directory
// that a crash takes away is no journal.
func MakeDir(dir string) error {
	return makeDir(filepath.Clean(dir), syncDir)
}

func makeDir(dir string, sync func(dir string) error) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, os.MkdirAll(dir, 0o700)) // which says what is wrong with it
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := makeDir(parent, sync); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return sync(parent)
}
