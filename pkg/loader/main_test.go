package loader

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"slices"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
)

func TestMain(m *testing.M) { testcluster.Main(m) }

// bench has a test's access to the running cluster: this package's client, HBase's client, and the file system.
type bench struct {
	*Cluster
	cluster *testcluster.Cluster
	conf    *hdfsio.Conf
	root    hdfsio.Location // hdfs://host:port/
	fs      *hdfsio.HDFS
	dir     string // a directory on HDFS, removed at the end
	user    string
}

// newBench connects as the operating system's user; configure may change the configuration.
func newBench(t testing.TB, configure func(*Config)) *bench {
	t.Helper()
	return newBenchOn(t, testcluster.Shared(t), configure)
}

// newBenchOn connects to a cluster that only one test uses.
func newBenchOn(t testing.TB, cluster *testcluster.Cluster, configure func(*Config)) *bench {
	t.Helper()
	dir := cluster.ConfDir()
	conf, err := hdfsio.LoadConf(func(name string) (string, bool) { return dir, name == "HADOOP_CONF_DIR" })
	testcheck.Must(t, err)
	b := &bench{cluster: cluster, conf: conf}
	b.root, err = conf.Resolve("hdfs:///")
	testcheck.Must(t, err)
	b.user, err = conf.User()
	testcheck.Must(t, err)
	cfg := Config{Quorum: conf.Quorum(), Root: conf.Znode(), EffectiveUser: b.user}
	if configure != nil {
		configure(&cfg)
	}
	b.Cluster, err = Dial(t.Context(), cfg, slog.New(slog.NewTextHandler(t.Output(), nil)))
	testcheck.Must(t, err)
	b.fs = b.fsAs(t, b.user)
	b.dir = "/tmp/loader-" + testcheck.Name(t)
	testcheck.Must(t, b.fs.MkdirAll(t.Context(), b.dir, 0o755))
	t.Cleanup(func() {
		testcheck.Must(t, b.fs.RemoveAll(context.WithoutCancel(t.Context()), b.dir))
		testcheck.Must(t, b.fs.Close())
		testcheck.Must(t, b.Close())
	})
	return b
}

// fsAs returns the file system with the rights of a user.
func (b *bench) fsAs(t testing.TB, user string) *hdfsio.HDFS {
	t.Helper()
	o, err := b.conf.HDFSOptions(b.root, nil)
	testcheck.Must(t, err)
	o.User = user
	h, err := hdfsio.NewHDFS(o)
	testcheck.Must(t, err)
	t.Cleanup(func() { h.Close() })
	return h
}

var testFamilies = []Family{{Name: "f", Compression: testcluster.Codec(), Encoding: "FAST_DIFF"}, {Name: "g"}}

// table creates a table and drops it at the end.
func (b *bench) table(t testing.TB, splits ...string) TableName {
	t.Helper()
	// Compactions would change the number of files, which tests count.
	spec := TableSpec{Families: testFamilies, Attributes: map[string]string{"COMPACTION_ENABLED": "false"}}
	for _, s := range splits {
		spec.SplitKeys = append(spec.SplitKeys, []byte(s))
	}
	return b.tableSpec(t, spec)
}

// tableSpec creates a table with a new name and drops it at the end.
func (b *bench) tableSpec(t testing.TB, spec TableSpec) TableName {
	t.Helper()
	spec.Name, spec.CreateNamespace = TableName{Namespace: "loader_test", Qualifier: testcheck.Name(t)}, true
	testcheck.Must(t, b.CreateTable(t.Context(), spec))
	t.Cleanup(func() { testcheck.Must(t, b.DeleteTable(context.WithoutCancel(t.Context()), spec.Name)) })
	return spec.Name
}

const testTime = 1700000000000

// rowsOf returns sorted row keys with a prefix.
func rowsOf(prefix string, n int) []string {
	rows := make([]string, n)
	for i := range rows {
		rows[i] = fmt.Sprintf("%s%06d", prefix, i)
	}
	return rows
}

var testQualifiers = [][]byte{[]byte("a"), []byte("b"), []byte("c")}

func testValue(row string, q []byte) []byte { return []byte(row + "/" + string(q) + "/值") }

// hfile writes a file of rows with the columns a, b and c.
func (b *bench) hfile(t testing.TB, fsys *hdfsio.HDFS, dir, family string, rows []string) HFile {
	t.Helper()
	codec, err := hfile.ParseCompression(testcluster.Codec())
	testcheck.Must(t, err)
	return b.packed(t, fsys, dir, family, rows, codec)
}

// packed is hfile with another compression.
func (b *bench) packed(t testing.TB, fsys *hdfsio.HDFS, dir, family string, rows []string, compression hfile.Compression) HFile {
	t.Helper()
	sum := sha256.Sum256([]byte(testcheck.Name(t)))
	name := fmt.Sprintf("%s/%s/%x", dir, family, sum[:16]) // HBase's names of files have 32 hexadecimal digits
	testcheck.Must(t, fsys.MkdirAll(t.Context(), dir+"/"+family, 0o755))
	out, err := fsys.Create(t.Context(), name, hdfsio.CreateOptions{})
	testcheck.Must(t, err)
	defer out.Abort()
	w, err := hfile.NewRowWriter(out, hfile.Options{
		Family: []byte(family), Compression: compression, Encoding: hfile.EncodingFastDiff, Bloom: hfile.BloomRow,
	}, hfile.Schema{Qualifiers: testQualifiers, Timestamp: testTime})
	testcheck.Must(t, err)
	for _, row := range rows {
		var values [][]byte
		for _, q := range testQualifiers {
			values = append(values, testValue(row, q))
		}
		testcheck.Must(t, w.AppendRow([]byte(row), values))
	}
	stats, err := w.Finish()
	testcheck.Must(t, err)
	testcheck.Must(t, out.Finish())
	return HFile{
		Family: family, Path: "hdfs://" + b.root.Authority + name,
		First: stats.FirstRow, Last: stats.LastRow, Size: stats.Bytes, Cells: stats.Cells,
	}
}

// checkRows scans the table and compares it with rows of the given families.
func (b *bench) checkRows(t testing.TB, table TableName, rows []string, families ...string) {
	t.Helper()
	slices.Sort(rows)
	i := 0
	testcheck.Must(t, b.Scan(t.Context(), ScanRequest{Table: table, ChunkBytes: 20_000}, func(row Row) error {
		if i >= len(rows) || string(row.Key) != rows[i] {
			return fmt.Errorf("row %d is %q", i, row.Key)
		}
		if err := checkCells(row, families...); err != nil {
			return err
		}
		i++
		return nil
	}))
	if i != len(rows) {
		t.Fatalf("%d rows, want %d", i, len(rows))
	}
}

// checkDigest compares the table's digest by HBase's own client with that of the expected rows.
func (b *bench) checkDigest(t testing.TB, table TableName, rows []string, families ...string) {
	t.Helper()
	got, err := b.cluster.AdminT(t).Digest(t.Context(), table.String())
	testcheck.Must(t, err)
	slices.Sort(rows)
	sha, cells := sha256.New(), 0
	for _, row := range rows {
		for _, family := range families {
			for _, q := range testQualifiers {
				fmt.Fprintf(sha, "%s\x00%s\x00%s\x00%s\x01", row, family, q, testValue(row, q))
				cells++
			}
		}
	}
	if want := fmt.Sprintf("rows=%d cells=%d sha256=%x", len(rows), cells, sha.Sum(nil)); got != want {
		t.Errorf("HBase reads %s\nwant        %s", got, want)
	}
}

// checkOnce counts the files in the table's stores: none may be there twice.
func (b *bench) checkOnce(t testing.TB, table TableName, family string, want int) {
	t.Helper()
	dir := path.Join("/hbase/data", table.Namespace, table.Qualifier)
	regions, err := b.fs.ReadDir(t.Context(), dir)
	testcheck.Must(t, err)
	n := 0
	ids := map[uint64]bool{}
	for _, region := range regions {
		files, err := b.fs.ReadDir(t.Context(), path.Join(dir, region.Name(), family))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		testcheck.Must(t, err)
		n += len(files)
		for _, f := range files {
			if id, _ := hdfsio.FileID(f); ids[id] {
				t.Errorf("file %d is in two stores", id)
			} else {
				ids[id] = true
			}
		}
	}
	if n != want {
		t.Errorf("%d files in the stores of family %s, want %d", n, family, want)
	}
}

// open gives HBase's user the rights to read and write a file, which a direct load requires.
func (b *bench) open(t testing.TB, f HFile) {
	t.Helper()
	testcheck.Must(t, b.fs.Chmod(t.Context(), fsPath(f.Path), 0o666))
	testcheck.Must(t, b.fs.Chmod(t.Context(), path.Dir(fsPath(f.Path)), 0o777))
}

func checkCells(row Row, families ...string) error {
	if len(row.Cells) != len(families)*len(testQualifiers) {
		return fmt.Errorf("row %q has %d cells", row.Key, len(row.Cells))
	}
	for i, cell := range row.Cells {
		q := testQualifiers[i%len(testQualifiers)]
		if string(cell.Family) != families[i/len(testQualifiers)] || !bytes.Equal(cell.Qualifier, q) ||
			!bytes.Equal(cell.Value, testValue(string(row.Key), q)) || cell.Timestamp != testTime {
			return fmt.Errorf("row %q, cell %d: %s:%s=%s at %d", row.Key, i, cell.Family, cell.Qualifier, cell.Value, cell.Timestamp)
		}
	}
	return nil
}
