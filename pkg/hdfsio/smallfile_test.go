package hdfsio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"slices"
	"sync/atomic"
	"testing"

	"bulkload/internal/testcheck"
)

// reread is what a finished writer finds of its file.
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

// TestSmallFiles: interim files of each size are what was written, have the mode that was asked for and keep their
// identity when they are renamed.
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

// TestSmallRefused: what Create says of other files, Finish says of small interim ones, and nothing is done to what is there.
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

// TestSmallCalls: a small file with its name costs five calls of the NameNode, and those that are read again share a
// connection to the DataNode.
func TestSmallCalls(t *testing.T) {
	h, dir := clusterFS(t, "")
	b := &between{}
	fsys := through(t, h, b)
	var used *peer
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
			continue // the first one has to learn of the directory and of the servers' defaults
		}
		calls = slices.DeleteFunc(calls, func(m string) bool { return m == "getFileInfo" }) // of the directory, once a second
		if got := slices.Compact(calls); !slices.Equal(got, []string{"create", "addBlock", "complete", "getBlockLocations", "rename2"}) {
			t.Errorf("file %d costs the calls %v", i, got)
		}
		fsys.small.peers.mu.Lock()
		if idle := fsys.small.peers.idle; len(idle) != 1 {
			t.Errorf("%d connections to the DataNode are idle", len(idle))
		} else if used == nil {
			used = idle[0]
		}
		fsys.small.peers.mu.Unlock()
	}
}

// TestSmallFaults: a fault of the short way has the file written or read in the way of large ones, or given up.
func TestSmallFaults(t *testing.T) {
	h, dir := clusterFS(t, "")
	data := noise(70_000)
	// once is true for the first call of ours of a method.
	once := func(method string) func(string, []byte) bool {
		var seen atomic.Bool
		return func(m string, request []byte) bool { return m == method && ours(request) && !seen.Swap(true) }
	}
	dataNode := func(serve func(c net.Conn)) func() net.Addr {
		var l net.Listener
		return func() net.Addr {
			if l == nil {
				l = testcheck.Serve(t, serve)
			}
			return l.Addr()
		}
	}
	written := func(serve func(c net.Conn)) *between {
		at, hit := dataNode(serve), once("addBlock")
		return &between{answer: func(m string, request, answer []byte) ([]byte, bool) {
			if hit(m, request) {
				return elsewhere(answer, 0, at()), true
			}
			return answer, true
		}}
	}
	read := func(serve func(c net.Conn)) *between {
		at := dataNode(serve)
		var seen atomic.Bool
		return &between{answer: func(m string, _, answer []byte) ([]byte, bool) {
			if m == "getBlockLocations" && !seen.Swap(true) {
				return elsewhere(answer, 2, at()), true
			}
			return answer, true
		}}
	}
	lost := func(method string) *between {
		hit := once(method)
		return &between{answer: func(m string, request, answer []byte) ([]byte, bool) { return answer, !hit(m, request) }}
	}
	cut := func(method string) *between {
		hit := once(method)
		return &between{ask: func(m string, request []byte) bool { return !hit(m, request) }}
	}
	answers := func(method string, answer []byte) *between {
		hit := once(method)
		return &between{answer: func(m string, request, was []byte) ([]byte, bool) {
			if hit(m, request) {
				return answer, true
			}
			return was, true
		}}
	}
	for _, c := range []struct {
		name    string
		fault   *between
		rewrite bool // the file is given up: whether what is there is ours cannot be determined
	}{
		{"create is not asked for", cut("create"), false},
		{"the answer to create is lost", lost("create"), true},
		{"addBlock is not asked for", cut("addBlock"), false},
		{"the answer to addBlock is lost", lost("addBlock"), false},
		{"the answer to addBlock is none", answers("addBlock", []byte("\xff")), false},
		{"the answer to addBlock is empty", answers("addBlock", nil), false},
		{"complete is not asked for", cut("complete"), false},
		{"the answer to complete is lost", lost("complete"), false},
		{"complete says not yet", answers("complete", appendNumber(nil, 1, 0)), false},
		{"the answer to the defaults is none", noDefaults(), false},
		{"the DataNode ends the connection", written(func(net.Conn) {}), false},
		{"the DataNode refuses the block", written(func(c net.Conn) {
			if _, ok := takeOperation(c); ok {
				c.Write(answerStatus(5))
			}
		}), false},
		{"the DataNode does not answer in form", written(func(c net.Conn) {
			if _, ok := takeOperation(c); ok {
				c.Write([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"))
			}
		}), false},
		{"the DataNode acknowledges another packet", written(func(c net.Conn) {
			if _, ok := takeOperation(c); ok {
				c.Write(append(answerStatus(0), acknowledge(7, 0)...))
				io.Copy(io.Discard, c)
			}
		}), false},
		{"the DataNode cannot write a packet", written(func(c net.Conn) {
			if _, ok := takeOperation(c); ok {
				c.Write(append(answerStatus(0), acknowledge(0, 1)...))
				io.Copy(io.Discard, c)
			}
		}), false},
		{"the DataNode acknowledges for nobody", written(func(c net.Conn) {
			if _, ok := takeOperation(c); ok {
				c.Write(append(answerStatus(0), acknowledge(0)...))
				io.Copy(io.Discard, c)
			}
		}), false},
		{"getBlockLocations is not asked for", cut("getBlockLocations"), false},
		{"the block is not where it is said", read(func(net.Conn) {}), false},
		{"the block is damaged", read(func(c net.Conn) {
			if _, ok := takeOperation(c); !ok {
				return
			}
			s := usualShape
			s.damage = 100
			c.Write(s.answer(data, readRequest{end: int64(len(data))}))
		}), false},
		{"the block is too short", read(func(c net.Conn) {
			if _, ok := takeOperation(c); !ok {
				return
			}
			c.Write(usualShape.answer(data[:1024], readRequest{end: 1024}))
		}), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			fsys := through(t, h, c.fault)
			name := fmt.Sprintf("%s/%x", dir, c.name)
			w, err := fsys.Create(t.Context(), name, CreateOptions{Interim: true, BlockSize: 1 << 20})
			testcheck.Must(t, err)
			_, err = w.Write(data)
			testcheck.Must(t, err)
			err = w.Finish()
			if c.rewrite {
				if !errors.Is(err, ErrRewrite) {
					t.Fatalf("finish: %v", err)
				}
				testcheck.Must(t, w.Abort())
				return
			}
			testcheck.Must(t, err)
			if !bytes.Equal(reread(t, w), data) || !bytes.Equal(readFile(t, h, name), data) {
				t.Fatal("the file came back changed")
			}
			info, err := h.Stat(t.Context(), name)
			testcheck.Must(t, err)
			is, _ := FileID(info)
			if id, _ := FileID(w.(Finished).Info()); id != is {
				t.Error("the writer takes another file for its own")
			}
		})
	}
}

// noDefaults has no answer to the first question for the servers' defaults.
func noDefaults() *between {
	var seen atomic.Bool
	return &between{answer: func(m string, _, answer []byte) ([]byte, bool) {
		if m == "getServerDefaults" && !seen.Swap(true) {
			return []byte("\xff"), true
		}
		return answer, true
	}}
}

// TestReopenSees: what somebody else has done to the file since is seen.
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
