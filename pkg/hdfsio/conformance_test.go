package hdfsio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"

	"bulkload/internal/test/testcheck"
)

// TestConformance runs the suite on the implementations that need no cluster; hdfs_cluster_test.go does it for HDFS.
func TestConformance(t *testing.T) {
	t.Run("local", func(t *testing.T) { conform(t, Local{}, t.TempDir()) })
	t.Run("memory", func(t *testing.T) { conform(t, NewMemory(), "/") })
}

// conform is the suite that every FS must pass. It works in a new directory below root.
func conform(t *testing.T, fsys FS, root string) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, FS, string)
	}{
		{"write and read", testWriteRead},
		{"abort", testAbort},
		{"exclusive create", testExclusive},
		{"missing", testMissing},
		{"rename", testRename},
		{"remove", testRemove},
		{"mkdirall", testMkdirAll},
		{"mkdir", testMkdir},
		{"modes", testModes},
		{"readdir", testReadDir},
		{"file id", testFileID},
		{"cancelled", testCancelled},
		{"parallel", testParallel},
		{"relative names", testRelative},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := path.Join(root, "conform-"+testcheck.Name(t))
			testcheck.Must(t, fsys.MkdirAll(t.Context(), dir, 0o755))
			t.Cleanup(func() { testcheck.Must(t, fsys.RemoveAll(context.WithoutCancel(t.Context()), dir)) })
			c.run(t, fsys, dir)
		})
	}
}

func testWriteRead(t *testing.T, fsys FS, dir string) {
	for _, size := range []int{0, 1, 511, 512, 65536, 65537, 1<<20 + 3, 5 << 20} {
		data := noise(size)
		name := path.Join(dir, fmt.Sprint("file-", size))
		writeFile(t, fsys, name, data, CreateOptions{BlockSize: 2 << 20})
		info, err := fsys.Stat(t.Context(), name)
		testcheck.Must(t, err)
		if info.Size() != int64(size) || info.Name() != path.Base(name) || info.IsDir() {
			t.Fatalf("stat of %d bytes: name %q, size %d, dir %v", size, info.Name(), info.Size(), info.IsDir())
		}
		f, err := fsys.Open(t.Context(), name)
		testcheck.Must(t, err)
		if info, err := f.Stat(); err != nil || info.Size() != int64(size) {
			t.Fatalf("stat of the open file: %v, %v", info, err)
		}
		at, ok := f.(io.ReaderAt)
		if !ok {
			t.Fatalf("%T is not an io.ReaderAt", f)
		}
		// ReadAt between two Reads must not move the position of Read.
		half := make([]byte, size/2)
		_, err = io.ReadFull(f, half)
		testcheck.Must(t, err)
		checkReadAt(t, at, data)
		rest, err := io.ReadAll(f)
		testcheck.Must(t, err)
		if !bytes.Equal(append(half, rest...), data) {
			t.Fatalf("%d bytes came back changed", size)
		}
		if n, err := f.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Fatalf("read at the end: %d, %v", n, err)
		}
		testcheck.Must(t, f.Close())
		if _, err := f.Read(make([]byte, 1)); err == nil {
			t.Fatal("read after Close: no error")
		}
		if size < 1000 {
			// The standard library's test of readers.
			f, err := fsys.Open(t.Context(), name)
			testcheck.Must(t, err)
			testcheck.Must(t, iotest.TestReader(f, data))
			testcheck.Must(t, f.Close())
		}
	}
}

func checkReadAt(t *testing.T, at io.ReaderAt, data []byte) {
	t.Helper()
	size := int64(len(data))
	if n, err := at.ReadAt(make([]byte, 10), size); n != 0 || err != io.EOF {
		t.Fatalf("ReadAt at the end: %d, %v", n, err)
	}
	if _, err := at.ReadAt(make([]byte, 1), -1); err == nil {
		t.Fatal("ReadAt at -1: no error")
	}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 5 {
				if size == 0 {
					return
				}
				off := (int64(i*5+j) * 7919 * 31) % size
				p := make([]byte, min(size-off, 70000))
				if n, err := at.ReadAt(p, off); n != len(p) || (err != nil && err != io.EOF) || !bytes.Equal(p, data[off:off+int64(n)]) {
					t.Errorf("ReadAt(%d bytes, %d): %d, %v", len(p), off, n, err)
				}
			}
		})
	}
	wg.Wait()
	if size > 4 {
		p := make([]byte, 10)
		if n, err := at.ReadAt(p, size-4); n != 4 || err != io.EOF || !bytes.Equal(p[:n], data[size-4:]) {
			t.Fatalf("ReadAt over the end: %d, %v", n, err)
		}
	}
}

func testAbort(t *testing.T, fsys FS, dir string) {
	name := path.Join(dir, "aborted")
	w, err := fsys.Create(t.Context(), name, CreateOptions{})
	testcheck.Must(t, err)
	_, err = w.Write(noise(100_000))
	testcheck.Must(t, err)
	testcheck.Must(t, w.Abort())
	testcheck.Must(t, w.Abort())
	if _, err := fsys.Stat(t.Context(), name); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("stat after Abort: %v", err)
	}
	closed := func(err error) bool {
		pe, ok := errors.AsType[*fs.PathError](err)
		return ok && pe.Path == name && errors.Is(err, fs.ErrClosed)
	}
	if _, err := w.Write([]byte("x")); !closed(err) {
		t.Fatalf("write after Abort: %v", err)
	}
	if err := w.Finish(); !closed(err) {
		t.Fatalf("finish after Abort: %v", err)
	}
	left, err := fsys.ReadDir(t.Context(), dir)
	testcheck.Must(t, err)
	if len(left) != 0 {
		t.Fatalf("Abort left %s", left[0].Name())
	}
	// After a successful Finish it does nothing.
	w, err = fsys.Create(t.Context(), name, CreateOptions{})
	testcheck.Must(t, err)
	testcheck.Must(t, w.Finish())
	testcheck.Must(t, w.Abort())
	_, err = fsys.Stat(t.Context(), name)
	testcheck.Must(t, err)
	if _, err := w.Write([]byte("x")); err == nil {
		t.Fatal("write after Finish: no error")
	}
}

func testExclusive(t *testing.T, fsys FS, dir string) {
	name := path.Join(dir, "one")
	writeFile(t, fsys, name, []byte("first"), CreateOptions{})
	if _, err := fsys.Create(t.Context(), name, CreateOptions{}); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("create over a file: %v", err)
	}
	if _, err := fsys.Create(t.Context(), dir, CreateOptions{}); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("create over a directory: %v", err)
	}
	// If two writers use one name concurrently, exactly one succeeds, by Create or by Finish.
	name = path.Join(dir, "two")
	a, err := fsys.Create(t.Context(), name, CreateOptions{})
	testcheck.Must(t, err)
	defer a.Abort()
	b, err := fsys.Create(t.Context(), name, CreateOptions{})
	testcheck.Must(t, a.Finish())
	if err == nil {
		err = b.Finish()
		testcheck.Must(t, b.Abort())
	}
	if !errors.Is(err, fs.ErrExist) {
		t.Fatalf("the second of two writers: %v", err)
	}
	_, err = fsys.Stat(t.Context(), name)
	testcheck.Must(t, err)
}

func testMissing(t *testing.T, fsys FS, dir string) {
	name := path.Join(dir, "missing")
	_, err := fsys.Open(t.Context(), name)
	for what, err := range map[string]error{
		"open":   err,
		"remove": fsys.Remove(t.Context(), name),
		"rename": fsys.Rename(t.Context(), name, name+"2"),
		"chmod":  fsys.Chmod(t.Context(), name, 0o600),
	} {
		var pe *fs.PathError
		if !errors.Is(err, fs.ErrNotExist) || (what != "rename" && !errors.As(err, &pe)) {
			t.Errorf("%s of a missing file: %v", what, err)
		}
	}
	if _, err := fsys.Stat(t.Context(), name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("stat: %v", err)
	}
	if _, err := fsys.ReadDir(t.Context(), name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("readdir: %v", err)
	}
	if _, err := fsys.Create(t.Context(), path.Join(name, "file"), CreateOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("create in a missing directory: %v", err)
	}
	testcheck.Must(t, fsys.RemoveAll(t.Context(), name))
}

func testRename(t *testing.T, fsys FS, dir string) {
	a, b := path.Join(dir, "a"), path.Join(dir, "b")
	writeFile(t, fsys, a, []byte("a"), CreateOptions{})
	writeFile(t, fsys, b, []byte("b"), CreateOptions{})
	if err := fsys.Rename(t.Context(), a, b); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("rename over a file: %v", err)
	}
	if got := readFile(t, fsys, b); string(got) != "b" {
		t.Fatalf("the refused rename changed the target to %q", got)
	}
	sub := path.Join(dir, "sub")
	testcheck.Must(t, fsys.MkdirAll(t.Context(), sub, 0o755))
	if err := fsys.Rename(t.Context(), a, sub); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("rename over a directory: %v", err)
	}
	testcheck.Must(t, fsys.Rename(t.Context(), a, path.Join(sub, "c")))
	testcheck.Must(t, fsys.Rename(t.Context(), sub, path.Join(dir, "moved")))
	if got := readFile(t, fsys, path.Join(dir, "moved", "c")); string(got) != "a" {
		t.Fatalf("after the renames: %q", got)
	}
	if _, err := fsys.Stat(t.Context(), sub); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("the old name: %v", err)
	}
	if err := fsys.Rename(t.Context(), b, path.Join(dir, "no", "d")); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("rename into a missing directory: %v", err)
	}
	var all sync.WaitGroup
	errs := make([]error, 6)
	for i := range errs {
		name := path.Join(dir, fmt.Sprint("from", i))
		writeFile(t, fsys, name, []byte{byte(i)}, CreateOptions{})
		all.Go(func() { errs[i] = fsys.Rename(t.Context(), name, path.Join(dir, "one")) })
	}
	all.Wait()
	won := slices.Index(errs, nil)
	if got := readFile(t, fsys, path.Join(dir, "one")); won < 0 || string(got) != string([]byte{byte(won)}) {
		t.Fatalf("of renames to one name at a time, %v, the file has %v", errs, got)
	}
	for i, err := range errs {
		if i != won && !errors.Is(err, fs.ErrExist) {
			t.Errorf("rename %d to the name of another: %v", i, err)
		}
	}
}

func testRemove(t *testing.T, fsys FS, dir string) {
	sub := path.Join(dir, "x", "y")
	testcheck.Must(t, fsys.MkdirAll(t.Context(), sub, 0o755))
	writeFile(t, fsys, path.Join(sub, "f"), nil, CreateOptions{})
	if err := fsys.Remove(t.Context(), sub); !errors.Is(err, syscall.ENOTEMPTY) {
		t.Fatalf("remove of a directory that is not empty: %v", err)
	}
	testcheck.Must(t, fsys.Remove(t.Context(), path.Join(sub, "f")))
	testcheck.Must(t, fsys.Remove(t.Context(), sub))
	writeFile(t, fsys, path.Join(dir, "x", "g"), nil, CreateOptions{})
	testcheck.Must(t, fsys.RemoveAll(t.Context(), path.Join(dir, "x")))
	if _, err := fsys.Stat(t.Context(), path.Join(dir, "x", "g")); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("stat below a removed tree: %v", err)
	}
}

func testMkdirAll(t *testing.T, fsys FS, dir string) {
	sub := path.Join(dir, "a", "b", "c")
	testcheck.Must(t, fsys.MkdirAll(t.Context(), sub, 0o777))
	testcheck.Must(t, fsys.MkdirAll(t.Context(), sub, 0o700))
	for _, d := range []string{sub, path.Dir(sub)} {
		info, err := fsys.Stat(t.Context(), d)
		testcheck.Must(t, err)
		if !info.IsDir() || info.Mode().Perm() != 0o777 {
			t.Errorf("%s: %v", d, info.Mode())
		}
	}
	file := path.Join(dir, "file")
	writeFile(t, fsys, file, nil, CreateOptions{})
	if err := fsys.MkdirAll(t.Context(), file, 0o755); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("mkdirall over a file: %v", err)
	}
}

func testMkdir(t *testing.T, fsys FS, dir string) {
	sub := path.Join(dir, "a", "b")
	if err := fsys.Mkdir(t.Context(), sub, 0o755); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without the directory above: %v", err)
	}
	if _, err := fsys.Stat(t.Context(), path.Dir(sub)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory above was made: %v", err)
	}
	for _, d := range []string{path.Dir(sub), sub} {
		testcheck.Must(t, fsys.Mkdir(t.Context(), d, 0o777))
		testcheck.Must(t, fsys.Mkdir(t.Context(), d, 0o700))
		checkMode(t, fsys, d, fs.ModeDir|0o777)
	}
	file := path.Join(dir, "file")
	writeFile(t, fsys, file, nil, CreateOptions{})
	if err := fsys.Mkdir(t.Context(), file, 0o755); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("mkdir over a file: %v", err)
	}
}

func testModes(t *testing.T, fsys FS, dir string) {
	for _, mode := range []fs.FileMode{0o600, 0o644, 0o666, 0o777} {
		name := path.Join(dir, fmt.Sprintf("mode-%o", mode))
		writeFile(t, fsys, name, []byte("x"), CreateOptions{Perm: mode})
		checkMode(t, fsys, name, mode)
		testcheck.Must(t, fsys.Chmod(t.Context(), name, 0o640))
		checkMode(t, fsys, name, 0o640)
	}
	testcheck.Must(t, fsys.MkdirAll(t.Context(), path.Join(dir, "d"), 0o711))
	checkMode(t, fsys, path.Join(dir, "d"), fs.ModeDir|0o711)
}

func checkMode(t *testing.T, fsys FS, name string, want fs.FileMode) {
	t.Helper()
	info, err := fsys.Stat(t.Context(), name)
	testcheck.Must(t, err)
	if info.Mode() != want {
		t.Errorf("%s: mode %v, want %v", name, info.Mode(), want)
	}
}

func testReadDir(t *testing.T, fsys FS, dir string) {
	var want []string
	for i := range 20 {
		name := fmt.Sprintf("f%02d", (i*7)%20)
		want = append(want, name)
		writeFile(t, fsys, path.Join(dir, name), noise(i), CreateOptions{})
	}
	testcheck.Must(t, fsys.MkdirAll(t.Context(), path.Join(dir, "sub", "deep"), 0o755))
	want = append(want, "sub")
	slices.Sort(want)
	infos, err := fsys.ReadDir(t.Context(), dir)
	testcheck.Must(t, err)
	var have []string
	for _, info := range infos {
		have = append(have, info.Name())
	}
	if !slices.Equal(have, want) {
		t.Fatalf("have %v\nwant %v", have, want)
	}
	if _, err := fsys.ReadDir(t.Context(), path.Join(dir, "f00")); !errors.Is(err, syscall.ENOTDIR) {
		t.Fatalf("readdir of a file: %v", err)
	}
	f, err := fsys.Open(t.Context(), dir)
	testcheck.Must(t, err)
	defer f.Close()
	if _, err := f.Read(make([]byte, 1)); !errors.Is(err, syscall.EISDIR) {
		t.Fatalf("read of a directory: %v", err)
	}
}

func testFileID(t *testing.T, fsys FS, dir string) {
	a, b := path.Join(dir, "a"), path.Join(dir, "b")
	writeFile(t, fsys, a, []byte("x"), CreateOptions{})
	writeFile(t, fsys, b, []byte("x"), CreateOptions{})
	id := func(name string) uint64 {
		info, err := fsys.Stat(t.Context(), name)
		testcheck.Must(t, err)
		n, ok := FileID(info)
		if !ok {
			t.Fatalf("%s has no id", name)
		}
		return n
	}
	first := id(a)
	if first == id(b) {
		t.Fatal("two files share an id")
	}
	testcheck.Must(t, fsys.Rename(t.Context(), a, a+"2"))
	if id(a+"2") != first {
		t.Fatal("a rename changed the id")
	}
}

func testCancelled(t *testing.T, fsys FS, dir string) {
	cause := errors.New("stopped by the test")
	ctx, cancel := context.WithCancelCause(t.Context())
	name := path.Join(dir, "f")
	w, err := fsys.Create(ctx, name, CreateOptions{})
	testcheck.Must(t, err)
	_, err = w.Write(noise(200_000))
	testcheck.Must(t, err)
	cancel(cause)
	_, err = w.Write(noise(200_000))
	if !errors.Is(err, cause) || !errors.Is(err, ErrRewrite) {
		t.Fatalf("write after cancel: %v", err)
	}
	if err := w.Finish(); !errors.Is(err, ErrRewrite) {
		t.Fatalf("finish after cancel: %v", err)
	}
	testcheck.Must(t, w.Abort())
	if _, err := fsys.Stat(t.Context(), name); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("after Abort: %v", err)
	}
	if _, err := fsys.Stat(ctx, dir); !errors.Is(err, cause) {
		t.Fatalf("stat after cancel: %v", err)
	}
	if _, err := fsys.Open(ctx, dir); !errors.Is(err, cause) {
		t.Fatalf("open after cancel: %v", err)
	}
}

func testParallel(t *testing.T, fsys FS, dir string) {
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			data := noise(300_000 + i)
			name := path.Join(dir, fmt.Sprint(i))
			w, err := fsys.Create(t.Context(), name+".part", CreateOptions{})
			if err == nil {
				defer w.Abort()
				_, err = io.Copy(w, bytes.NewReader(data))
			}
			if err == nil {
				err = w.Finish()
			}
			if err == nil {
				err = fsys.Rename(t.Context(), name+".part", name)
			}
			if err != nil {
				t.Error(err)
			} else if !bytes.Equal(readFile(t, fsys, name), data) {
				t.Errorf("file %d came back changed", i)
			}
		})
	}
	wg.Wait()
}

func testRelative(t *testing.T, fsys FS, _ string) {
	_, err := fsys.Stat(t.Context(), "relative")
	if e, ok := errors.AsType[*fs.PathError](err); !ok || e.Op != "stat" || e.Path != "relative" {
		t.Errorf("stat of a relative name: %v", err)
	}
	_, err = fsys.Create(t.Context(), "", CreateOptions{})
	if e, ok := errors.AsType[*fs.PathError](err); !ok || e.Op != "create" || e.Path != "" {
		t.Errorf("create of an empty name: %v", err)
	}
}

func noise(n int) []byte {
	r := rand.NewChaCha8([32]byte{byte(n), byte(n >> 8), byte(n >> 16)})
	p := make([]byte, n)
	r.Read(p)
	return p
}

func writeFile(t testing.TB, fsys FS, name string, data []byte, o CreateOptions) {
	t.Helper()
	w, err := fsys.Create(t.Context(), name, o)
	testcheck.Must(t, err)
	defer w.Abort()
	n, err := w.Write(data)
	testcheck.Must(t, err)
	if n != len(data) {
		t.Fatalf("wrote %d of %d bytes", n, len(data))
	}
	testcheck.Must(t, w.Finish())
}

func readFile(t testing.TB, fsys FS, name string) []byte {
	f, err := fsys.Open(t.Context(), name)
	if err != nil {
		t.Error(err)
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		t.Error(err)
	}
	return data
}
