package spool

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"
)

// TestKindOf checks how each kind of standard input is read: only a file that stands at its beginning is read without a copy.
func TestKindOf(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.csv")
	testcheck.Must(t, os.WriteFile(name, []byte("a,b\n1,2\n"), 0o600))
	open := func(name string, offset int64) *os.File {
		f, err := os.Open(name)
		testcheck.Must(t, err)
		t.Cleanup(func() { _ = f.Close() })
		if offset > 0 {
			_, err = f.Seek(offset, io.SeekStart)
			testcheck.Must(t, err)
		}
		return f
	}
	r, w, err := os.Pipe()
	testcheck.Must(t, err)
	defer func() { _, _ = r.Close(), w.Close() }()
	sockets, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	testcheck.Must(t, err)
	socket := os.NewFile(uintptr(sockets[0]), "socket")
	defer func() { _, _ = socket.Close(), syscall.Close(sockets[1]) }()
	closed := open(name, 0)
	testcheck.Must(t, closed.Close())
	for what, tt := range map[string]struct {
		f    *os.File
		want StdinKind
	}{
		"a file": {open(name, 0), StdinFile}, "a file that was read": {open(name, 4), StdinStream}, "a pipe": {r, StdinStream}, "a socket": {socket, StdinStream},
		"the null device": {open(os.DevNull, 0), StdinNone}, "another device": {open("/dev/zero", 0), StdinTerminal}, "a directory": {open(t.TempDir(), 0), StdinNone}, "closed": {closed, StdinNone},
	} {
		got, info := KindOf(tt.f)
		if got != tt.want || (info == nil) != (what == "closed") {
			t.Errorf("%s: %d, want %d, %v", what, got, tt.want, info)
		}
	}
}

// TestPipesAreAwaited checks that a named pipe is read once it has a writer, and that the end of the context ends the wait for one and for its text.
func TestPipesAreAwaited(t *testing.T) {
	pipe := func() string {
		name := filepath.Join(t.TempDir(), "pipe")
		testcheck.Must(t, syscall.Mkfifo(name, 0o600))
		return name
	}
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	name := pipe()
	if b, err := ReadFile(ctx, name); !errors.Is(err, stop) || b != nil {
		t.Errorf("no writer: %q, %v", b, err)
	}
	var late *os.File // it meets the opening that was given up, which closes the pipe
	testcheck.Eventually(t, time.Minute, "the pipe is opened", func() (bool, any) {
		f, err := os.OpenFile(name, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		late = f
		return err == nil, err
	})
	testcheck.Eventually(t, time.Minute, "nothing reads the pipe", func() (bool, any) {
		_, err := late.Write([]byte("x"))
		return errors.Is(err, syscall.EPIPE), err
	})
	testcheck.Must(t, late.Close())
	data := random(3 << 20)
	written := make(chan error, 1)
	write := func(name string, end func(f *os.File) error) {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err == nil {
			_, err = f.Write(data)
		}
		written <- errors.Join(err, end(f))
	}
	end := func() error {
		select {
		case err := <-written:
			return err
		case <-time.After(time.Minute):
			return errors.New("nothing reads the pipe")
		}
	}
	name = pipe()
	go write(name, (*os.File).Close)
	got, err := ReadFile(t.Context(), name)
	if err = errors.Join(err, end()); err != nil || string(got) != string(data) {
		t.Errorf("%d bytes of %d, %v", len(got), len(data), err)
	}
	ctx, cancel = context.WithCancelCause(t.Context())
	name = pipe()
	var held *os.File
	go write(name, func(f *os.File) error { held = f; cancel(stop); return nil })
	if b, err := ReadFile(ctx, name); !errors.Is(err, stop) || b != nil {
		t.Errorf("a writer that waits: %d bytes, %v", len(b), err)
	}
	testcheck.Must(t, end())
	testcheck.Must(t, held.Close())
	plain := filepath.Join(t.TempDir(), "plain")
	testcheck.Must(t, os.WriteFile(plain, data[:9], 0o600))
	if b, err := ReadFile(ctx, plain); err != nil || string(b) != string(data[:9]) {
		t.Errorf("a file does not wait: %q, %v", b, err)
	}
	if _, err := ReadFile(t.Context(), plain+"x"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// below is a file system that has every name.
type below struct{ asked []string }

func (b *below) Open(_ context.Context, name string) (fs.File, error) {
	b.asked = append(b.asked, "open "+name)
	return nil, io.EOF
}

func (b *below) Stat(_ context.Context, name string) (fs.FileInfo, error) {
	b.asked = append(b.asked, "stat "+name)
	return nil, io.EOF
}

func (b *below) ReadDir(_ context.Context, name string) ([]fs.FileInfo, error) {
	b.asked = append(b.asked, "list "+name)
	return nil, io.EOF
}

// TestNamesOfStreams checks that a copy without a name on disk has that of the stream, and that other names are those of the file system below.
func TestNamesOfStreams(t *testing.T) {
	dir := t.TempDir()
	f, err := CreateNameless(dir, "copy-*")
	testcheck.Must(t, err)
	defer f.Close()
	_, err = f.Write([]byte("1,2\n"))
	testcheck.Must(t, err)
	if left, err := os.ReadDir(dir); len(left) > 0 || err != nil {
		t.Error(left, err)
	}
	for range 2 { // each opening has its own offset
		file, err := NewFS(Standing(f.f), "/x/in.csv", nil).Open(t.Context(), "/x/in.csv")
		testcheck.Must(t, err)
		text, err := io.ReadAll(file)
		info, err2 := file.Stat()
		if err := errors.Join(err, err2, file.Close()); err != nil || string(text) != "1,2\n" || info.Name() != "/x/in.csv" || info.Size() != 4 || info.IsDir() {
			t.Fatalf("%q, %v, %v", text, info, err)
		}
	}
	under := &below{}
	for _, tt := range []struct {
		s    *FS
		want error
	}{{NewFS(f, "in", nil), fs.ErrNotExist}, {NewFS(f, "in", under), io.EOF}} {
		_, err1 := tt.s.Open(t.Context(), "y")
		_, err2 := tt.s.Stat(t.Context(), "y")
		_, err3 := tt.s.ReadDir(t.Context(), "y")
		if !errors.Is(err1, tt.want) || !errors.Is(err2, tt.want) || !errors.Is(err3, tt.want) {
			t.Errorf("%v, %v, %v, want %v", err1, err2, err3, tt.want)
		}
	}
	if len(under.asked) != 3 {
		t.Errorf("asked for %q", under.asked)
	}
	b, err := json.Marshal(Digest{4, 0x0a1b2c3d})
	if want := `{"bytes":4,"crc32c":"0a1b2c3d"}`; err != nil || string(b) != want {
		t.Errorf("%s, %v, want %s", b, err, want)
	}
}
