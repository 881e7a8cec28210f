package spool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// ErrDamaged is matched by the error of a copy that is not what it was.
var ErrDamaged = errors.New("the copy is not what was written")

// File is a file with the content of a stream. It is open until [File.Close], so it can be read after its name was removed.
type File struct{ f *os.File }

// Create makes an empty copy, which only its owner may read. There is no file of its name.
func Create(name string) (*File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &File{f}, nil
}

// CreateNameless makes a copy in a directory that is gone when it is closed, or with the process. A pattern is that of
// [os.CreateTemp].
func CreateNameless(dir, pattern string) (*File, error) {
	f, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &File{f}, nil
}

// Reopen opens a copy that an earlier process has written, and reads it to see that it is whole: an error that matches
// [ErrDamaged] says that it is not, or that it is not a file of this user.
func Reopen(ctx context.Context, name string, want Digest) (_ *File, err error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); !ok || !info.Mode().IsRegular() || int(owner.Uid) != os.Getuid() {
		return nil, fmt.Errorf("%w: %s is not a file of this user", ErrDamaged, name)
	}
	if info.Size() != want.Bytes {
		return nil, fmt.Errorf("%w: %s has %d bytes of %d", ErrDamaged, name, info.Size(), want.Bytes)
	}
	got, err := Copy(ctx, nil, io.NewSectionReader(f, 0, info.Size()), CopyOptions{})
	if err != nil {
		return nil, fmt.Errorf("read %s %w", name, err)
	}
	if got != want {
		return nil, fmt.Errorf("%w: %s has %s, and had %s", ErrDamaged, name, got, want)
	}
	return &File{f}, nil
}

// Standing returns a file that is used without a copy, such as standard input that is redirected from one.
func Standing(f *os.File) *File { return &File{f} }

// Name returns the file's own name.
func (f *File) Name() string { return f.f.Name() }

// Write adds to the copy.
func (f *File) Write(p []byte) (int, error) { return f.f.Write(p) }

// Close lets the copy go, which stays on disk if it has a name.
func (f *File) Close() error { return f.f.Close() }

// lister is a file system as package source needs it.
type lister interface {
	Open(ctx context.Context, name string) (fs.File, error)
	Stat(ctx context.Context, name string) (fs.FileInfo, error)
	ReadDir(ctx context.Context, name string) ([]fs.FileInfo, error)
}

// FS is a file system in which a file has a stream's name. Other files are those of the file system below; without that there
// is nothing else.
type FS struct {
	file  *File
	name  string
	below lister
}

// NewFS returns the file system below, nil for none, with a file that has the name.
func NewFS(file *File, name string, below lister) *FS { return &FS{file, name, below} }

// Open opens the stream's file, any number of times at once.
func (s *FS) Open(ctx context.Context, name string) (fs.File, error) {
	if name != s.name {
		if s.below == nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
		return s.below.Open(ctx, name)
	}
	info, err := s.Stat(ctx, name)
	if err != nil {
		return nil, err
	}
	return &opened{io.NewSectionReader(s.file.f, 0, info.Size()), info}, nil
}

// Stat describes the stream's file, with the size of the copy.
func (s *FS) Stat(ctx context.Context, name string) (fs.FileInfo, error) {
	if name == s.name {
		info, err := s.file.f.Stat()
		return named{info, name}, err
	}
	if s.below == nil {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return s.below.Stat(ctx, name)
}

// ReadDir lists a directory of the file system below.
func (s *FS) ReadDir(ctx context.Context, name string) ([]fs.FileInfo, error) {
	if s.below == nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	return s.below.ReadDir(ctx, name)
}

// opened is one open handle of the file, with its own offset.
type opened struct {
	*io.SectionReader
	info fs.FileInfo
}

func (o *opened) Stat() (fs.FileInfo, error) { return o.info, nil }
func (o *opened) Close() error               { return nil }

// named is a file with the stream's name.
type named struct {
	fs.FileInfo
	name string
}

func (n named) Name() string { return n.name }
