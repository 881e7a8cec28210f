package hdfsio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// faultyFS returns a cluster of two NameNodes and two DataNodes for fault tests, whose servers close connections that
// are idle for a second, and a client that waits seconds where it usually waits a minute.
func faultyFS(t *testing.T) (*testcluster.Cluster, *HDFS, string) {
	t.Helper()
	c := testcluster.Own(t, testcluster.Options{HA: true, DataNodes: 2, WithoutHBase: true,
		CoreSite: map[string]string{
			"ipc.client.idlethreshold": "0", "ipc.client.connection.maxidletime": "400", "ipc.client.connection.idle-scan-interval.ms": "200",
		},
		HDFSSite: map[string]string{"dfs.namenode.heartbeat.recheck-interval": "300000", "dfs.heartbeat.interval": "3"},
	})
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
	dir := "/tmp/hdfsio-" + testcheck.Name(t)
	testcheck.Must(t, h.MkdirAll(t.Context(), dir, 0o755))
	return c, h, dir
}

// pass waits for the time that a fault needs.
func pass(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

// hdfsFaults is a cluster for fault tests, a directory on it, and the bytes of a file.
type hdfsFaults struct {
	cluster *testcluster.Cluster
	fs      *HDFS
	dir     string
	data    []byte
}

// TestHDFSFaults breaks and repairs one cluster in several ways.
func TestHDFSFaults(t *testing.T) {
	c, h, dir := faultyFS(t)
	l := &hdfsFaults{cluster: c, fs: h, dir: dir, data: noise(3 << 20)}
	t.Run("idle connections", l.idleConnections)
	t.Run("datanode killed while it is read", l.deadDataNodeIsReadAround)
	t.Run("datanode frozen while it is written to", l.frozenDataNodeIsLeftOut)
	t.Run("small files on two datanodes", l.smallFilesOnTwoDataNodes)
	t.Run("datanode frozen while a small file is written", l.smallFilesWithoutFrozenDataNode)
	t.Run("namenode frozen", l.frozenNameNode)
	t.Run("failover", l.failover)
}

// idleConnections checks that reads and writes with pauses continue over new connections.
func (l *hdfsFaults) idleConnections(t *testing.T) {
	writeFile(t, l.fs, l.dir+"/idle", l.data, CreateOptions{})
	w, err := l.fs.Create(t.Context(), l.dir+"/slow", CreateOptions{BlockSize: 1 << 20})
	testcheck.Must(t, err)
	_, err = w.Write(l.data[:1<<20])
	testcheck.Must(t, err)
	f, err := l.fs.Open(t.Context(), l.dir+"/idle")
	testcheck.Must(t, err)
	defer f.Close()
	got := make([]byte, len(l.data))
	_, err = io.ReadFull(f, got[:1000])
	testcheck.Must(t, err)
	pass(t, 3*time.Second) // several times the idle limit of the NameNode
	_, err = l.fs.Stat(t.Context(), l.dir)
	testcheck.Must(t, err)
	_, err = io.ReadFull(f, got[1000:])
	testcheck.Must(t, err)
	if !bytes.Equal(got, l.data) {
		t.Error("a read with a pause came back changed")
	}
	// The writer may lose its connection at a point where it cannot continue; then it must return an error.
	if _, err = w.Write(l.data[1<<20:]); err == nil {
		err = w.Finish()
	}
	if err != nil && !errors.Is(err, ErrRewrite) {
		t.Fatal(err)
	}
	t.Logf("a write with a pause: %v", err)
	if err == nil && !bytes.Equal(readFile(t, l.fs, l.dir+"/slow"), l.data) {
		t.Error("a write with a pause came back changed")
	}
	testcheck.Must(t, w.Abort())
}

// deadDataNodeIsReadAround checks that a read continues with replicas of another DataNode when one is killed or frozen.
func (l *hdfsFaults) deadDataNodeIsReadAround(t *testing.T) {
	writeFile(t, l.fs, l.dir+"/read", l.data, CreateOptions{BlockSize: 4 << 20})
	f, err := l.fs.Open(t.Context(), l.dir+"/read")
	testcheck.Must(t, err)
	defer f.Close()
	got := make([]byte, len(l.data))
	_, err = io.ReadFull(f, got[:100])
	testcheck.Must(t, err)
	d := l.cluster.Daemon(testcluster.DataNode)
	testcheck.Must(t, d.Kill(t.Context()))
	_, err = io.ReadFull(f, got[100:])
	testcheck.Must(t, err)
	testcheck.Must(t, d.Restart(t.Context()))
	testcheck.Must(t, d.WaitReady(t.Context()))
	d = l.cluster.Daemon(testcluster.DataNode.Nth(2))
	testcheck.Must(t, d.Pause())
	_, err = f.(io.ReaderAt).ReadAt(got[:2<<20], 0)
	testcheck.Must(t, errors.Join(err, d.Resume()))
	if !bytes.Equal(got, l.data) {
		t.Error("a read with a dead DataNode came back changed")
	}
}

// frozenDataNodeIsLeftOut checks that a write to it ends with ErrRewrite, and that later writes exclude it for a while.
func (l *hdfsFaults) frozenDataNodeIsLeftOut(t *testing.T) {
	d := l.cluster.Daemon(testcluster.DataNode)
	testcheck.Must(t, d.Pause())
	defer d.Resume()
	w, err := l.fs.Create(t.Context(), l.dir+"/frozen", CreateOptions{BlockSize: 4 << 20})
	testcheck.Must(t, err)
	if _, err = w.Write(l.data); err == nil {
		err = w.Finish()
	}
	if !errors.Is(err, ErrRewrite) {
		t.Fatalf("a write to a frozen DataNode: %v", err)
	}
	testcheck.Must(t, w.Abort())
	if n := len(l.fs.avoided()); n != 1 {
		t.Fatalf("%d DataNodes are left out", n)
	}
	// The NameNode still allocates blocks on it; the client does not use it.
	for i := range 4 {
		name := fmt.Sprintf("%s/without-%d", l.dir, i)
		writeFile(t, l.fs, name, l.data, CreateOptions{BlockSize: 4 << 20})
	}
	testcheck.Must(t, d.Resume())
	l.fs.mu.Lock()
	for uuid, n := range l.fs.avoid {
		n.asked = n.asked.Add(-askAgain)
		l.fs.avoid[uuid] = n
	}
	l.fs.mu.Unlock()
	writeFile(t, l.fs, l.dir+"/with", l.data, CreateOptions{})
	if n := len(l.fs.avoided()); n != 0 {
		t.Errorf("%d DataNodes are still left out", n)
	}
}

// smallFilesOnTwoDataNodes checks that a small file with two replicas is written in one pipeline.
func (l *hdfsFaults) smallFilesOnTwoDataNodes(t *testing.T) {
	for i := range 3 {
		small := noise(70_000 * i)
		w := interim(t, l.fs, fmt.Sprintf("%s/two-%d", l.dir, i), small, CreateOptions{BlockSize: 1 << 20, Replication: 2})
		if short := w.(*interimWriter); len(small) > 0 && len(short.file.given.Nodes) != 2 {
			t.Error("a small file with two copies was not written in one pipeline")
		}
		if !bytes.Equal(reread(t, w), small) {
			t.Error("a small file came back changed")
		}
	}
}

// smallFilesWithoutFrozenDataNode checks that small files are written although one DataNode does not answer.
func (l *hdfsFaults) smallFilesWithoutFrozenDataNode(t *testing.T) {
	d := l.cluster.Daemon(testcluster.DataNode)
	testcheck.Must(t, d.Pause())
	defer d.Resume()
	for i := range 4 {
		small := noise(40_000 + i)
		w := interim(t, l.fs, fmt.Sprintf("%s/small-%d", l.dir, i), small, CreateOptions{BlockSize: 1 << 20})
		if !bytes.Equal(reread(t, w), small) {
			t.Error("a small file came back changed")
		}
	}
	testcheck.Must(t, d.Resume())
	l.fs.avoidNone()
}

// frozenNameNode checks that a call ends with its context, and that the next one succeeds when the NameNode is back.
func (l *hdfsFaults) frozenNameNode(t *testing.T) {
	d := l.cluster.Daemon(testcluster.NameNode)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	testcheck.Must(t, d.Pause())
	_, err := l.fs.Stat(ctx, l.dir)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("stat without a NameNode: %v", err)
	}
	testcheck.Must(t, d.Resume())
	_, err = l.fs.Stat(t.Context(), l.dir)
	testcheck.Must(t, err)
}

// failover checks that a file that is being written, names and small files survive a failover of the NameNode.
func (l *hdfsFaults) failover(t *testing.T) {
	w, err := l.fs.Create(t.Context(), l.dir+"/failover", CreateOptions{BlockSize: 4 << 20})
	testcheck.Must(t, err)
	_, err = w.Write(l.data)
	testcheck.Must(t, err)
	testcheck.Must(t, l.cluster.Daemon(testcluster.NameNode).Kill(t.Context()))
	_, err = l.cluster.Failover(t.Context(), testcluster.NameNode)
	testcheck.Must(t, err)
	testcheck.Must(t, l.fs.Rename(t.Context(), l.dir+"/read", l.dir+"/renamed"))
	testcheck.Must(t, w.Finish())
	small := interim(t, l.fs, l.dir+"/small", l.data[:50_000], CreateOptions{BlockSize: 1 << 20})
	if !bytes.Equal(reread(t, small), l.data[:50_000]) {
		t.Error("a small file after a failover came back changed")
	}
	if !bytes.Equal(readFile(t, l.fs, l.dir+"/failover"), l.data) {
		t.Error("a write with a failover came back changed")
	}
	// Later calls do not wait for a first NameNode that is down or standby.
	if first := l.fs.dfs.First(); first != 1 {
		t.Errorf("the next session begins with NameNode %d", first)
	}
	testcheck.Must(t, l.cluster.Daemon(testcluster.NameNode).Restart(t.Context()))
	testcheck.Must(t, l.cluster.Daemon(testcluster.NameNode).WaitReady(t.Context()))
	if _, err := l.fs.Stat(t.Context(), l.dir+"/read"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old name: %v", err)
	}
}
