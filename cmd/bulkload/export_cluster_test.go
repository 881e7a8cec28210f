package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/jobs/export"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hdfsio"
)

// exportLab is a table on the test cluster, loaded with an example's export.
type exportLab struct {
	*migration
	job, splits, empty string
	files              map[string]string // HFiles of a build of the input
	fsys               hdfsio.FS         // HDFS
	out                string            // on HDFS
	root               string            // of HBase
	admin              *testcluster.Admin
}

func newExportLab(t *testing.T, conf, example, input, salts, empty string) *exportLab {
	t.Helper()
	name := "export" + testcheck.Name(t)
	l := &exportLab{migration: &migration{conf: conf, name: name, table: "test:" + name, state: t.TempDir()}, job: "../../examples/" + example + ".yaml", splits: "salt:" + salts, empty: empty, out: "/tmp/" + name}
	t.Cleanup(func() { dropTable(t, conf, name) })
	cluster, err := testcluster.Attach(t.Context(), conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	l.fsys, l.admin = jobtest.UserFS(t, cluster, "tina"), cluster.AdminT(t)
	t.Cleanup(func() {
		if err := l.fsys.RemoveAll(context.WithoutCancel(t.Context()), l.out); err != nil {
			t.Error(err)
		}
	})
	if err := l.fsys.MkdirAll(t.Context(), l.out, 0o755); err != nil {
		t.Fatal(err)
	}
	c, err := hdfsio.LoadConf(func(key string) (string, bool) { return conf, key == "HADOOP_CONF_DIR" || key == "HBASE_CONF_DIR" })
	if err != nil {
		t.Fatal(err)
	}
	at, err := c.Resolve(c.Value("hbase.rootdir"))
	if err != nil {
		t.Fatal(err)
	}
	l.root = at.Path
	l.must(t, 0, "table", "create", l.table, "--salts", salts)
	l.must(t, 0, "run", "--job", l.job, "--table", l.table, "--input", input, "--empty", empty, "--timestamp", "1700000000000", "--state", l.state)
	l.files = l.build(t, input)
	return l
}

// must runs the program, which must end with a code, and returns its output.
func (l *exportLab) must(t *testing.T, code int, args ...string) string {
	t.Helper()
	p := l.start(t, append(args, l.states(args[0])...)...)
	if got := p.wait(); got != code {
		t.Fatalf("%q ended with %d, want %d\n%s", args, got, code, p.log())
	}
	return p.stdout.String()
}

// states returns the flags of an export's state directory.
func (l *exportLab) states(command string) []string {
	if command == "export" {
		return []string{"--state", l.state}
	}
	return nil
}

// build returns the digests of the HFiles of an input.
func (l *exportLab) build(t *testing.T, input string) map[string]string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "hfiles")
	l.must(t, 0, "build", "--job", l.job, "--input", input, "--splits", l.splits, "--empty", l.empty, "--timestamp", "1700000000000", "--out", out)
	return jobtest.Hashes(t, out)
}

// nothingLeft checks that no snapshot of the program exists.
func (l *exportLab) nothingLeft(t *testing.T) {
	t.Helper()
	for _, dir := range []string{".hbase-snapshot/.tmp", ".hbase-snapshot"} {
		infos, err := l.fsys.ReadDir(t.Context(), path.Join(l.root, dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		for _, i := range infos {
			if strings.HasPrefix(i.Name(), "bulkload-"+l.name) {
				t.Errorf("snapshot %s is left in %s", i.Name(), dir)
			}
		}
	}
}

// TestExportOnCluster loads check and opinion, exports the tables to HDFS and to local disk in each format, and builds the exported
// files: the HFiles must be those of the load, byte for byte. The snapshots must be deleted, also after a failure and a signal.
func TestExportOnCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the test cluster, which -short leaves out")
	}
	conf := clusterConf(t)
	for _, c := range []struct{ example, input, salts, empty string }{
		{"check", "check.csv", "10", "skip"}, {"opinion", "opinion.parquet", "20", "store"},
	} {
		t.Run(c.example, func(t *testing.T) {
			l := newExportLab(t, conf, c.example, "../../testdata/exports/"+c.input, c.salts, c.empty)
			digests := map[string]bool{}
			for _, format := range export.Formats() {
				dir := filepath.Join(t.TempDir(), "out")
				if format != "csv" {
					dir = "hdfs://" + path.Join(l.out, format)
				}
				job := l.jobFile(t)
				var m export.Manifest
				if err := json.Unmarshal([]byte(l.must(t, 0, "export", l.table, "--to", dir, "--format", format, "--job", job, "--output", "json")), &m); err != nil {
					t.Fatal(err)
				}
				if m.Digest.Rows != 3000 || m.Table != l.table || m.NoCells+m.LeftOver != 0 {
					t.Errorf("%s: %+v", format, m)
				}
				digests[m.Digest.String()] = true
				if got := l.build(t, dir); !maps.Equal(got, l.files) {
					t.Errorf("%s: the files of what was exported are others: %d and %d", format, len(got), len(l.files))
				}
			}
			var scanned export.Manifest
			dir := filepath.Join(t.TempDir(), "scanned")
			if err := json.Unmarshal([]byte(l.must(t, 0, "export", l.table, "--read-by", "scan", "--to", dir, "--format", "parquet", "--job", l.jobFile(t), "--output", "json")), &scanned); err != nil {
				t.Fatal(err)
			}
			digests[scanned.Digest.String()] = true
			if got := l.build(t, dir); !maps.Equal(got, l.files) || scanned.Snapshot != "" || scanned.Digest.Rows != 3000 {
				t.Errorf("by scans: %+v, %d files, want %d", scanned, len(got), len(l.files))
			}
			l.must(t, 2, "export", "snapshot:none", "--read-by", "scan", "--to", filepath.Join(t.TempDir(), "none"), "--format", "jsonl")
			if len(digests) != 1 {
				t.Errorf("formats have the digests %v", slices.Collect(maps.Keys(digests)))
			}
			l.must(t, 2, "export", l.table, "--to", "hdfs://"+path.Join(l.out, "dump"), "--format", "jsonl")
			l.must(t, 3, "export", l.table, "--to", "hdfs:///not-for-tina", "--format", "jsonl")
			l.must(t, 5, "export", "snapshot:none", "--to", filepath.Join(t.TempDir(), "none"), "--format", "jsonl")
			l.nothingLeft(t)

			l.paused(t)
			if c.example == "check" {
				l.chosen(t)
				l.otherSalts(t)
				l.versions(t)
			}
			l.nothingLeft(t)
		})
	}
}

// paused pauses an export before its first region, stops it, and exports the table with the same command. After the
// stop there must be no remains of it.
func (l *exportLab) paused(t *testing.T) {
	t.Helper()
	args := []string{"export", l.table, "--to", "hdfs://" + path.Join(l.out, "stopped"), "--format", "jsonl"}
	p := l.start(t, append(args, "--state", l.state, "--only-between", otherHour())...)
	p.says("msg=paused", "outside of the window")
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != 128+15 {
		t.Errorf("stopped, it ended with %d\n%s", code, p.log())
	}
	if _, err := l.fsys.Stat(t.Context(), path.Join(l.out, "stopped")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its directory: %v", err)
	}
	l.nothingLeft(t)
	l.must(t, 0, args...)
}

// otherHour returns a window that begins in two hours.
func otherHour() string {
	at := time.Now().UTC()
	return at.Add(2*time.Hour).Format("15:04") + "-" + at.Add(3*time.Hour).Format("15:04")
}

// jobFile returns the example's job file with the policy for empty values of the loaded table.
func (l *exportLab) jobFile(t *testing.T) string {
	t.Helper()
	b := jobtest.ReadWhole(t, hdfsio.Local{}, jobtest.Absolute(t, l.job))
	name := filepath.Join(t.TempDir(), "job.yaml")
	if err := os.WriteFile(name, []byte(strings.Replace(string(b), "empty: skip", "empty: "+l.empty, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
