package job

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/journal"
	"bulkload/internal/engine/status"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/loader"
	"bulkload/pkg/partition"
)

// twin is a table on two clusters, with a program for each cluster. The second cluster is down until it is started.
type twin struct {
	*program
	other *program
	conf  string // configuration directory of the second cluster
}

func newTwin(t *testing.T, name string) *twin {
	w := &twin{program: newProgram(t, name), conf: t.TempDir()}
	servers := testcluster.Own(t, testcluster.Harmed())
	env := jobtest.ClusterEnv(t, servers)
	o := *w.program
	o.cluster, o.env = servers, env
	w.other = &o
	sameTable(t, env, w.table, partition.SaltSplits(programRegions))
	for _, file := range []string{"core-site.xml", "hdfs-site.xml", "hbase-site.xml"} {
		text, err := os.ReadFile(filepath.Join(servers.ConfDir(), file))
		testcheck.Must(t, err)
		testcheck.Must(t, os.WriteFile(filepath.Join(w.conf, file), text, 0o600))
	}
	return w
}

// sameTable creates a table of the same name on another cluster.
func sameTable(t *testing.T, env *cluster.Env, name string, splits [][]byte) {
	t.Helper()
	c, err := env.Dial(t.Context())
	testcheck.Must(t, err)
	defer c.Close()
	parsed, err := loader.ParseTableName(name)
	testcheck.Must(t, err)
	jobtest.MakeTable(t, env, c, loader.TableSpec{Name: parsed, CreateNamespace: true, SplitKeys: splits, Families: []loader.Family{{Name: "f", Compression: "GZ", Encoding: "NONE", Bloom: "NONE"}}})
}

// down makes the configuration name a ZooKeeper that does not answer; up restores it.
func (w *twin) down(t *testing.T) (up func()) {
	t.Helper()
	file := filepath.Join(w.conf, "hbase-site.xml")
	was, err := os.ReadFile(file)
	testcheck.Must(t, err)
	host, port, _ := strings.Cut(testcheck.ClosedAddress(t), ":")
	is := string(was)
	for _, x := range [][2]string{{"hbase.zookeeper.quorum", host}, {"hbase.zookeeper.property.clientPort", port}} {
		before := is
		if is = strings.Replace(is, ">"+w.other.env.Conf.Value(x[0])+"<", ">"+x[1]+"<", 1); is == before {
			t.Fatalf("the configuration has no %s", x[0])
		}
	}
	testcheck.Must(t, os.WriteFile(file, []byte(is), 0o600))
	return func() { testcheck.Must(t, os.WriteFile(file, was, 0o600)) }
}

// both runs the job for both clusters.
func (w *twin) both(stopAfter string, flags ...string) (code int, r result.Result, stderr string) {
	w.t.Helper()
	code, stdout, stderr := w.run(stopAfter, append([]string{"--also=" + w.conf}, flags...)...)
	if stdout != "" {
		testcheck.Must(w.t, json.Unmarshal([]byte(stdout), &r))
	}
	return code, r, stderr
}

func (w *twin) judgeBoth() {
	w.t.Helper()
	w.judge(programRegions)
	w.other.judge(programRegions)
	if left, err := filepath.Glob(filepath.Join(w.state, "*", builtDir)); err != nil || len(left) > 0 {
		w.t.Errorf("left behind: %q %v", left, err)
	}
}

// TestClusters loads one build into the tables of two clusters.
func TestClusters(t *testing.T) {
	t.Parallel()
	name := buildProgram(t)
	t.Run("one down", func(t *testing.T) { oneClusterIsDown(t, newTwin(t, name)) })
	t.Run("own down", func(t *testing.T) { ownClusterIsDown(t, newTwin(t, name)) })
	t.Run("own down, replacing", func(t *testing.T) { ownClusterIsDown(t, newTwin(t, name), "--replace") })
	t.Run("other salts", func(t *testing.T) { otherSaltsAreRefused(t, newTwin(t, name)) })
	t.Run("other name", func(t *testing.T) { otherNameIsRefused(t, newTwin(t, name)) })
	t.Run("snapshots", func(t *testing.T) { clustersKeepSnapshots(t, newTwin(t, name)) })
	t.Run("restarted", func(t *testing.T) { clustersRestarted(t, newTwin(t, name)) })
	t.Run("undone", func(t *testing.T) { clustersUndone(t, newTwin(t, name)) })
	t.Run("tables", severalTablesOnClusters)
	t.Run("gate", clustersAskGate)
}

// oneClusterIsDown checks that the other cluster gets the rows, that the same command loads into the first one later, and that then nothing is left
// to do.
func oneClusterIsDown(t *testing.T, w *twin) {
	up := w.down(t)
	code, r, stderr := w.both("")
	if code != fail.Load.ExitCode() || len(r.Clusters) != 2 || r.Clusters[0].Status != result.PartDone || r.Clusters[1].Status != result.PartFailed || !strings.Contains(stderr, w.conf) {
		t.Fatalf("exit code %d, %+v: %s", code, r.Clusters, stderr)
	}
	w.judge(programRegions)
	up()
	code, r, stderr = w.both("")
	if code != 0 || r.Clusters[0].Status != result.PartAlready || r.Clusters[1].Status != result.PartDone || r.Clusters[1].Tables[0].Verify.Got.Rows == 0 {
		t.Fatalf("exit code %d, %+v: %s", code, r.Clusters, stderr)
	}
	w.judgeBoth()
	if code, r, stderr = w.both("", "--skip-exit-code"); code != 99 || !r.Already || len(r.Clusters) != 2 {
		t.Errorf("a third time: exit code %d, %+v: %s", code, r, stderr)
	}
	conf := w.conf
	for _, spelt := range []string{conf + "/", filepath.Join("..", filepath.Base(filepath.Dir(conf)), filepath.Base(conf))} {
		w.conf, w.dir = spelt, filepath.Join(filepath.Dir(conf))
		if code, r, stderr = w.both("", "--skip-exit-code"); code != 99 || !r.Already {
			t.Errorf("%s: exit code %d, %+v: %s", spelt, code, r, stderr)
		}
	}
	w.conf, w.dir = conf, ""
	w.judgeBoth()
	if code, _, stderr = w.both("", "--also="+w.conf); code != fail.Config.ExitCode() || !strings.Contains(stderr, "again") {
		t.Errorf("the same cluster twice: exit code %d: %s", code, stderr)
	}
}

// journals returns the text of each journal.
func (w *twin) journals(t *testing.T) (texts []string) {
	list, err := filepath.Glob(filepath.Join(w.state, "*", journal.FileName))
	testcheck.Must(t, err)
	for _, name := range list {
		text, err := os.ReadFile(name)
		testcheck.Must(t, err)
		texts = append(texts, string(text))
	}
	return texts
}

// clustersRestarted checks that a run that was killed during its loads keeps its journal when a restart of it is refused, and that a restart discards the
// loads with it.
func clustersRestarted(t *testing.T, w *twin) {
	w.prepare, w.other.prepare = true, true // one load may be killed at any point of the other
	if code, _, stderr := w.both("sending"); code != 137 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	killed := w.journals(t)
	if code, _, stderr := w.both("", "--restart", "--filter=nope = '1'"); code != fail.Config.ExitCode() || !strings.Contains(stderr, "nope") {
		t.Errorf("another column: exit code %d: %s", code, stderr)
	}
	if left := w.journals(t); len(killed) < 2 || !slices.Equal(left, killed) {
		t.Errorf("a refused restart: %q, were %q", left, killed)
	}
	if code, _, stderr := w.both("", "--restart"); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if left := w.journals(t); len(left) != 3 {
		t.Errorf("%d journals of the run and of a load into each cluster: %q", len(left), left)
	}
	w.judgeBoth()
}

// ownClusterIsDown checks that the command's own cluster can be loaded later.
func ownClusterIsDown(t *testing.T, w *twin, flags ...string) {
	up := w.down(t)
	there := []string{"HADOOP_CONF_DIR=" + w.conf, "HBASE_CONF_DIR=" + w.conf}
	w.vars, w.conf = there, w.cluster.ConfDir()
	code, r, stderr := w.both("", flags...)
	if code != fail.Load.ExitCode() || len(r.Clusters) != 2 || r.Clusters[0].Status != result.PartFailed || r.Clusters[1].Status != result.PartDone {
		t.Fatalf("exit code %d, %+v: %s", code, r.Clusters, stderr)
	}
	up()
	if code, r, stderr = w.both("", flags...); code != 0 || r.Clusters[0].Status != result.PartDone || r.Clusters[1].Status != result.PartAlready {
		t.Fatalf("exit code %d, %+v: %s", code, r.Clusters, stderr)
	}
	w.judgeBoth()
}

// otherSaltsAreRefused checks that nothing is loaded into either cluster if their salts differ: readers of the second table would not find its rows.
func otherSaltsAreRefused(t *testing.T, w *twin) {
	w.table += "_salts"
	w.other.table = w.table
	sameTable(t, w.env, w.table, partition.SaltSplits(programRegions))
	sameTable(t, w.other.env, w.table, partition.SaltSplits(programRegions+1))
	code, _, stderr := w.both("")
	if code != fail.Check.ExitCode() || !strings.Contains(stderr, "salts there") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	for _, p := range []*program{w.program, w.other} {
		if got, err := p.cluster.AdminT(t).Digest(t.Context(), p.table); err != nil || !strings.HasPrefix(got, "rows=0 ") {
			t.Errorf("the table has %s %v", got, err)
		}
	}
}

// otherNameIsRefused checks that a cluster is refused that is given again by another name of its host.
func otherNameIsRefused(t *testing.T, w *twin) {
	conf := t.TempDir()
	testcheck.Must(t, os.CopyFS(conf, os.DirFS(w.conf)))
	site := filepath.Join(conf, "hbase-site.xml")
	b, err := os.ReadFile(site)
	testcheck.Must(t, err)
	renamed := strings.ReplaceAll(string(b), "<value>localhost</value>", "<value>127.0.0.1</value>")
	if renamed == string(b) {
		t.Fatal("the cluster has no name that stands for another")
	}
	testcheck.Must(t, os.WriteFile(site, []byte(renamed), 0o600))
	if code, _, stderr := w.both("", "--also="+conf); code != fail.Config.ExitCode() || !strings.Contains(stderr, "again") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if got, err := w.cluster.AdminT(t).Digest(t.Context(), w.table); err != nil || !strings.HasPrefix(got, "rows=0 ") {
		t.Errorf("the table has %s %v", got, err)
	}
}

// clustersKeepSnapshots checks that a snapshot is taken on each cluster before it is loaded, and that each keeps the requested number.
func clustersKeepSnapshots(t *testing.T, w *twin) {
	table, err := loader.ParseTableName(w.table)
	testcheck.Must(t, err)
	nights := []string{testcheck.Name(t) + "-1", testcheck.Name(t) + "-2", testcheck.Name(t) + "-3"}
	for _, night := range nights {
		if code, _, stderr := w.both("", "--job-id="+night, "--snapshot="+night, "--keep-snapshots=2"); code != 0 {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
	}
	before := w.journals(t)
	if code, _, stderr := w.both("", "--job-id="+nights[2], "--snapshot="+nights[2], "--restart"); code != 2 || !strings.Contains(stderr, nights[2]) {
		t.Errorf("a restart with the snapshot's name: exit code %d: %s", code, stderr)
	}
	if !slices.Equal(w.journals(t), before) {
		t.Error("a refused restart changed journals")
	}
	for _, p := range []*program{w.program, w.other} {
		c, err := p.env.Dial(t.Context())
		testcheck.Must(t, err)
		defer c.Close()
		for i, night := range nights {
			_, there, err := c.SnapshotTime(t.Context(), table, night)
			if testcheck.Must(t, err); there != (i > 0) {
				t.Errorf("%s is there: %t", night, there)
			}
			if there {
				testcheck.Must(t, c.DeleteSnapshot(t.Context(), table, night))
			}
		}
	}
}

// TestClustersKilled kills a run for two clusters after each kind of record of its own and of its loads, and runs the same command again.
func TestClustersKilled(t *testing.T) {
	t.Parallel()
	name := buildProgram(t)
	kills := []string{"sending", "cluster", "done"}
	if os.Getenv("BULKLOAD_FAULTS") != "" {
		kills = append(kills, "plan", "written:2", "built", "loaded:2", "verified", "cluster:2")
	}
	for i, after := range kills {
		t.Run(after, func(t *testing.T) {
			w := newTwin(t, name)
			w.prepare, w.other.prepare = true, true // one load may be killed at any point of the other
			extra := []string{"--report=" + filepath.Join(t.TempDir(), "report.html"), "--metrics-file=" + filepath.Join(t.TempDir(), "run.prom"), "--openlineage=" + filepath.Join(t.TempDir(), "events.jsonl")}
			if code, _, stderr := w.both(after, extra...); code != 128+9 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			if i%2 == 1 {
				w.other.admin(t, "split", "38")
			}
			code, r, stderr := w.both("", extra...)
			if code != 0 || len(r.Clusters) != 2 {
				t.Fatalf("exit code %d, %+v: %s", code, r, stderr)
			}
			if i%2 == 1 {
				w.other.judge(0)
			} else {
				w.judgeBoth()
			}
			for _, flag := range extra {
				_, file, _ := strings.Cut(flag, "=")
				if info, err := os.Stat(file); err != nil || info.Size() == 0 {
					t.Errorf("%s: %v", flag, err)
				}
			}
			w.cleaned(t)
		})
	}
}

// TestClustersOtherInput checks that a run for two clusters refuses an input that has changed since its files were built, also when it is done.
func TestClustersOtherInput(t *testing.T) {
	t.Parallel()
	w := newTwin(t, buildProgram(t))
	was, err := os.ReadFile(w.input)
	testcheck.Must(t, err)
	w.input = filepath.Join(t.TempDir(), "check.dump")
	for _, after := range []string{"cluster", ""} {
		testcheck.Must(t, os.WriteFile(w.input, was, 0o600))
		if code, _, stderr := w.both(after, "--restart"); code != 0 && after == "" || code != 128+9 && after != "" {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		testcheck.Must(t, os.WriteFile(w.input, was[:strings.LastIndexByte(string(was[:len(was)-1]), '\x10')+1], 0o600))
		if code, _, stderr := w.both(""); code != 5 || !strings.Contains(stderr, "has changed") {
			t.Errorf("another input after %q: exit code %d: %s", after, code, stderr)
		}
	}
	if code, _, stderr := w.both("", "--restart"); code != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// TestClustersRestart checks that --restart of a run for two clusters discards the loads that the killed attempt began: their jobs, and the settings of the
// quiet tables.
func TestClustersRestart(t *testing.T) {
	t.Parallel()
	w := newTwin(t, buildProgram(t))
	w.prepare, w.other.prepare = true, true
	if code, _, stderr := w.both("sending", "--quiet-table"); code != 128+9 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if code, _, stderr := w.both("", "--quiet-table", "--restart"); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for _, p := range []*program{w.program, w.other} {
		if got := p.quietOf(p.table); got != ",," {
			t.Errorf("the table is quiet still: %s", got)
		}
	}
	w.cleaned(t)
}

// cleaned removes the job and its loads with clean, and checks that nothing is left.
func (w *twin) cleaned(t *testing.T) {
	t.Helper()
	jobs, err := status.ReadAll(w.state)
	if testcheck.Must(t, err); len(jobs) != 3 {
		t.Errorf("%d jobs", len(jobs))
	}
	for _, job := range jobs {
		_, err := checkpoint.Clean(t.Context(), w.env, checkpoint.CleanOptions{State: w.state, Job: filepath.Base(job.Dir), Remove: true})
		testcheck.Must(t, err)
	}
	if left, err := filepath.Glob(filepath.Join(w.state, "*")); err != nil || len(left) > 0 {
		t.Errorf("left: %q %v", left, err)
	}
}

// severalTablesOnClusters loads a table and four others, two of them indexes, into two clusters.
func severalTablesOnClusters(t *testing.T) {
	c, servers := testcluster.Shared(t), testcluster.Own(t, testcluster.Harmed())
	env, other := jobtest.ClusterEnv(t, c), jobtest.ClusterEnv(t, servers)
	s := tablesJob(t, env)
	s.Filter, s.Replicate = "id != '7'", "no"
	for i, x := range jobtest.Resolve(t, s).Targets() {
		sameTable(t, other, x.Table, [][][]byte{partition.SaltSplits(5), points("2015"), points("6"), points("Q3"), points("Q4")}[min(i, 4)])
	}
	dir := t.TempDir()
	o := RunOptions{Also: []string{servers.ConfDir()}, State: checkpoint.Options{Dir: filepath.Join(dir, "state")}, Quiet: true}
	o.FilteredFile, o.DuplicatesFile = filepath.Join(dir, "filtered.jsonl"), filepath.Join(dir, "duplicates.jsonl")
	r, err := RunOnClusters(t.Context(), env, jobtest.Resolve(t, s), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Clusters) != 2 || len(r.Clusters[1].Tables) != 5 || len(r.Tables) != 4 || r.Tables[3].Verify == nil {
		t.Errorf("%+v", r)
	}
	judgeTables(t, c, env, s)
	judgeTables(t, servers, other, s)
	if r, err := RunOnClusters(t.Context(), env, jobtest.Resolve(t, s), o); err != nil || !r.Already {
		t.Errorf("given again: %+v, %v", r, err)
	}
	s.Tables = slices.Clone(s.Tables)
	s.Tables[0].Empty = "store"
	if _, err := RunOnClusters(t.Context(), env, jobtest.Resolve(t, s), o); fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), "empty was") {
		t.Errorf("a further table with other settings: %v", err)
	}
}

// clustersAskGate checks that a pause or a window holds a job of several clusters.
func clustersAskGate(t *testing.T) {
	w := newTwin(t, buildProgram(t))
	s := jobtest.Spec(t, "check")
	s.Table, s.Inputs = w.table, []string{w.input}
	jobtest.AsksGate(t, func(g progress.Gate, e progress.Events) error {
		o := RunOptions{Also: []string{w.conf}, State: checkpoint.Options{Dir: w.state}}
		o.Gate, o.Events = g, e
		_, err := RunOnClusters(t.Context(), w.env, jobtest.Resolve(t, s), o)
		return err
	}, "read", "load")
	w.judgeBoth()
}
