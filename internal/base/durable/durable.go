// Package durable creates files and directories that survive a crash of the
// machine: a file's bytes are on disk when the file is synced, its name when its
// directory is synced.
package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// SyncDir makes the names in a directory durable, if its file system supports
// that and the user may read the directory.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) {
		err = nil
	}
	return errors.Join(err, d.Close())
}

// MakeDirs creates a directory and its missing parents, each with mkdir, from
// the top. Their names are durable when it returns. If another process creates
// one of them meanwhile, that is not an error.
func MakeDirs(dir string, mkdir func(dir string) error) error {
	return makeDirs(filepath.Clean(dir), mkdir, SyncDir)
}

func makeDirs(dir string, mkdir, sync func(dir string) error) error {
	info, err := os.Stat(dir)
	switch {
	case err == nil && !info.IsDir():
		return &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := makeDirs(parent, mkdir, sync); err != nil {
			return err
		}
	}
	if err := mkdir(dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return sync(parent)
}

// MakePrivateDir is [MakeDirs] with permissions for the user only (0700).
func MakePrivateDir(dir string) error {
	return MakeDirs(dir, func(dir string) error { return os.Mkdir(dir, 0o700) })
}

// Target returns the name of the file that [Replace] replaces: the name itself, or
// where its symbolic links lead. It refuses all but regular files: a device, such as
// /dev/null, would be lost to all programs.
func Target(name string) (string, error) {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		if to, e := os.Readlink(name); e == nil {
			if !filepath.IsAbs(to) {
				to = filepath.Join(filepath.Dir(name), to)
			}
			return Target(to)
		}
		return name, nil
	}
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file: name another", name)
	}
	return filepath.EvalSymlinks(name)
}

// Replace writes a file under another name next to its [Target] and renames it, so
// that a reader sees the complete old or the complete new file, even after a crash.
// Only the owner may read and write it, regardless of the umask.
func Replace(name string, data []byte) error {
	name, err := Target(name)
	if err != nil {
		return err
	}
	return replace(name, data, (*os.File).Sync, SyncDir)
}

// ReplaceShared is [Replace] for a file that others may read, as far as the umask lets them.
func ReplaceShared(name string, data []byte) error {
	name, err := Target(name)
	if err != nil {
		return err
	}
	return write(name, data, 0o666, (*os.File).Sync, os.Rename, SyncDir)
}

// TempPattern returns the [os.CreateTemp] pattern of files that are written next to a file, before they have its name.
func TempPattern(name string) string { return "." + filepath.Base(name) + ".*" }

// Nameless creates a file of mode 0600 on the file system of a directory, and removes its name, so that a killed process leaves nothing. pattern has the
// meaning that it has in [os.CreateTemp].
func Nameless(dir, pattern string) (*os.File, error) {
	f, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// ReplaceBy is [Replace] for a file that a function writes. It does not follow symbolic links: see [Target]. The file has no name until it is complete,
// so that a killed process leaves nothing; where the file system has no such files, its other name is one of [TempPattern].
func ReplaceBy(name string, write func(*os.File) error) error {
	dir := filepath.Dir(name)
	f, err := createUnnamed(dir, filepath.Join(dir, strings.TrimSuffix(TempPattern(name), "*")+fmt.Sprint(rand.Uint32())))
	named := err != nil
	if named {
		f, err = os.CreateTemp(dir, TempPattern(name)) // mode 0600
	}
	if err != nil {
		return err
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	if err == nil && !named {
		err = link(f, f.Name())
		named = err == nil
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil && named {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	if err != nil {
		return err
	}
	return SyncDir(dir)
}

// Create is [ReplaceShared] for a file that must not exist, with permissions as far as the umask lets them.
func Create(name string, data []byte, mode os.FileMode) error {
	return write(name, data, mode, (*os.File).Sync, rename, SyncDir)
}

// OpenLines opens a file to append lines to, and returns what must come before them: a line feed, if the last line is incomplete.
func OpenLines(name string) (f *os.File, before string, err error) {
	if f, err = os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
		return nil, "", err
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return f, "", nil
	}
	if old, err := os.Open(name); err == nil { // else the user may not read it
		defer old.Close()
		var last [1]byte
		if n, _ := old.ReadAt(last[:], info.Size()-1); n == 1 && last[0] != '\n' {
			before = "\n"
		}
	}
	return f, before, nil
}

// rename renames a file to a name that must not exist.
func rename(from, to string) error {
	err := os.Link(from, to)
	if err == nil {
		return os.Remove(from)
	}
	if _, e := os.Lstat(to); !errors.Is(e, fs.ErrNotExist) {
		return &fs.PathError{Op: "create", Path: to, Err: syscall.EEXIST}
	}
	return os.Rename(from, to) // a file system without links
}

// ReplaceVolatile is [Replace] without protection against a crash of the machine: for files
// that are written every few seconds.
func ReplaceVolatile(name string, data []byte) error {
	return replace(name, data, func(*os.File) error { return nil }, func(string) error { return nil })
}

func replace(name string, data []byte, sync func(*os.File) error, syncDir func(dir string) error) error {
	return write(name, data, 0o600, sync, os.Rename, syncDir)
}

func write(name string, data []byte, mode os.FileMode, sync func(*os.File) error, rename func(from, to string) error, syncDir func(dir string) error) (err error) {
	f, err := os.OpenFile(fmt.Sprintf("%s.%d.new", name, os.Getpid()), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	if mode == 0o600 {
		err = f.Chmod(mode) // also for a file that a killed process has left
	}
	if err == nil {
		_, err = f.Write(data)
	}
	if err == nil {
		err = sync(f)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = rename(f.Name(), name)
	}
	if err != nil {
		if e := os.Remove(f.Name()); !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
		return err
	}
	return syncDir(filepath.Dir(name))
}
