package rejects

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"bulkload/pkg/setting"
)

// ErrPath is wrapped by errors about a path that cannot be a job's reject file.
var ErrPath = errors.New("it cannot be this file")

// Check checks before a job begins that the file can be written: its directory must exist, and an existing file of this name
// must be empty or an earlier reject file, and must not be an input according to notInput.
func (f *File) Check(notInput func(info fs.FileInfo) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(filepath.Dir(f.path))
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", filepath.Dir(f.path))
	}
	if err == nil {
		f.target, err = f.replaceable(f.path)
	}
	if err == nil {
		if info, e := os.Stat(f.path); e == nil {
			err = notInput(info)
		}
	}
	if err != nil {
		return f.fail(err)
	}
	return nil
}

// replaceable follows symbolic links and returns the path of the file if it may be replaced: it is missing, empty or an
// earlier reject file.
func (f *File) replaceable(path string) (string, error) {
	link, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	if err != nil {
		return "", err
	}
	if link.Mode()&fs.ModeSymlink != 0 {
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return "", fmt.Errorf("%w: it is a symbolic link: %w", ErrPath, err)
		}
		if link, err = os.Lstat(path); err != nil {
			return "", err
		}
	}
	if !link.Mode().IsRegular() {
		return "", setting.Errorf("%w: it is not a regular file (name another with %s)", ErrPath, f.name)
	}
	if link.Size() == 0 {
		return path, nil
	}
	old, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer old.Close()
	head := make([]byte, 64<<10)
	n, err := io.ReadFull(old, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", err
	}
	if !isRejects(head[:n]) {
		return "", setting.Errorf("%w: there is a file, and it is not a reject file of an earlier run (name another with %s, or remove it)", ErrPath, f.name)
	}
	return path, nil
}

// isRejects recognizes a reject file by its beginning. Reject files of earlier versions have no line with a form.
func isRejects(head []byte) bool {
	if bytes.HasPrefix(head, []byte(Magic)) {
		return true
	}
	return bytes.HasPrefix(head, []byte(`{"path":"`)) && bytes.Contains(head, []byte(`,"offset":`)) && bytes.Contains(head, []byte(`,"record":`))
}
