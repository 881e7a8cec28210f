package hdfsio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"bulkload/internal/testcheck"
	"bulkload/internal/testcluster"
)

// faultyFS is a cluster of two NameNodes and two DataNodes for a test to break, whose servers close connections that are
// idle for a second, with a client that waits seconds where it usually waits a minute.
func faultyFS(t *testing.T) (*testcluster.Cluster, *HDFS, string) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a cluster of its own")
	}
	c, err := testcluster.Start(t.Context(), testcluster.Options{HA: true, DataNodes: 2, WithoutHBase: true,
		CoreSite: map[string]string{
			"ipc.client.idlethreshold": "0", "ipc.client.connection.maxidletime": "400", "ipc.client.connection.idle-scan-interval.ms": "200",
		},
		HDFSSite: map[string]string{"dfs.namenode.heartbeat.recheck-interval": "300000", "dfs.heartbeat.interval": "3"},
	})
	testcheck.Must(t, err)
	t.Cleanup(func() { testcheck.Must(t, c.Stop()) })
	conf, err := LoadConf(func(name string) (string, bool) {
		return map[string]string{"HADOOP_CONF_DIR": c.ConfDir(), "HADOOP_USER_NAME": "hbase"}[name], true
	})
	testcheck.Must(t, err)
	root, err := conf.Resolve("hdfs:///tmp")
	testcheck.Must(t, err)
	if root.Authority != testcluster.Nameservice || len(root.Addresses) != 2 {
		t.Fatalf("location %+v", root)
	}
	o, err := conf.HDFSOptions(root, slog.New(slog.NewTextHandler(t.Output(), nil)))
	testcheck.Must(t, err)
	o.IOTimeout = 5 * time.Second
	h, err := NewHDFS(o)
	testcheck.Must(t, err)
	t.Cleanup(func() { testcheck.Must(t, h.Close()) })
	dir := fmt.Sprintf("/tmp/hdfsio-%016x", rand.Uint64())
	testcheck.Must(t, h.MkdirAll(t.Context(), dir, 0o755))
	return c, h, dir
}

// pass lets time pass that a fault needs.
func pass(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

// TestHDFSFaults breaks one cluster after the other way and repairs it again.
func TestHDFSFaults(t *testing.T) {
	c, h, dir := faultyFS(t)
	data := noise(3 << 20)
	t.Run("idle connections", func(t *testing.T) {
		writeFile(t, h, dir+"/idle", data, CreateOptions{})
		w, err := h.Create(t.Context(), dir+"/slow", CreateOptions{BlockSize: 1 << 20})
		testcheck.Must(t, err)
		_, err = w.Write(data[:1<<20])
		testcheck.Must(t, err)
		f, err := h.Open(t.Context(), dir+"/idle")
		testcheck.Must(t, err)
		defer f.Close()
		got := make([]byte, len(data))
		_, err = io.ReadFull(f, got[:1000])
		testcheck.Must(t, err)
		pass(t, 3*time.Second) // several times what the NameNode bears
		_, err = h.Stat(t.Context(), dir)
		testcheck.Must(t, err)
		_, err = io.ReadFull(f, got[1000:])
		testcheck.Must(t, err)
		if !bytes.Equal(got, data) {
			t.Error("a read with a pause came back changed")
		}
		// The writer may lose its connection at a place where it cannot continue; then it must say so.
		if _, err = w.Write(data[1<<20:]); err == nil {
			err = w.Finish()
		}
		if err != nil && !errors.Is(err, ErrRewrite) {
			t.Fatal(err)
		}
		t.Logf("a write with a pause: %v", err)
		if err == nil && !bytes.Equal(readFile(t, h, dir+"/slow"), data) {
			t.Error("a write with a pause came back changed")
		}
		testcheck.Must(t, w.Abort())
	})
	t.Run("datanode killed while it is read", func(t *testing.T) {
		writeFile(t, h, dir+"/read", data, CreateOptions{BlockSize: 4 << 20})
		f, err := h.Open(t.Context(), dir+"/read")
		testcheck.Must(t, err)
		defer f.Close()
		got := make([]byte, len(data))
		_, err = io.ReadFull(f, got[:100])
		testcheck.Must(t, err)
		d := c.Daemon(testcluster.DataNode)
		testcheck.Must(t, d.Kill(t.Context()))
		_, err = io.ReadFull(f, got[100:])
		testcheck.Must(t, err)
		testcheck.Must(t, d.Restart(t.Context()))
		testcheck.Must(t, d.WaitReady(t.Context()))
		d = c.Daemon(testcluster.DataNode.Nth(2))
		testcheck.Must(t, d.Pause())
		_, err = f.(io.ReaderAt).ReadAt(got[:2<<20], 0)
		testcheck.Must(t, errors.Join(err, d.Resume()))
		if !bytes.Equal(got, data) {
			t.Error("a read with a dead DataNode came back changed")
		}
	})
	t.Run("datanode frozen while it is written to", func(t *testing.T) {
		d := c.Daemon(testcluster.DataNode)
		testcheck.Must(t, d.Pause())
		defer d.Resume()
		w, err := h.Create(t.Context(), dir+"/frozen", CreateOptions{BlockSize: 4 << 20})
		testcheck.Must(t, err)
		if _, err = w.Write(data); err == nil {
			err = w.Finish()
		}
		if !errors.Is(err, ErrRewrite) {
			t.Fatalf("a write to a frozen DataNode: %v", err)
		}
		testcheck.Must(t, w.Abort())
		if n := len(h.avoided()); n != 1 {
			t.Fatalf("%d DataNodes are left out", n)
		}
		// The NameNode continues to hand it out; the client does not.
		for i := range 4 {
			name := fmt.Sprintf("%s/without-%d", dir, i)
			writeFile(t, h, name, data, CreateOptions{BlockSize: 4 << 20})
		}
		testcheck.Must(t, d.Resume())
		h.mu.Lock()
		for uuid, n := range h.avoid {
			n.asked = n.asked.Add(-askAgain)
			h.avoid[uuid] = n
		}
		h.mu.Unlock()
		writeFile(t, h, dir+"/with", data, CreateOptions{})
		if n := len(h.avoided()); n != 0 {
			t.Errorf("%d DataNodes are still left out", n)
		}
	})
	t.Run("small files on two datanodes", func(t *testing.T) {
		for i := range 3 {
			small := noise(70_000 * i)
			w := interim(t, h, fmt.Sprintf("%s/two-%d", dir, i), small, CreateOptions{BlockSize: 1 << 20, Replication: 2})
			if short := w.(*interimWriter); len(small) > 0 && (short.file == nil || len(short.block.nodes) != 2) {
				t.Error("a small file with two copies was not written in one pipeline")
			}
			if !bytes.Equal(reread(t, w), small) {
				t.Error("a small file came back changed")
			}
		}
	})
	t.Run("datanode frozen while a small file is written", func(t *testing.T) {
		d := c.Daemon(testcluster.DataNode)
		testcheck.Must(t, d.Pause())
		defer d.Resume()
		for i := range 4 {
			small := noise(40_000 + i)
			w := interim(t, h, fmt.Sprintf("%s/small-%d", dir, i), small, CreateOptions{BlockSize: 1 << 20})
			if !bytes.Equal(reread(t, w), small) {
				t.Error("a small file came back changed")
			}
		}
		testcheck.Must(t, d.Resume())
		h.avoidNone()
	})
	t.Run("namenode frozen", func(t *testing.T) {
		d := c.Daemon(testcluster.NameNode)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		testcheck.Must(t, d.Pause())
		_, err := h.Stat(ctx, dir)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("stat without a NameNode: %v", err)
		}
		testcheck.Must(t, d.Resume())
		_, err = h.Stat(t.Context(), dir)
		testcheck.Must(t, err)
	})
	t.Run("failover", func(t *testing.T) {
		w, err := h.Create(t.Context(), dir+"/failover", CreateOptions{BlockSize: 4 << 20})
		testcheck.Must(t, err)
		_, err = w.Write(data)
		testcheck.Must(t, err)
		testcheck.Must(t, c.Daemon(testcluster.NameNode).Kill(t.Context()))
		_, err = c.Failover(t.Context(), testcluster.NameNode)
		testcheck.Must(t, err)
		testcheck.Must(t, h.Rename(t.Context(), dir+"/read", dir+"/renamed"))
		testcheck.Must(t, w.Finish())
		small := interim(t, h, dir+"/small", data[:50_000], CreateOptions{BlockSize: 1 << 20})
		if !bytes.Equal(reread(t, small), data[:50_000]) {
			t.Error("a small file after a failover came back changed")
		}
		if !bytes.Equal(readFile(t, h, dir+"/failover"), data) {
			t.Error("a write with a failover came back changed")
		}
		// A dead or standing-by first NameNode costs later calls nothing.
		h.mu.Lock()
		first := h.first
		h.mu.Unlock()
		if first != 1 {
			t.Errorf("the next session begins with NameNode %d", first)
		}
		testcheck.Must(t, c.Daemon(testcluster.NameNode).Restart(t.Context()))
		testcheck.Must(t, c.Daemon(testcluster.NameNode).WaitReady(t.Context()))
		if _, err := h.Stat(t.Context(), dir+"/read"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the old name: %v", err)
		}
	})
}
