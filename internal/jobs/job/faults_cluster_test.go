package job

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testfs"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/partition"

	"golang.org/x/sys/unix"
)

// faultyCluster returns a separate cluster, whose NameNode takes a dead DataNode
// for alive as long as by default.
func faultyCluster(t *testing.T, o testcluster.Options) *testcluster.Cluster {
	t.Helper()
	if os.Getenv("BULKLOAD_FAULTS") == "" {
		t.Skip("belongs to the whole suite: make test-faults")
	}
	o.HDFSSite = map[string]string{
		"dfs.heartbeat.interval": "3", "dfs.namenode.heartbeat.recheck-interval": "300000", "dfs.namenode.stale.datanode.interval": "30000",
	}
	return testcluster.Own(t, o)
}

// buildFaults is a build onto the HDFS of a cluster, for fault injection.
type buildFaults struct {
	t       *testing.T
	cluster *testcluster.Cluster
	env     *cluster.Env
	fs      *hdfsio.HDFS
	input   string
	want    map[string]string // hashes of the files of an undisturbed build
}

func newBuildFaults(t *testing.T, c *testcluster.Cluster) *buildFaults {
	t.Helper()
	b := &buildFaults{t: t, cluster: c, env: jobtest.ClusterEnvAs(t, c, "hbase"), input: jobtest.WideInput(t, 150_000)}
	calm := t.TempDir()
	if _, err := buildWide(t.Context(), t, b.env, b.input, build.Output{FS: hdfsio.Local{}, Dir: calm}, build.WorkOptions{}); err != nil {
		t.Fatal(err)
	}
	b.want = jobtest.Hashes(t, calm)
	b.fs = b.connect(t, nil)
	return b
}

// connect returns a client with timeouts for busy machines: DataNodes answer within a minute.
func (b *buildFaults) connect(t *testing.T, change func(*hdfsio.HDFSOptions)) *hdfsio.HDFS {
	t.Helper()
	l, err := b.env.Conf.Resolve(b.cluster.HDFS() + "/")
	if err != nil {
		t.Fatal(err)
	}
	o, err := b.env.Conf.HDFSOptions(l, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	o.IOTimeout = time.Minute
	if change != nil {
		change(&o)
	}
	h, err := hdfsio.NewHDFS(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// dir makes a directory.
func (b *buildFaults) dir(t *testing.T) string {
	t.Helper()
	dir := "/tmp/faults-" + testcheck.Name(t)
	if err := b.fs.MkdirAll(t.Context(), dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// run builds. The fault occurs once, just before the operation that at selects.
func (b *buildFaults) run(t *testing.T, dir string, w build.WorkOptions, at func(op testfs.Op, name string, offset int64) bool, fault func() error) error {
	t.Helper()
	var once sync.Once
	happened := false
	fsys := &testfs.Faulty{FS: b.fs, Inject: func(op testfs.Op, name string, offset int64) *testfs.Fault {
		if at(op, name, offset) {
			once.Do(func() {
				happened = true
				if err := fault(); err != nil {
					t.Error(err)
				}
			})
		}
		return nil
	}}
	note := w.Events.OnNote
	w.Events.OnNote = func(msg string, kv ...any) {
		t.Log(append([]any{msg}, kv...)...)
		if note != nil && msg != "inputs detected" { // not about a fault
			note(msg, kv...)
		}
	}
	w.Workers = 2
	_, err := buildWide(t.Context(), t, b.env, b.input, build.Output{FS: fsys, Dir: dir, Retry: build.WriteRetry{Pause: 300 * time.Millisecond}}, w)
	if !happened {
		t.Error("the fault did not happen")
	}
	return err
}

// whole checks that a directory has exactly the files of an undisturbed build.
func (b *buildFaults) whole(t *testing.T, dir string) {
	t.Helper()
	got := map[string]string{}
	for _, name := range b.list(t, dir) {
		if name == manifest.FileName {
			continue
		}
		f, err := b.fs.Open(t.Context(), path.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		h := sha256.New()
		if _, err := io.Copy(h, f); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		f.Close()
		got[name] = fmt.Sprintf("%x", h.Sum(nil))
	}
	if !maps.Equal(got, b.want) {
		t.Errorf("the files are not those of an undisturbed build: %d of %d: %q", len(got), len(b.want), slices.Sorted(maps.Keys(got)))
	}
}

// list returns all files below a directory, and empty directories as dir/.
func (b *buildFaults) list(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	var walk func(below string)
	walk = func(below string) {
		infos, err := b.fs.ReadDir(t.Context(), path.Join(dir, below))
		if err != nil {
			t.Fatal(err)
		}
		if len(infos) == 0 && below != "" {
			names = append(names, below+"/")
		}
		for _, i := range infos {
			if name := path.Join(below, i.Name()); i.IsDir() {
				walk(name)
			} else {
				names = append(names, name)
			}
		}
	}
	walk("")
	return names
}

// inFile selects the write of a byte after the first piece of a file.
func inFile(op testfs.Op, name string, offset int64) bool {
	return op == testfs.OpWrite && strings.Contains(name, build.WritingDir) && offset > 0
}

// TestBuildFaults builds onto HDFS while its daemons are killed, suspended and
// restarted. Each time the files are those of an undisturbed build.
func TestBuildFaults(t *testing.T) {
	t.Parallel()
	c := faultyCluster(t, testcluster.Options{DataNodes: 2})
	b := newBuildFaults(t, c)
	first, second, name := c.Daemon(testcluster.DataNode), c.Daemon(testcluster.DataNode.Nth(2)), c.Daemon(testcluster.NameNode)
	ready := func(t *testing.T, d *testcluster.Daemon) {
		t.Helper()
		if err := d.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := d.WaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	healthy := func(t *testing.T, want int) {
		t.Helper()
		dir := b.dir(t)
		notes := 0
		w := build.WorkOptions{Events: progress.Events{OnNote: func(string, ...any) { notes++ }}}
		if err := b.run(t, dir, w, inFile, func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		if b.whole(t, dir); notes > want {
			t.Errorf("%d retries without a fault, at most %d expected", notes, want)
		}
	}
	t.Run("none", func(t *testing.T) { healthy(t, 0) })
	for _, d := range []*testcluster.Daemon{first, second} {
		t.Run(string(d.Role())+" killed", func(t *testing.T) {
			dir := b.dir(t)
			defer ready(t, d)
			if err := b.run(t, dir, build.WorkOptions{}, inFile, func() error { return d.Kill(t.Context()) }); err != nil {
				t.Fatal(err)
			}
			b.whole(t, dir)
			healthy(t, 0) // the dead DataNode is known, and not tried again
		})
	}
	t.Run("datanode frozen", func(t *testing.T) {
		dir := b.dir(t)
		fsys := b.fs
		b.fs = b.connect(t, func(o *hdfsio.HDFSOptions) { o.IOTimeout = 8 * time.Second })
		defer func() { b.fs = fsys }()
		defer ready(t, second)
		defer second.Resume()
		if err := b.run(t, dir, build.WorkOptions{}, inFile, second.Pause); err != nil {
			t.Fatal(err)
		}
		b.whole(t, dir)
	})
	b.fs = b.connect(t, nil) // a client that knows of no bad DataNode
	t.Run("all datanodes killed and started again", func(t *testing.T) {
		dir := b.dir(t)
		var once sync.Once
		w := build.WorkOptions{Events: progress.Events{OnNote: func(string, ...any) {
			once.Do(func() {
				if err := errors.Join(first.Restart(t.Context()), second.Restart(t.Context())); err != nil {
					t.Error(err)
				}
			})
		}}}
		kill := func() error { return errors.Join(first.Kill(t.Context()), second.Kill(t.Context())) }
		if err := b.run(t, dir, w, inFile, kill); err != nil {
			t.Fatal(err)
		}
		b.whole(t, dir)
	})
	t.Run("datanode killed before a file is read back", func(t *testing.T) {
		dir := b.dir(t)
		defer ready(t, first)
		at := func(op testfs.Op, name string, _ int64) bool {
			return op == testfs.OpOpen && strings.Contains(name, build.WritingDir)
		}
		if err := b.run(t, dir, build.WorkOptions{}, at, func() error { return first.Kill(t.Context()) }); err != nil {
			t.Fatal(err)
		}
		b.whole(t, dir)
	})
	b.nameNodeRestarts(t, name)
	t.Run("quota", func(t *testing.T) { b.quota(t) })
	t.Run("safe mode", func(t *testing.T) { b.safeMode(t) })
	t.Run("permission", func(t *testing.T) { b.permission(t) })
	t.Run("full", func(t *testing.T) { b.full(t) })
}

// nameNodeRestarts restarts the NameNode at each step of a file.
func (b *buildFaults) nameNodeRestarts(t *testing.T, nameNode *testcluster.Daemon) {
	for _, c := range []struct {
		name string
		at   func(op testfs.Op, name string, offset int64) bool
	}{
		{"in a file", inFile},
		{"before a file is created", func(op testfs.Op, name string, _ int64) bool {
			return op == testfs.OpCreate && strings.Contains(name, build.WritingDir)
		}},
		{"before a file is finished", func(op testfs.Op, _ string, _ int64) bool { return op == testfs.OpFinish }},
		{"before a file is renamed", func(op testfs.Op, _ string, _ int64) bool { return op == testfs.OpRename }},
	} {
		t.Run("namenode started again "+c.name, func(t *testing.T) {
			dir := b.dir(t)
			if err := b.run(t, dir, build.WorkOptions{}, c.at, func() error { return nameNode.Restart(t.Context()) }); err != nil {
				t.Fatal(err)
			}
			b.whole(t, dir)
		})
	}
}

// admin runs a Hadoop command as HDFS's superuser.
func (b *buildFaults) admin(t *testing.T, class string, args ...string) {
	t.Helper()
	if _, err := b.cluster.JavaClass(t.Context(), "-DHADOOP_USER_NAME=hbase", append([]string{class}, args...)...); err != nil {
		t.Fatal(err)
	}
}

const dfsAdmin = "org.apache.hadoop.hdfs.tools.DFSAdmin"

// stopped checks that a build ends with a permanent cause, and leaves nothing.
func (b *buildFaults) stopped(t *testing.T, dir string, cause error, words ...string) {
	t.Helper()
	notes := 0
	w := build.WorkOptions{Events: progress.Events{OnNote: func(string, ...any) { notes++ }}}
	err := b.run(t, dir, w, func(op testfs.Op, _ string, _ int64) bool { return op == testfs.OpCreate }, func() error { return nil })
	if !errors.Is(err, cause) || fail.KindOf(err) != fail.HDFS {
		t.Fatalf("the build ended with %v", err)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("no %q in: %v", word, err)
		}
	}
	if notes > 4 { // two for each worker
		t.Errorf("%d retries", notes)
	}
	if left := b.list(t, dir); slices.ContainsFunc(left, func(name string) bool { return !strings.HasSuffix(name, "/") }) {
		t.Errorf("left: %q", left)
	}
	t.Log(err)
}

func (b *buildFaults) quota(t *testing.T) {
	dir := b.dir(t)
	b.admin(t, dfsAdmin, "-setSpaceQuota", "20m", dir)
	b.stopped(t, dir, hdfsio.ErrQuota, dir, "quota", "-setSpaceQuota")
	dir = b.dir(t)
	b.admin(t, dfsAdmin, "-setQuota", "4", dir)
	b.stopped(t, dir, hdfsio.ErrQuota, dir, "quota", "-setQuota")
}

// safeMode checks that a call that waits for the end of safe mode says so when its time is over, and succeeds afterwards.
func (b *buildFaults) safeMode(t *testing.T) {
	dir := path.Join(b.dir(t), "below")
	b.admin(t, dfsAdmin, "-safemode", "enter")
	defer b.admin(t, dfsAdmin, "-safemode", "leave")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Second, errors.New("no answer within 2s"))
	defer cancel()
	err := b.fs.MkdirAll(ctx, dir, 0o755)
	if !hdfsio.Unavailable(err) || !strings.Contains(err.Error(), dir+": no answer within 2s: the NameNode is in safe mode") {
		t.Errorf("it ended with %v", err)
	}
	b.admin(t, dfsAdmin, "-safemode", "leave")
	testcheck.Must(t, b.fs.MkdirAll(t.Context(), dir, 0o755))
}

func (b *buildFaults) permission(t *testing.T) {
	dir := b.dir(t)
	stranger := b.connect(t, func(o *hdfsio.HDFSOptions) { o.User = "stranger" })
	_, err := buildWide(t.Context(), t, b.env, b.input, build.Output{FS: stranger, Dir: dir}, build.WorkOptions{})
	if !errors.Is(err, fs.ErrPermission) || fail.KindOf(err) != fail.Check {
		t.Fatalf("build by a stranger: %v", err)
	}
	for _, word := range []string{dir, "hbase:supergroup", "drwxr-xr-x", "user stranger"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("no %q in: %v", word, err)
		}
	}
	// Removed while the build runs.
	open := b.dir(t)
	if err := b.fs.Chmod(t.Context(), open, 0o777); err != nil {
		t.Fatal(err)
	}
	fsys := b.fs
	defer func() { b.fs = fsys }()
	b.fs = stranger
	err = b.run(t, open, build.WorkOptions{}, func(op testfs.Op, _ string, _ int64) bool { return op == testfs.OpFinish }, func() error {
		return errors.Join(fsys.Chmod(t.Context(), path.Join(open, "f"), 0o755), chown(b.cluster, path.Join(open, "f")))
	})
	if !errors.Is(err, fs.ErrPermission) || fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), "belongs to hbase:") {
		t.Errorf("the directory was taken away: %v", err)
	}
	t.Log(err)
}

func chown(c *testcluster.Cluster, dir string) error {
	_, err := c.JavaClass(context.Background(), "-DHADOOP_USER_NAME=hbase", "org.apache.hadoop.fs.FsShell", "-chown", "-R", "hbase", dir)
	return err
}

// full restarts the DataNodes without space for a block.
func (b *buildFaults) full(t *testing.T) {
	name := filepath.Join(b.cluster.DaemonConfDir(), "hdfs-site.xml")
	conf, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	restart := func(text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			d := b.cluster.Daemon(testcluster.DataNode.Nth(i + 1))
			if err := d.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := d.WaitReady(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	var disk unix.Statfs_t
	testcheck.Must(t, unix.Statfs(b.cluster.ConfDir(), &disk))
	reserved := int64(disk.Blocks)*disk.Bsize - 1<<20 // a DataNode with no room at all does not count as one
	restart(strings.Replace(string(conf), "</configuration>",
		fmt.Sprintf("<property><name>dfs.datanode.du.reserved</name><value>%d</value></property></configuration>", reserved), 1))
	defer restart(string(conf))
	b.stopped(t, b.dir(t), hdfsio.ErrNoSpace, "0 are free", "add DataNodes")
}

// TestFailover builds and runs while the active NameNode of two is killed and the
// other one takes over.
func TestFailover(t *testing.T) {
	t.Parallel()
	c := faultyCluster(t, testcluster.Options{HA: true})
	b := newBuildFaults(t, c)
	active := testcluster.NameNode
	failover := func() error {
		if err := c.Daemon(active).Kill(t.Context()); err != nil {
			return err
		}
		dead := active
		var err error
		if active, err = c.Failover(t.Context(), dead); err != nil {
			return err
		}
		return c.Daemon(dead).Restart(t.Context())
	}
	for name, at := range map[string]func(op testfs.Op, name string, offset int64) bool{
		"in a file":                inFile,
		"before a file is renamed": func(op testfs.Op, _ string, _ int64) bool { return op == testfs.OpRename },
	} {
		t.Run(name, func(t *testing.T) {
			dir := b.dir(t)
			if err := b.run(t, dir, build.WorkOptions{}, at, failover); err != nil {
				t.Fatal(err)
			}
			b.whole(t, dir)
			if err := c.WaitReady(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
	t.Run("whole run", func(t *testing.T) {
		env := jobtest.ClusterEnv(t, c)
		name := jobtest.FreshTable(t, env, 10, nil)
		s := jobtest.Spec(t, "check")
		s.Table, s.Verify = name, "full"
		s.Inputs = []string{jobtest.Export(t, "check.csv")}
		var once sync.Once
		o := RunOptions{WorkOptions: build.WorkOptions{Events: progress.Events{OnHFile: func(progress.HFile) {
			once.Do(func() {
				if err := failover(); err != nil {
					t.Error(err)
				}
			})
		}}}}
		if _, err := Run(t.Context(), env, jobtest.Resolve(t, s), o); err != nil {
			t.Fatal(err)
		}
		got, err := c.AdminT(t).Digest(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if want := jobtest.DigestLine(t, "check", "skip"); got != want {
			t.Errorf("the table has %s, want %s", got, want)
		}
	})
}

// buildWide builds the input of [jobtest.WideInput] into an output.
func buildWide(ctx context.Context, t testing.TB, env *cluster.Env, input string, out build.Output, w build.WorkOptions) (*manifest.Manifest, error) {
	t.Helper()
	s := spec.Spec{Inputs: []string{input}, Key: "salt(id, 10) + id", Timestamp: 1700000000000}
	f := jobtest.Family
	f.Compression = 0
	k, err := build.OpenInput(t.Context(), env.Source, jobtest.Resolve(t, s), w)
	if err != nil {
		t.Fatal(err)
	}
	p, err := cells.NewPlan(jobtest.Resolve(t, s), k.Source.Columns(), f, partition.SaltSplits(10), 0)
	if err != nil {
		t.Fatal(err)
	}
	return k.Build(ctx, p, out, w, 0, nil)
}
