package hdfsio

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// TestUnsupportedFeatures has Hadoop make directories of erasure coding policies: files there are refused by name wherever they are
// opened, summed or created, and nothing is left behind.
func TestUnsupportedFeatures(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a cluster of its own")
	}
	t.Setenv("HADOOP_USER_NAME", "hbase") // the superuser of HDFS
	c, err := testcluster.Start(t.Context(), testcluster.Options{WithoutHBase: true, DataNodes: 3})
	testcheck.Must(t, err)
	t.Cleanup(func() { testcheck.Must(t, c.Stop()) })
	java := func(class string, args ...string) {
		t.Helper()
		if out, err := c.JavaClass(t.Context(), "org.apache.hadoop."+class, args...); err != nil {
			t.Fatalf("%s %s: %v\n%s", class, strings.Join(args, " "), err, out)
		}
	}
	text := filepath.Join(t.TempDir(), "t.csv")
	testcheck.Must(t, os.WriteFile(text, []byte("id,v\n1,plain\n"), 0o644))
	conf, err := LoadConf(func(name string) (string, bool) {
		return map[string]string{"HADOOP_CONF_DIR": c.ConfDir(), "HADOOP_USER_NAME": "hbase"}[name], true
	})
	testcheck.Must(t, err)
	root, err := conf.Resolve("hdfs:///")
	testcheck.Must(t, err)
	o, err := conf.HDFSOptions(root, slog.New(slog.NewTextHandler(t.Output(), nil)))
	testcheck.Must(t, err)
	h, err := NewHDFS(o)
	testcheck.Must(t, err)
	t.Cleanup(func() { testcheck.Must(t, h.Close()) })
	for _, dir := range []string{"/coded", "/plain"} {
		testcheck.Must(t, h.MkdirAll(t.Context(), dir, 0o755))
	}
	java("hdfs.tools.ECAdmin", "-enablePolicy", "-policy", "XOR-2-1-1024k")
	java("hdfs.tools.ECAdmin", "-setPolicy", "-path", "/coded", "-policy", "XOR-2-1-1024k")
	java("fs.FsShell", "-put", text, "/coded/t.csv")

	refused := func(err error, want string) {
		t.Helper()
		if feature, ok := errors.AsType[*FeatureError](err); !ok || !strings.Contains(err.Error(), want) || len(err.Error()) > 160 {
			t.Errorf("%v (%+v), want a FeatureError with %q in at most 160 characters", err, feature, want)
		}
	}
	for dir, want := range map[string]string{
		"/coded": "erasure coded (XOR-2-1-1024k)",
	} {
		_, err := h.Open(t.Context(), dir+"/t.csv")
		refused(err, want)
		if _, _, err = h.CRC32C(t.Context(), dir+"/t.csv"); !errors.Is(err, ErrNoChecksum) || !strings.Contains(err.Error(), want) {
			t.Errorf("CRC32C of a file in %s: %v", dir, err)
		}
		for _, o := range []CreateOptions{{}, {Interim: true}} {
			_, err = h.Create(t.Context(), dir+"/made", o)
			refused(err, want)
		}
		if h.exists(t.Context(), dir+"/made") {
			t.Errorf("%s/made is left", dir)
		}
	}
	writeFile(t, h, "/plain/t.csv", []byte("x"), CreateOptions{})
	if got := readFile(t, h, "/plain/t.csv"); string(got) != "x" {
		t.Errorf("/plain/t.csv has %q", got)
	}
}
