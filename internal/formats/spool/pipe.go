package spool

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
)

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
