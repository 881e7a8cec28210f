package hdfsio

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// clusterConf returns the configuration of the test cluster.
func clusterConf(t testing.TB) *Conf {
	t.Helper()
	dir := testcluster.Shared(t).ConfDir()
	conf, err := LoadConf(func(name string) (string, bool) {
		switch name {
		case "HADOOP_CONF_DIR", "HBASE_CONF_DIR":
			return dir, true
		}
		return "", false
	})
	testcheck.Must(t, err)
	return conf
}

// clusterFS returns a client for a user, with a new directory that the user may write to.
func clusterFS(t testing.TB, user string) (*HDFS, string) {
	t.Helper()
	conf := clusterConf(t)
	root, err := conf.Resolve("hdfs:///tmp")
	testcheck.Must(t, err)
	o, err := conf.HDFSOptions(root, slog.New(slog.NewTextHandler(t.Output(), nil)))
	testcheck.Must(t, err)
	if user != "" {
		o.User = user
	}
	h, err := NewHDFS(o)
	testcheck.Must(t, err)
	dir := root.Join("hdfsio-" + testcheck.Name(t)).Path
	testcheck.Must(t, h.MkdirAll(t.Context(), dir, 0o755))
	t.Cleanup(func() {
		testcheck.Must(t, h.RemoveAll(context.WithoutCancel(t.Context()), dir))
		testcheck.Must(t, h.Close())
	})
	return h, dir
}

func TestHDFSConformance(t *testing.T) {
	h, dir := clusterFS(t, "")
	conform(t, h, dir)
}

func TestHDFSSeveralBlocks(t *testing.T) {
	h, dir := clusterFS(t, "")
	data := noise(5<<20 + 17)
	name := dir + "/blocks"
	writeFile(t, h, name, data, CreateOptions{BlockSize: 1 << 20})
	f, err := h.Open(t.Context(), name)
	testcheck.Must(t, err)
	defer f.Close()
	checkReadAt(t, f.(*hdfsFile), data)
}

func TestHDFSPermission(t *testing.T) {
	h, dir := clusterFS(t, "")
	testcheck.Must(t, h.Chmod(t.Context(), dir, 0o700))
	other, _ := clusterFS(t, "stranger")
	_, err := other.Stat(t.Context(), dir+"/x")
	if !errors.Is(err, fs.ErrPermission) {
		t.Fatalf("stat in a closed directory: %v", err)
	}
	_, err = other.Create(t.Context(), dir+"/x", CreateOptions{})
	if !errors.Is(err, fs.ErrPermission) {
		t.Fatalf("create in a closed directory: %v", err)
	}
	_, err = other.ReadDir(t.Context(), dir)
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), dir+" belongs to "+h.options.User) {
		t.Errorf("list of a closed directory: %v", err)
	}
	info, err := h.Stat(t.Context(), dir)
	testcheck.Must(t, err)
	if user, _ := Owner(info); user != h.options.User {
		t.Fatalf("owner %q, want %q", user, h.options.User)
	}
}

// TestHDFSSticky checks the translation of special bits in both directions.
func TestHDFSSticky(t *testing.T) {
	h, dir := clusterFS(t, "")
	testcheck.Must(t, h.Chmod(t.Context(), dir, 0o777|fs.ModeSticky))
	checkMode(t, h, dir, fs.ModeDir|fs.ModeSticky|0o777)
}

// TestHDFSCutWhileWriting breaks the connections during a write and a read.
func TestHDFSCutWhileWriting(t *testing.T) {
	direct, dir := clusterFS(t, "")
	h, r := relayed(t, direct)
	data := noise(3 << 20)
	w, err := h.Create(t.Context(), dir+"/cut", CreateOptions{BlockSize: 8 << 20})
	testcheck.Must(t, err)
	_, err = w.Write(data)
	testcheck.Must(t, err)
	r.cut()
	_, err = w.Write(data)
	if err == nil {
		err = w.Finish()
	}
	if !errors.Is(err, ErrRewrite) {
		t.Fatalf("after the DataNode connection broke: %v", err)
	}
	t.Log(err)
	testcheck.Must(t, w.Abort())
	if _, err := h.Stat(t.Context(), dir+"/cut"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("after Abort: %v", err)
	}

	data = noise(24 << 20) // more than sockets buffer, which a reader would still get from a broken connection
	writeFile(t, h, dir+"/read", data, CreateOptions{BlockSize: 32 << 20})
	f, err := h.Open(t.Context(), dir+"/read")
	testcheck.Must(t, err)
	defer f.Close()
	got := make([]byte, 0, len(data))
	p := make([]byte, 100_000)
	_, before := r.count()
	for len(got) < len(data) {
		n, err := f.Read(p)
		testcheck.Must(t, err)
		if got = append(got, p[:n]...); len(got)/(5<<20) > (len(got)-n)/(5<<20) {
			r.cut()
		}
	}
	if _, dials := r.count(); dials-before < 2 {
		t.Errorf("%d connections", dials-before)
	}
	if string(got) != string(data) {
		t.Fatal("a read with broken connections came back changed")
	}
}

// TestHDFSLostAnswers breaks the NameNode connection of idle sessions: calls must succeed.
func TestHDFSLostAnswers(t *testing.T) {
	h, dir := clusterFS(t, "")
	for i := range 5 {
		h.mu.Lock()
		for _, s := range h.free {
			s.conn.Conn.Close()
		}
		h.mu.Unlock()
		name := fmt.Sprintf("%s/%d", dir, i)
		writeFile(t, h, name, []byte("x"), CreateOptions{})
		testcheck.Must(t, h.Rename(t.Context(), name, name+".moved"))
	}
}

func TestHDFSUnreachable(t *testing.T) {
	h, err := NewHDFS(HDFSOptions{Addresses: []string{"127.0.0.1:1"}, User: "u", RetryTimeout: 300 * time.Millisecond})
	testcheck.Must(t, err)
	defer h.Close()
	_, err = h.Stat(t.Context(), "/x")
	var pe *fs.PathError
	if !errors.As(err, &pe) || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Fatalf("no NameNode: %v", err)
	}
	// A cancelled context ends the wait immediately.
	h.options.RetryTimeout = time.Hour
	cause := errors.New("enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 400*time.Millisecond, cause)
	defer cancel()
	if _, err := h.Stat(ctx, "/x"); !errors.Is(err, cause) {
		t.Fatalf("cancelled: %v", err)
	}
}

// TestHDFSNoGoroutineLeft aborts, finishes, cuts and closes, and counts goroutines.
func TestHDFSNoGoroutineLeft(t *testing.T) {
	testcluster.Shared(t)
	before := runtime.NumGoroutine()
	t.Run("work", func(t *testing.T) {
		h, dir := clusterFS(t, "")
		for i := range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			w, err := h.Create(ctx, fmt.Sprintf("%s/%d", dir, i), CreateOptions{})
			testcheck.Must(t, err)
			_, err = w.Write(noise(1 << 20))
			testcheck.Must(t, err)
			if i == 0 {
				testcheck.Must(t, w.Finish())
			}
			cancel()
			testcheck.Must(t, w.Abort())
		}
		f, err := h.Open(t.Context(), dir+"/0")
		testcheck.Must(t, err)
		_, err = f.Read(make([]byte, 10))
		testcheck.Must(t, err)
		testcheck.Must(t, f.Close())
	})
	testcheck.Eventually(t, time.Minute, "the end of all goroutines", func() (bool, any) {
		if n := runtime.NumGoroutine(); n > before {
			buf := make([]byte, 1<<20)
			return false, fmt.Sprintf("%d, %d before\n%s", n, before, buf[:runtime.Stack(buf, true)])
		}
		return true, nil
	})
}

func BenchmarkHDFSWrite(b *testing.B) {
	for _, parallel := range []int{1, 2, 4} {
		b.Run(fmt.Sprintf("files=%d", parallel), func(b *testing.B) {
			if os.Getenv(testcluster.EnvConf) == "" {
				b.Skip("set " + testcluster.EnvConf + " to a running cluster's configuration")
			}
			h, dir := clusterFS(b, "")
			const size = 64 << 20
			piece := noise(1 << 20)
			b.SetBytes(int64(size * parallel))
			b.ReportAllocs()
			round := 0
			for b.Loop() {
				round++
				errs := make(chan error)
				for i := range parallel {
					go func() { errs <- benchWrite(b.Context(), h, fmt.Sprintf("%s/%d-%d", dir, round, i), piece, size) }()
				}
				for range parallel {
					if err := <-errs; err != nil {
						b.Error(err)
					}
				}
				b.StopTimer()
				testcheck.Must(b, h.RemoveAll(b.Context(), dir))
				testcheck.Must(b, h.MkdirAll(b.Context(), dir, 0o755))
				b.StartTimer()
			}
		})
	}
}

func benchWrite(ctx context.Context, h *HDFS, name string, piece []byte, size int) error {
	w, err := h.Create(ctx, name, CreateOptions{BlockSize: int64(size)})
	if err != nil {
		return err
	}
	defer w.Abort()
	for range size / len(piece) {
		if _, err := w.Write(piece); err != nil {
			return err
		}
	}
	return w.Finish()
}
