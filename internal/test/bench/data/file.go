package data

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteFile writes the rows of a spec into a file of dir, named by [Spec.FileName], and returns its path. It leaves an
// existing file unchanged. A file of that name is always complete.
func WriteFile(ctx context.Context, dir string, s Spec, f Form) (string, error) {
	name := filepath.Join(dir, s.FileName(f))
	if _, err := os.Stat(name); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return name, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	file, err := os.CreateTemp(dir, ".part-*")
	if err != nil {
		return "", err
	}
	err = Write(ctx, file, s, f)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("make %s: %w", name, err), os.Remove(file.Name()))
	}
	return name, nil
}
