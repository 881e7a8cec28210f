package loader_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"bulkload/internal/testcheck"
	"bulkload/internal/testcluster"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
)

// TestExample runs what Example shows on a real cluster.
func TestExample(t *testing.T) {
	t.Parallel()
	dir := testcluster.Shared(t).ConfDir()
	conf, err := hdfsio.LoadConf(func(name string) (string, bool) { return dir, name == "HADOOP_CONF_DIR" })
	must(t, err)
	table := loader.TableName{Namespace: "loader_test", Qualifier: "example" + testcheck.Name(t)}
	makeTable(t, conf, table)
	file := writeOrders(t, conf, "/tmp/"+table.Qualifier)

	var out strings.Builder
	must(t, load(t.Context(), &out, conf, table.String(), file))
	want := "1 file loaded into 1 region\norder-1 f:total = 3.00\norder-2 f:total = 17.50\norder-3 f:total = 9.90\n"
	if out.String() != want {
		t.Errorf("printed\n%swant\n%s", &out, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// makeTable makes a table of one family and deletes it at the end.
func makeTable(t *testing.T, conf *hdfsio.Conf, table loader.TableName) {
	t.Helper()
	user, err := conf.User()
	must(t, err)
	cluster, err := loader.Dial(t.Context(), loader.Config{Quorum: conf.Quorum(), Root: conf.Znode(), EffectiveUser: user}, nil)
	must(t, err)
	must(t, cluster.CreateTable(t.Context(), loader.TableSpec{Name: table, Families: []loader.Family{{Name: "f"}}, CreateNamespace: true}))
	t.Cleanup(func() {
		must(t, cluster.DeleteTable(context.WithoutCancel(t.Context()), table))
		must(t, cluster.Close())
	})
}

// writeOrders writes an HFile below a directory of HDFS, which goes at the end.
func writeOrders(t *testing.T, conf *hdfsio.Conf, dir string) loader.HFile {
	t.Helper()
	place, err := conf.Resolve("hdfs://" + dir + "/f/5f2d8c90")
	must(t, err)
	options, err := conf.HDFSOptions(place, nil)
	must(t, err)
	fsys, err := hdfsio.NewHDFS(options)
	must(t, err)
	t.Cleanup(func() {
		must(t, fsys.RemoveAll(context.WithoutCancel(t.Context()), dir))
		must(t, fsys.Close())
	})
	must(t, fsys.MkdirAll(t.Context(), dir+"/f", 0o755))
	out, err := fsys.Create(t.Context(), place.Path, hdfsio.CreateOptions{})
	must(t, err)
	defer out.Abort()
	w, err := hfile.NewRowWriter(out, hfile.Options{Family: []byte("f")}, hfile.Schema{Qualifiers: [][]byte{[]byte("total")}, Timestamp: 1700000000000})
	must(t, err)
	for i, total := range []string{"3.00", "17.50", "9.90"} {
		must(t, w.AppendRow(fmt.Appendf(nil, "order-%d", i+1), [][]byte{[]byte(total)}))
	}
	stats, err := w.Finish()
	must(t, err)
	must(t, out.Finish())
	return loader.HFile{Family: "f", Path: "hdfs://" + dir + "/f/5f2d8c90", First: stats.FirstRow, Last: stats.LastRow, Size: stats.Bytes, Cells: stats.Cells}
}
