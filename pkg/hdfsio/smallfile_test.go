package hdfsio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"testing"

	"bulkload/internal/test/testcheck"
)

// reread returns the content of a finished writer's file.
func reread(t *testing.T, w Writer) []byte {
	t.Helper()
	r, ok := w.(Reopener)
	if !ok {
		t.Fatalf("%T does not open its file again", w)
	}
	f, err := r.Reopen(t.Context())
	testcheck.Must(t, err)
	defer f.Close()
	info, err := f.Stat()
	testcheck.Must(t, err)
	data := make([]byte, info.Size())
	_, err = io.ReadFull(io.NewSectionReader(f.(io.ReaderAt), 0, info.Size()), data)
	testcheck.Must(t, err)
	return data
}

// interim writes and finishes an interim file in pieces.
func interim(t *testing.T, h *HDFS, name string, data []byte, o CreateOptions) Writer {
	t.Helper()
	o.Interim = true
	w, err := h.Create(t.Context(), name, o)
	testcheck.Must(t, err)
	for p := range slices.Chunk(data, 100_000) {
		_, err := w.Write(p)
		testcheck.Must(t, err)
	}
	testcheck.Must(t, w.Finish())
	return w
}

// TestSmallFiles checks that interim files of each size have the bytes that were written and the requested mode,
// and keep their identity when they are renamed.
func TestSmallFiles(t *testing.T) {
	h, dir := clusterFS(t, "")
	for _, size := range []int{0, 1, 511, 512, 513, 65535, 65536, 65537, 200_001, smallFile, smallFile + 1, 1 << 20} {
		for _, block := range []int64{0, 1 << 20, 4 << 20} {
			name, data := fmt.Sprintf("%s/w-%d-%d", dir, size, block), noise(size)
			w := interim(t, h, name, data, CreateOptions{Perm: 0o640, BlockSize: block})
			if got := reread(t, w); !bytes.Equal(got, data) || !bytes.Equal(readFile(t, h, name), data) {
				t.Fatalf("%d bytes in blocks of %d came back changed", size, block)
			}
			info, err := h.Stat(t.Context(), name)
			testcheck.Must(t, err)
			said := w.(Finished).Info()
			is, _ := FileID(info)
			if id, ok := FileID(said); !ok || id != is || said.Size() != info.Size() || said.Mode() != info.Mode() || said.Name() != info.Name() || info.Mode() != 0o640 {
				t.Fatalf("the writer says %v, the NameNode %v", said, info)
			}
			testcheck.Must(t, h.RenameFile(t.Context(), name, name+"-named", is))
			info, err = h.Stat(t.Context(), name+"-named")
			testcheck.Must(t, err)
			if id, _ := FileID(info); id != is {
				t.Errorf("the file is another one once it is renamed")
			}
			testcheck.Must(t, w.Abort())
			if open, err := h.BeingWritten(t.Context(), name+"-named"); err != nil || open {
				t.Errorf("the file is still open: %v", err)
			}
		}
	}
}

// TestSmallRefused checks that Finish of a small interim file returns the errors that Create returns for other files, and
// leaves existing files alone.
func TestSmallRefused(t *testing.T) {
	h, dir := clusterFS(t, "")
	there := noise(1000)
	writeFile(t, h, dir+"/there", there, CreateOptions{})
	w, err := h.Create(t.Context(), dir+"/there", CreateOptions{Interim: true})
	testcheck.Must(t, err)
	_, err = w.Write([]byte("other"))
	testcheck.Must(t, err)
	if err := w.Finish(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("finish over a file: %v", err)
	}
	testcheck.Must(t, w.Abort())
	if got := readFile(t, h, dir+"/there"); !bytes.Equal(got, there) {
		t.Errorf("the file that was there has %d bytes now", len(got))
	}
	if _, err := h.Create(t.Context(), dir+"/missing/file", CreateOptions{Interim: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("create in a missing directory: %v", err)
	}
	w, err = h.Create(t.Context(), dir+"/aborted", CreateOptions{Interim: true})
	testcheck.Must(t, err)
	_, err = w.Write(there)
	testcheck.Must(t, err)
	testcheck.Must(t, w.Abort())
	if _, err := w.Write(there); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("write after abort: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w, err = h.Create(ctx, dir+"/cancelled", CreateOptions{Interim: true})
	testcheck.Must(t, err)
	_, err = w.Write(there)
	testcheck.Must(t, err)
	cancel()
	if err := w.Finish(); !errors.Is(err, context.Canceled) {
		t.Errorf("finish without a context: %v", err)
	}
	testcheck.Must(t, w.Abort())
	list, err := h.ReadDir(t.Context(), dir)
	testcheck.Must(t, err)
	if len(list) != 1 {
		t.Errorf("%d files are there", len(list))
	}
}

// TestSmallCalls checks that a small file and its rename need five NameNode calls, and that files that are read back
// share a connection to the DataNode.
func TestSmallCalls(t *testing.T) {
	h, dir := clusterFS(t, "")
	fsys, b := relayed(t, h)
	for i := range 5 {
		name, data := fmt.Sprintf("%s/%d", dir, i), noise(30_000+i)
		w := interim(t, fsys, name, data, CreateOptions{BlockSize: 1 << 20})
		if !bytes.Equal(reread(t, w), data) {
			t.Fatal("the file came back changed")
		}
		id, _ := FileID(w.(Finished).Info())
		testcheck.Must(t, fsys.RenameFile(t.Context(), name, name+"-named", id))
		calls := b.made()
		if i == 0 {
			continue // the first file needs calls for the directory and the servers' defaults
		}
		calls = slices.DeleteFunc(calls, func(m string) bool { return m == "getFileInfo" }) // of the directory, once a second
		if got := slices.Compact(calls); !slices.Equal(got, []string{"create", "addBlock", "complete", "getBlockLocations", "rename2"}) {
			t.Errorf("file %d costs the calls %v", i, got)
		}
		if idle := fsys.dfs.Idle(); idle != 1 {
			t.Errorf("%d connections to the DataNode are idle", idle)
		}
	}
	// Each written file has a connection, and all reads share one.
	if _, dials := b.count(); dials != 5+1 {
		t.Errorf("%d connections to the DataNode", dials)
	}
}

// TestReopenSees checks that changes by another client since the write are noticed.
func TestReopenSees(t *testing.T) {
	h, dir := clusterFS(t, "")
	data := noise(5000)
	for what, change := range map[string]func(name string) error{
		"removed": func(name string) error { return h.Remove(t.Context(), name) },
		"replaced": func(name string) error {
			err := h.Remove(t.Context(), name)
			writeFile(t, h, name, noise(5001)[:5000], CreateOptions{})
			return err
		},
	} {
		w := interim(t, h, dir+"/"+what, data, CreateOptions{})
		testcheck.Must(t, change(dir+"/"+what))
		f, err := w.(Reopener).Reopen(t.Context())
		if what == "removed" {
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a removed file opens: %v", err)
			}
			continue
		}
		testcheck.Must(t, err)
		got, err := io.ReadAll(f)
		testcheck.Must(t, err)
		if bytes.Equal(got, data) {
			t.Error("another file passes for the one that was written")
		}
		testcheck.Must(t, f.Close())
	}
}
