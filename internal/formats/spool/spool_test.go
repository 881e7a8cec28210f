package spool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/iotest"
)

func random(n int) []byte {
	r := rand.NewChaCha8([32]byte{1})
	b := make([]byte, n)
	_, _ = r.Read(b)
	return b
}

func TestCopy(t *testing.T) {
	for _, n := range []int{0, 1, pieceSize - 1, pieceSize, pieceSize + 1, 5*pieceSize + 7} {
		data := random(n)
		want := Digest{int64(n), Sum(crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)))}
		for name, src := range map[string]io.Reader{"whole": bytes.NewReader(data), "in pieces": iotest.HalfReader(bytes.NewReader(data)),
			"with the end": iotest.DataErrReader(bytes.NewReader(data))} {
			var to bytes.Buffer
			got, err := Copy(t.Context(), &to, src, CopyOptions{})
			if err != nil || got != want || !bytes.Equal(to.Bytes(), data) {
				t.Errorf("%d bytes, %s: %v %v", n, name, got, err)
			}
		}
	}
}

// fullAfter is a disk with room for n bytes.
type fullAfter struct{ n int }

var errFull = errors.New("full")

func (f *fullAfter) Write(p []byte) (int, error) {
	if f.n -= len(p); f.n < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestCopyFails(t *testing.T) {
	data, errRead, errAllow := random(3*pieceSize), errors.New("read"), errors.New("not allowed")
	_, err := Copy(t.Context(), io.Discard, io.MultiReader(bytes.NewReader(data[:pieceSize+5]), iotest.ErrReader(errRead)), CopyOptions{})
	if re, ok := errors.AsType[*ReadError](err); !ok || !errors.Is(err, errRead) || re.At != pieceSize+5 {
		t.Errorf("a stream that fails: %v", err)
	}
	if d, err := Copy(t.Context(), &fullAfter{2 * pieceSize}, bytes.NewReader(data), CopyOptions{}); !errors.Is(err, errFull) || d.Bytes != 2*pieceSize {
		t.Errorf("a full disk: %v %v", d, err)
	}
	allow := func(int64) error { return errAllow }
	if d, err := Copy(t.Context(), io.Discard, bytes.NewReader(data), CopyOptions{Allow: allow}); !errors.Is(err, errAllow) || d.Bytes != 0 {
		t.Errorf("a limit: %v %v", d, err)
	}
	if _, err := Copy(t.Context(), nil, bytes.NewReader(data), CopyOptions{Allow: allow}); err != nil {
		t.Errorf("nothing is written, and so nothing counted: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, w := io.Pipe()
	defer w.Close()
	if _, err := Copy(ctx, io.Discard, r, CopyOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a stream that waits: %v", err)
	}
}

// TestCopyOfBrokenStream checks that only io.EOF itself ends a stream: unpacking and connections fail with others of its kind.
func TestCopyOfBrokenStream(t *testing.T) {
	for _, broken := range []error{io.ErrUnexpectedEOF, fmt.Errorf("connection: %w", io.EOF)} {
		for _, n := range []int{0, 5, pieceSize} {
			src := io.MultiReader(bytes.NewReader(random(n)), iotest.ErrReader(broken))
			if d, err := Copy(t.Context(), io.Discard, src, CopyOptions{}); !errors.Is(err, broken) {
				t.Errorf("%v after %d bytes: got %v bytes, %v", broken, n, d.Bytes, err)
			}
		}
	}
}

// endless is a reader without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// TestCopyMemory copies a stream that is far larger than the memory of the copy.
func TestCopyMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d, err := Copy(t.Context(), io.Discard, io.LimitReader(endless{}, 256<<20), CopyOptions{})
	runtime.ReadMemStats(&after)
	if err != nil || d.Bytes != 256<<20 {
		t.Fatal(d, err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > pieces*pieceSize+64<<10 {
		t.Errorf("%d bytes were allocated", got)
	}
}

func TestReopen(t *testing.T) {
	data := random(2*pieceSize + 3)
	f, err := Create(filepath.Join(t.TempDir(), "copy"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := Copy(t.Context(), f, bytes.NewReader(data), CopyOptions{})
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(f.Name()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read it: %v %v", info.Mode(), err)
	}
	again, err := Reopen(t.Context(), f.Name(), d)
	if err != nil {
		t.Fatal(err)
	}
	file, err := NewFS(again, "/x.csv", nil).Open(t.Context(), "/x.csv")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(file); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes: %v", len(got), err)
	}
	_ = again.Close()
	damage := map[string]func(name string) error{
		"cut":     func(name string) error { return os.Truncate(name, d.Bytes-1) },
		"flipped": func(name string) error { return os.WriteFile(name, append([]byte{data[0] ^ 1}, data[1:]...), 0o600) },
		"link": func(name string) error {
			return errors.Join(os.Rename(name, name+".1"), os.Symlink(name+".1", name))
		},
		"gone":        os.Remove,
		"a directory": func(name string) error { return errors.Join(os.Remove(name), os.Mkdir(name, 0o700)) },
	}
	for what, do := range damage {
		name := filepath.Join(t.TempDir(), "copy")
		if err := errors.Join(os.WriteFile(name, data, 0o600), do(name)); err != nil {
			t.Fatal(err)
		}
		if _, err := Reopen(t.Context(), name, d); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestSumText(t *testing.T) {
	var s Sum
	if err := s.UnmarshalText([]byte("0a1b2c3d")); err != nil || s != 0x0a1b2c3d || s.String() != "0a1b2c3d" {
		t.Error(s, err)
	}
	for _, bad := range []string{"", "1", "0a1b2c3g", "+a1b2c3d", "0a1b2c3d0"} {
		if err := s.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func BenchmarkCopy(b *testing.B) {
	const size = 256 << 20
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		f, err := CreateNameless(b.TempDir(), "copy-*")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := Copy(b.Context(), f, io.LimitReader(endless{}, size), CopyOptions{}); err != nil {
			b.Fatal(err)
		}
		_ = f.Close()
	}
}
