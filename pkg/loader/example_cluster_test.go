package loader_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
)

// TestExample runs what Example shows on a real cluster.
func TestExample(t *testing.T) {
	t.Parallel()
	dir := testcluster.Shared(t).ConfDir()
	conf, err := hdfsio.LoadConf(func(name string) (string, bool) { return dir, name == "HADOOP_CONF_DIR" })
	testcheck.Must(t, err)
	table := loader.TableName{Namespace: "loader_test", Qualifier: "example" + testcheck.Name(t)}
	makeTable(t, conf, table)
	file := writeOrders(t, conf, "/tmp/"+table.Qualifier)

	var out strings.Builder
	testcheck.Must(t, load(t.Context(), &out, conf, table.String(), file))
	want := "1 file loaded into 1 region\norder-1 f:total = 3.00\norder-2 f:total = 17.50\norder-3 f:total = 9.90\n"
	if out.String() != want {
		t.Errorf("printed\n%swant\n%s", &out, want)
	}
}

// makeTable creates a table with one family, and deletes it at the end.
func makeTable(t *testing.T, conf *hdfsio.Conf, table loader.TableName) {
	t.Helper()
	user, err := conf.User()
	testcheck.Must(t, err)
	cluster, err := loader.Dial(t.Context(), loader.Config{Quorum: conf.Quorum(), Root: conf.Znode(), EffectiveUser: user}, nil)
	testcheck.Must(t, err)
	testcheck.Must(t, cluster.CreateTable(t.Context(), loader.TableSpec{Name: table, Families: []loader.Family{{Name: "f"}}, CreateNamespace: true}))
	t.Cleanup(func() {
		testcheck.Must(t, cluster.DeleteTable(context.WithoutCancel(t.Context()), table))
		testcheck.Must(t, cluster.Close())
	})
}

// writeOrders writes an HFile below a directory of HDFS, which is removed at the end.
func writeOrders(t *testing.T, conf *hdfsio.Conf, dir string) loader.HFile {
	t.Helper()
	place, err := conf.Resolve("hdfs://" + dir + "/f/5f2d8c90")
	testcheck.Must(t, err)
	options, err := conf.HDFSOptions(place, nil)
	testcheck.Must(t, err)
	fsys, err := hdfsio.NewHDFS(options)
	testcheck.Must(t, err)
	t.Cleanup(func() {
		testcheck.Must(t, fsys.RemoveAll(context.WithoutCancel(t.Context()), dir))
		testcheck.Must(t, fsys.Close())
	})
	testcheck.Must(t, fsys.MkdirAll(t.Context(), dir+"/f", 0o755))
	out, err := fsys.Create(t.Context(), place.Path, hdfsio.CreateOptions{})
	testcheck.Must(t, err)
	defer out.Abort()
	w, err := hfile.NewRowWriter(out, hfile.Options{Family: []byte("f")}, hfile.Schema{Qualifiers: [][]byte{[]byte("total")}, Timestamp: 1700000000000})
	testcheck.Must(t, err)
	for i, total := range []string{"3.00", "17.50", "9.90"} {
		testcheck.Must(t, w.AppendRow(fmt.Appendf(nil, "order-%d", i+1), [][]byte{[]byte(total)}))
	}
	stats, err := w.Finish()
	testcheck.Must(t, err)
	testcheck.Must(t, out.Finish())
	return loader.HFile{Family: "f", Path: "hdfs://" + dir + "/f/5f2d8c90", First: stats.FirstRow, Last: stats.LastRow, Size: stats.Bytes, Cells: stats.Cells}
}
