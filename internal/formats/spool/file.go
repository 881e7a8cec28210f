package spool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"syscall"

	"bulkload/internal/base/durable"
)

// ErrDamaged is wrapped by errors about a copy that has changed or is missing.
var ErrDamaged = errors.New("the copy is not what was written")

// File is a file with the content of a stream. It is open until [File.Close], so it can be read after its name is removed.
type File struct{ f *os.File }

// Create creates an empty copy, which only its owner may read and write. It fails if the name exists.
func Create(name string) (*File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &File{f}, nil
}

// CreateNameless creates an empty copy without a name, on the file system of a directory. The copy is deleted when it is closed, or when the process
// ends. pattern has the meaning that it has in [os.CreateTemp].
func CreateNameless(dir, pattern string) (*File, error) {
	f, err := durable.Nameless(dir, pattern)
	if err != nil {
		return nil, err
	}
	return &File{f}, nil
}

// Reopen opens a copy that an earlier process has written, and reads it to verify its digest. The error wraps [ErrDamaged] if
// the copy cannot be opened, differs from want, or is not a regular file of this user.
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

// Standing returns a File for an input that needs no copy because it is a file already, such as standard input redirected from a file.
func Standing(f *os.File) *File { return &File{f} }

// Name returns the name of the file on disk, not that of the stream.
func (f *File) Name() string { return f.f.Name() }

// Write appends to the copy.
func (f *File) Write(p []byte) (int, error) { return f.f.Write(p) }

// Close closes the copy. It stays on disk if it has a name.
func (f *File) Close() error { return f.f.Close() }

// lister is the file system interface that package source requires.
type lister interface {
	Open(ctx context.Context, name string) (fs.File, error)
	Stat(ctx context.Context, name string) (fs.FileInfo, error)
	ReadDir(ctx context.Context, name string) ([]fs.FileInfo, error)
}

// FS is a file system in which a File has the name of a stream. All other names are looked up in the file system below; if there is
// none, they do not exist.
type FS struct {
	file  *File
	name  string
	below lister
}

// NewFS returns a file system in which file has the given name. below has all other names; it may be nil.
func NewFS(file *File, name string, below lister) *FS { return &FS{file, name, below} }

// Open opens the stream's file, or a file of the file system below. The stream's file may be opened several times.
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

// Stat describes the stream's file, with the size of the copy, or a file of the file system below.
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

// opened is an open handle of the file, with its own offset.
type opened struct {
	*io.SectionReader
	info fs.FileInfo
}

func (o *opened) Stat() (fs.FileInfo, error) { return o.info, nil }
func (o *opened) Close() error               { return nil }

// named is a [fs.FileInfo] with the stream's name.
type named struct {
	fs.FileInfo
	name string
}

func (n named) Name() string { return n.name }

// ReadFile reads a whole file that may be a named pipe. It waits for the pipe's writer and for its data until ctx ends.
func ReadFile(ctx context.Context, name string) ([]byte, error) {
	return ReadAtMost(ctx, name, math.MaxInt64-1)
}

// ReadAtMost is ReadFile for a file that is refused if it has more bytes.
func ReadAtMost(ctx context.Context, name string, most int64) ([]byte, error) {
	waiting := waits(name)
	f, err := Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if waiting {
		defer context.AfterFunc(ctx, func() { _ = f.Close() })()
	}
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if waiting && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err == nil && int64(len(b)) > most {
		return nil, fmt.Errorf("%s: it is larger than %d bytes", name, most)
	}
	return b, err
}

// Open opens a file for reading. If the file is a named pipe, or an open pipe with a name below /dev/fd, Open waits for a writer. If
// the context ends first, a goroutine keeps waiting, and closes the pipe when it is opened.
func Open(ctx context.Context, name string) (*os.File, error) {
	if !waits(name) {
		return os.Open(name)
	}
	type result struct {
		f   *os.File
		err error
	}
	opened := make(chan result, 1)
	go func() {
		f, err := os.Open(name)
		opened <- result{f, err}
	}()
	select {
	case r := <-opened:
		if r.err == nil {
			Widen(r.f)
		}
		return r.f, r.err
	case <-ctx.Done():
		go func() {
			if r := <-opened; r.err == nil {
				_ = r.f.Close() // nothing was read from it
			}
		}()
		return nil, context.Cause(ctx)
	}
}

// waits reports whether opening or reading a file may wait for another process.
func waits(name string) bool {
	info, err := os.Stat(name)
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

// StdinKind is the file type of standard input. It determines how standard input is read.
type StdinKind int

// The kinds of standard input.
const (
	StdinNone     StdinKind = iota // closed, or the null device: no input
	StdinTerminal                  // a terminal, or another device
	StdinFile                      // a file, read from its beginning
	StdinStream                    // a pipe, a socket, or a file that is read from another offset
)

// KindOf returns the type of a file that the process inherited, such as standard input.
func KindOf(f *os.File) (StdinKind, fs.FileInfo) {
	info, err := f.Stat()
	if err != nil {
		return StdinNone, nil
	}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		if at, err := f.Seek(0, io.SeekCurrent); err == nil && at == 0 {
			return StdinFile, info
		}
		return StdinStream, info
	case mode&(fs.ModeNamedPipe|fs.ModeSocket) != 0:
		return StdinStream, info
	case mode&fs.ModeDevice != 0:
		if null, err := os.Stat(os.DevNull); err == nil && os.SameFile(null, info) {
			return StdinNone, info
		}
		return StdinTerminal, info
	}
	return StdinNone, info
}
