// Package durable makes names that survive a crash of the machine: a file's
// bytes are on disk when the file is synced, its name when the directory is.
package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// SyncDir makes the names in a directory durable, where its file system can
// and the user may read it.
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

// MakeDirs makes a directory and those above it that are missing, each by
// mkdir, from the top. Their names are durable when it returns. That another
// makes one of them meanwhile is not an error.
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

// MakePrivateDir is [MakeDirs] for the user alone (0700).
func MakePrivateDir(dir string) error {
	return MakeDirs(dir, func(dir string) error { return os.Mkdir(dir, 0o700) })
}

// Replace writes a file under another name next to it and renames it, so that
// a reader sees the old one or the new one whole, after a crash too. Only
// its owner may read it, whatever the umask.
func Replace(name string, data []byte) error {
	return replace(name, data, (*os.File).Sync, SyncDir)
}

// ReplaceVolatile is Replace without protection against a crash of the machine: for what
// is written every few seconds.
func ReplaceVolatile(name string, data []byte) error {
	return replace(name, data, func(*os.File) error { return nil }, func(string) error { return nil })
}

func replace(name string, data []byte, sync func(*os.File) error, syncDir func(dir string) error) (err error) {
	f, err := os.OpenFile(fmt.Sprintf("%s.%d.new", name, os.Getpid()), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	err = f.Chmod(0o600) // of one that a killed process has left, too
	if err == nil {
		_, err = f.Write(data)
	}
	if err == nil {
		err = sync(f)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		if e := os.Remove(f.Name()); !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
		return err
	}
	return syncDir(filepath.Dir(name))
}
