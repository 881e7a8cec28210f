package hdfsio

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// TestObserver lists an observer NameNode first, which lags behind the active one. The client must skip it, so that a file just created is
// read and listed, and a removed one is not.
func TestObserver(t *testing.T) {
	if testing.Short() {
		t.Skip("needs two NameNodes")
	}
	c := testcluster.Own(t, testcluster.Options{HA: true, WithoutHBase: true})
	active, err := c.ActiveNameNode(t.Context())
	testcheck.Must(t, err)
	if active != testcluster.NameNode {
		t.Fatalf("%s is active", active)
	}
	observer := testcluster.NameNode.Nth(2)
	testcheck.Must(t, c.Observe(t.Context(), observer))
	t.Cleanup(func() { testcheck.Must(t, c.EndObserving(context.WithoutCancel(t.Context()), observer)) })

	conf, err := LoadConf(func(name string) (string, bool) { return c.ConfDir(), name == "HADOOP_CONF_DIR" })
	testcheck.Must(t, err)
	l, err := conf.Resolve("hdfs:///tmp")
	testcheck.Must(t, err)
	o, err := conf.HDFSOptions(l, nil)
	testcheck.Must(t, err)
	slices.Reverse(o.Addresses) // the observer is asked first
	h, err := NewHDFS(o)
	testcheck.Must(t, err)
	defer h.Close()
	dir := "/tmp/" + testcheck.Name(t)
	testcheck.Must(t, h.MkdirAll(t.Context(), dir, 0o755))
	for i := range 20 {
		name := dir + "/" + strings.Repeat("x", i+1)
		w, err := h.Create(t.Context(), name, CreateOptions{Perm: 0o644})
		testcheck.Must(t, err)
		_, err = io.WriteString(w, name)
		testcheck.Must(t, err)
		testcheck.Must(t, w.Finish())
		f, err := h.Open(t.Context(), name)
		testcheck.Must(t, err)
		b, err := io.ReadAll(f)
		testcheck.Must(t, f.Close())
		if err != nil || string(b) != name {
			t.Fatalf("file %d: %q, %v", i, b, err)
		}
		if list, err := h.ReadDir(t.Context(), dir); err != nil || len(list) != i+1 {
			t.Fatalf("%d files are listed of %d: %v", len(list), i+1, err)
		}
	}
	testcheck.Must(t, h.RemoveAll(t.Context(), dir))
	if _, err := h.Stat(t.Context(), dir); err == nil {
		t.Error("a directory that is gone is there")
	}
}
