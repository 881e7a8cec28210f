package hdfsio

import (
	"errors"
	"io/fs"
	"testing"

	"bulkload/internal/test/testcheck"
)

// TestBeingWritten queries a file while it is written, when it is closed, while it is appended to, and when its writer
// has died.
func TestBeingWritten(t *testing.T) {
	h, dir := clusterFS(t, "")
	name := dir + "/file"
	is := func(name string, want bool, size int64) {
		t.Helper()
		open, err := h.BeingWritten(t.Context(), name)
		testcheck.Must(t, err)
		info, err := h.Stat(t.Context(), name)
		testcheck.Must(t, err)
		if open != want || info.Size() != size {
			t.Fatalf("%s: open %v, %d bytes, want %v, %d", name, open, info.Size(), want, size)
		}
	}
	const block = 1 << 20
	w, err := h.Create(t.Context(), name, CreateOptions{BlockSize: block})
	testcheck.Must(t, err)
	is(name, true, 0) // no block yet
	_, err = w.Write(make([]byte, block/2))
	testcheck.Must(t, err)
	is(name, true, 0)
	_, err = w.Write(make([]byte, block))
	testcheck.Must(t, err)
	is(name, true, block)
	testcheck.Must(t, w.Finish())
	is(name, false, 3*block/2)

	s, stop, err := h.acquire(t.Context())
	testcheck.Must(t, err)
	a, err := s.client.Append(name)
	testcheck.Must(t, err)
	is(name, true, 3*block/2)
	_, err = a.Write([]byte("more"))
	testcheck.Must(t, err)
	testcheck.Must(t, a.Close())
	h.release(s, stop, true)
	is(name, false, 3*block/2+4)

	w, err = h.Create(t.Context(), dir+"/empty", CreateOptions{})
	testcheck.Must(t, err)
	testcheck.Must(t, w.Finish())
	is(dir+"/empty", false, 0)

	w, err = h.Create(t.Context(), dir+"/dead", CreateOptions{})
	testcheck.Must(t, err)
	_, err = w.Write([]byte("x"))
	testcheck.Must(t, err)
	w.(*hdfsWriter).giveUp()
	is(dir+"/dead", true, 0)

	is(dir, false, 0)
	if _, err := h.BeingWritten(t.Context(), dir+"/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("a file that is not there: %v", err)
	}
}

// TestBeingWrittenAsksNoDataNode checks that the file is not read, and that later reads work as before.
func TestBeingWrittenAsksNoDataNode(t *testing.T) {
	direct, dir := clusterFS(t, "")
	data := noise(3<<20 + 17)
	writeFile(t, direct, dir+"/blocks", data, CreateOptions{BlockSize: 1 << 20})
	h, r := relayed(t, direct)
	for range 2 {
		if open, err := h.BeingWritten(t.Context(), dir+"/blocks"); open || err != nil {
			t.Fatalf("open %v, %v", open, err)
		}
	}
	if _, dials := r.count(); dials > 0 {
		t.Error("a datanode was asked")
	}
	f, err := h.Open(t.Context(), dir+"/blocks")
	testcheck.Must(t, err)
	defer f.Close()
	checkReadAt(t, f.(*hdfsFile), data)
	if _, dials := r.count(); dials == 0 {
		t.Error("no datanode was asked for the data")
	}
}
