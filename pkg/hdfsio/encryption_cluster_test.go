package hdfsio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/hadoop/kms"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// zoned returns a cluster without HBase whose directories /zone and /denied are encryption zones. Only the user hbase may
// decrypt with the key of the latter.
func zoned(t *testing.T) *testcluster.Cluster {
	return testcluster.Own(t, testcluster.Options{WithoutHBase: true, KMS: true, HDFSSite: map[string]string{"dfs.blocksize": "1048576"},
		Zones: map[string]string{"/zone": testcluster.ZoneKey, "/denied": testcluster.DeniedKey}})
}

// clientOf returns a client of a cluster for a user.
func clientOf(t *testing.T, c *testcluster.Cluster, user string, change func(*HDFSOptions)) *HDFS {
	t.Helper()
	conf, err := LoadConf(func(name string) (string, bool) {
		return map[string]string{"HADOOP_CONF_DIR": c.ConfDir(), "HADOOP_USER_NAME": user}[name], true
	})
	testcheck.Must(t, err)
	root, err := conf.Resolve("hdfs:///")
	testcheck.Must(t, err)
	o, err := conf.HDFSOptions(root, slog.New(slog.NewTextHandler(t.Output(), nil)))
	testcheck.Must(t, err)
	if change != nil {
		change(&o)
	}
	h, err := NewHDFS(o)
	testcheck.Must(t, err)
	t.Cleanup(func() { testcheck.Must(t, h.Close()) })
	return h
}

// marked returns n bytes that repeat a mark, so that they can be found wherever they are stored unencrypted.
func marked(n int, mark string) []byte {
	var b bytes.Buffer
	for b.Len() < n {
		fmt.Fprintf(&b, "%s %d\n", mark, b.Len())
	}
	return b.Bytes()[:n]
}

// TestEncryptionZone reads files that Hadoop wrote to a zone and has Hadoop read files that this package wrote there. DataNodes
// store neither unencrypted.
func TestEncryptionZone(t *testing.T) {
	c := zoned(t)
	h := clientOf(t, c, "hbase", nil)
	mark := "visible-" + testcheck.Name(t)
	local := t.TempDir()
	in, out := filepath.Join(local, "java"), filepath.Join(local, "go")
	testcheck.Must(t, os.Mkdir(in, 0o755))
	sizes := []int{0, 1, 15, 16, 17, 1000, 64<<10 + 3, 256 << 10, 1 << 20, 1<<20 + 1, 3<<20 + 7}
	testcheck.Must(t, h.RemoveAll(t.Context(), "/zone/sub"))
	testcheck.Must(t, h.MkdirAll(t.Context(), "/zone/sub/go", 0o755))
	for i, n := range sizes {
		testcheck.Must(t, os.WriteFile(filepath.Join(in, fmt.Sprint(n)), marked(n, mark), 0o644))
		writePieces(t, h, fmt.Sprintf("/zone/sub/go/%d", n), marked(n, mark), CreateOptions{Interim: i%2 == 0})
	}
	_, err := c.FsShell(t.Context(), []string{"-put", in, "/zone/sub/java"}, []string{"-get", "/zone/sub/go", out})
	testcheck.Must(t, err)
	r := testcheck.Rand(t)
	for _, n := range sizes {
		want := marked(n, mark)
		if got, err := os.ReadFile(filepath.Join(out, fmt.Sprint(n))); err != nil || !bytes.Equal(got, want) {
			t.Errorf("Hadoop reads another file than was written, of %d bytes: %v", n, err)
		}
		for _, by := range []string{"java", "go"} {
			name := fmt.Sprintf("/zone/sub/%s/%d", by, n)
			if got := readFile(t, h, name); !bytes.Equal(got, want) {
				t.Errorf("%s: %d bytes that differ", name, len(got))
			}
			readPlaces(t, h, name, want, r)
			if _, _, err := h.CRC32C(t.Context(), name); !errors.Is(err, ErrNoChecksum) {
				t.Errorf("checksum of %s: %v", name, err)
			}
		}
	}
	writeFile(t, h, "/plain-"+mark, marked(1000, mark), CreateOptions{})
	if n := filesWith(t, filepath.Join(c.Dir(), "data"), mark+" 0"); n != 1 {
		t.Errorf("DataNodes store %d files with the text, want 1: the one outside of the zone", n)
	}
	if err := h.Rename(t.Context(), "/zone/sub/go/1", "/plain-1"); err == nil || !strings.Contains(err.Error(), "encryption zone") {
		t.Errorf("rename out of the zone: %v", err)
	}
}

// writePieces writes a file in pieces of odd sizes, and opens it with its writer.
func writePieces(t *testing.T, h *HDFS, name string, data []byte, o CreateOptions) {
	t.Helper()
	w, err := h.Create(t.Context(), name, o)
	testcheck.Must(t, err)
	defer w.Abort()
	for rest, n := data, 1; len(rest) > 0; n = n*3 + 1 {
		n = min(n, len(rest))
		before := bytes.Clone(rest[:n])
		_, err := w.Write(rest[:n])
		testcheck.Must(t, err)
		if !bytes.Equal(before, rest[:n]) {
			t.Fatal("the writer has changed the caller's bytes")
		}
		rest = rest[n:]
	}
	testcheck.Must(t, w.Finish())
	if again, ok := w.(Reopener); ok {
		f, err := again.Reopen(t.Context())
		testcheck.Must(t, err)
		got, err := io.ReadAll(f)
		if err = errors.Join(err, f.Close()); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s is not what was written: %v", name, err)
		}
	}
}

// readPlaces compares random parts of a file.
func readPlaces(t *testing.T, h *HDFS, name string, want []byte, r *rand.Rand) {
	t.Helper()
	f, err := h.Open(t.Context(), name)
	testcheck.Must(t, err)
	defer f.Close()
	for range min(100, len(want)) {
		off := r.IntN(len(want))
		p := make([]byte, 1+r.IntN(min(100<<10, len(want)-off)))
		if _, err := f.(io.ReaderAt).ReadAt(p, int64(off)); err != nil || !bytes.Equal(p, want[off:off+len(p)]) {
			t.Fatalf("%s, %d bytes at %d differ: %v", name, len(p), off, err)
		}
	}
}

// filesWith returns the number of block files below a directory that contain a text.
func filesWith(t *testing.T, dir, text string) (n int) {
	t.Helper()
	testcheck.Must(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !strings.HasPrefix(d.Name(), "blk_") || strings.HasSuffix(d.Name(), ".meta") {
			return nil // of a directory that was removed meanwhile
		}
		if data, err := os.ReadFile(name); err == nil && bytes.Contains(data, []byte(text)) {
			n++
		}
		return nil
	}))
	return n
}

// TestDeniedKey checks that a user who may read a file but not decrypt with its key gets an error that names the key, and leaves no
// file behind, and that the zone of a path is found by users who may not read the path.
func TestDeniedKey(t *testing.T) {
	c := zoned(t)
	admin, alice := clientOf(t, c, "hbase", nil), clientOf(t, c, "alice", nil)
	for _, zone := range []string{"/zone", "/denied"} {
		testcheck.Must(t, admin.RemoveAll(t.Context(), zone+"/shut"))
		testcheck.Must(t, admin.Chmod(t.Context(), zone, 0o777))
		testcheck.Must(t, admin.MkdirAll(t.Context(), zone+"/shut/in", 0o755))
		writeFile(t, admin, zone+"/shut/in/f", []byte("text"), CreateOptions{Perm: 0o644})
		testcheck.Must(t, admin.Chmod(t.Context(), zone+"/shut", 0o711))
	}
	if got := readFile(t, alice, "/zone/shut/in/f"); string(got) != "text" {
		t.Errorf("the file with the key for all has %q", got)
	}
	denied := func(err error) {
		t.Helper()
		key, ok := errors.AsType[*KeyError](err)
		if !ok || !key.Final() || !errors.Is(err, kms.ErrDenied) || key.Key != "k2@0" || !strings.Contains(err.Error(), "user alice may not decrypt with key k2@0") {
			t.Errorf("%v, want a denied key", err)
		}
	}
	_, err := alice.Open(t.Context(), "/denied/shut/in/f")
	denied(err)
	_, err = alice.Create(t.Context(), "/denied/made", CreateOptions{})
	denied(err)
	w, err := alice.Create(t.Context(), "/denied/made", CreateOptions{Interim: true})
	testcheck.Must(t, err)
	_, err = w.Write([]byte("text"))
	testcheck.Must(t, err)
	denied(w.Finish())
	if admin.exists(t.Context(), "/denied/made") {
		t.Error("a file is left that could not be encrypted")
	}
	testcheck.Must(t, admin.MkdirAll(t.Context(), "/private/in", 0o700))
	testcheck.Must(t, admin.Chmod(t.Context(), "/private", 0o700))
	for name, want := range map[string]string{
		"/private/in": "", "/private/in/new": "", "/zone": "/zone", "/zone/shut": "/zone", "/zone/shut/in/f": "/zone", "/zone/shut/new/one": "/zone", "/": "", "/tmp": "", "/tmp/new": "", "/denied/x": "/denied",
	} {
		for user, h := range map[string]*HDFS{"hbase": admin, "alice": alice} {
			if got, err := h.Zone(t.Context(), name); err != nil || got.Root != want {
				t.Errorf("%s sees %s in the zone %v, %v, want %q", user, name, got, err, want)
			}
		}
	}
}

// TestKeysOutOfReach checks that reads and writes wait for a KMS that is down, as long as for a NameNode, and continue when it is back.
func TestKeysOutOfReach(t *testing.T) {
	c := zoned(t)
	server := c.Daemon(testcluster.KMS)
	h := clientOf(t, c, "hbase", nil)
	testcheck.Must(t, h.RemoveAll(t.Context(), "/zone/away"))
	testcheck.Must(t, h.MkdirAll(t.Context(), "/zone/away", 0o755))
	writeFile(t, h, "/zone/away/f", []byte("text"), CreateOptions{})
	testcheck.Must(t, server.Kill(t.Context()))
	if got := readFile(t, h, "/zone/away/f"); string(got) != "text" {
		t.Errorf("with a remembered key the file has %q", got)
	}
	short := clientOf(t, c, "hbase", func(o *HDFSOptions) { o.RetryTimeout = time.Second })
	_, err := short.Open(t.Context(), "/zone/away/f")
	if key, ok := errors.AsType[*KeyError](err); !ok || key.Final() || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("a KMS that is away: %v", err)
	}
	_, err = short.Create(t.Context(), "/zone/away/new", CreateOptions{})
	if key, ok := errors.AsType[*KeyError](err); !ok || key.Final() {
		t.Errorf("create while the KMS is away: %v", err)
	}
	late := clientOf(t, c, "hbase", nil)
	done := make(chan error, 1)
	go func() {
		w, err := late.Create(t.Context(), "/zone/away/late", CreateOptions{})
		if err == nil {
			_, err = w.Write([]byte("late"))
			err = errors.Join(err, w.Finish())
		}
		done <- err
	}()
	testcheck.Must(t, server.Restart(t.Context()))
	testcheck.Must(t, server.WaitReady(t.Context()))
	testcheck.Must(t, <-done)
	if got := readFile(t, clientOf(t, c, "hbase", nil), "/zone/away/late"); string(got) != "late" {
		t.Errorf("the late file has %q", got)
	}
	if h.exists(t.Context(), "/zone/away/new") {
		t.Error("a file is left that could not be encrypted")
	}
}
