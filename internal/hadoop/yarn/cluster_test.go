package yarn_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/hadoop/streaming"
	"bulkload/internal/hadoop/yarn"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/kerberos"
)

// TestYARN tests against a real YARN: a job is submitted, found by its tag, watched, and ends with its counters; one
// fails, and its output is read; one is killed, but not by another user.
func TestYARN(t *testing.T) {
	testcluster.NeedsYARN(t)
	testYARN(t, testcluster.Security{})
}

func TestYARNSecured(t *testing.T) {
	testcluster.NeedsYARN(t)
	testYARN(t, testcluster.AtLevel(testcluster.Privacy))
}

type edge struct {
	*testing.T
	cluster *testcluster.Cluster
	env     []string
	hadoop  *streaming.Client
}

func testYARN(t *testing.T, s testcluster.Security) {
	c := testcluster.Own(t, testcluster.Options{YARN: true, WithoutHBase: true, Security: s})
	e := &edge{T: t, cluster: c}
	user := testcluster.Loader
	e.env = append(os.Environ(), c.Environment()...)
	ask := yarn.Options{User: user}
	nobody := yarn.Options{User: "nobody"}
	if s.Kerberos {
		if _, err := c.Kerberos(t.Context(), []string{"KRB5CCNAME=" + c.Dir() + "/kdc/ccache"}, "kinit", "-kt", c.Keytab(user), user); err != nil {
			t.Fatal(err)
		}
	} else {
		e.env = append(e.env, "HADOOP_USER_NAME=hbase")
		e.fs("-mkdir", "-p", "/user/"+user)
		e.fs("-chown", user, "/user/"+user)
		e.env = append(e.env, "HADOOP_USER_NAME="+user)
	}
	var conf hdfsio.Conf
	for _, name := range []string{"core-site.xml", "yarn-site.xml", "mapred-site.xml"} {
		if err := conf.ReadFile(filepath.Join(c.ConfDir(), name)); err != nil {
			t.Fatal(err)
		}
	}
	if s.Kerberos {
		ask.User, nobody.User = "", ""
		if err := errors.Join(ask.Secure(login(t, c, user), conf.Value), nobody.Secure(login(t, c, testcluster.Nobody), conf.Value)); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if ask.Addresses, err = yarn.FromConf(conf.Value); err != nil {
		t.Fatal(err)
	}
	nobody.Addresses = ask.Addresses
	client, other := open(t, ask), open(t, nobody)
	if e.hadoop, err = streaming.Find(streaming.Lookup{Hadoop: c.HadoopHome()}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	items, parts := filepath.Join(dir, "items"), filepath.Join(dir, "parts")
	if err := os.WriteFile(items, []byte("one\ntwo\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(parts)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(streaming.WritePartitions(f, [][]byte{[]byte("m")}), f.Close()); err != nil {
		t.Fatal(err)
	}
	home := c.HDFS() + "/user/" + user
	e.fs("-put", items, parts, home)
	task := filepath.Join(dir, "task")
	if err := buildTask(t, task); err != nil {
		t.Fatal(err)
	}
	base := func(tag string, mapper ...string) streaming.Job {
		return streaming.Job{
			Name: tag, Queue: "nightly", Tags: []string{tag}, Input: home + "/items", Output: home + "/" + tag,
			Reduces: 2, Partitions: home + "/parts", Files: []streaming.File{{Path: task, Name: "task"}},
			Mapper: append([]string{"task"}, mapper...), Reducer: []string{"task", "reduce"}, MaxAttempts: 1,
			Env: map[string]string{"BULKLOAD_TEST_TASK": "1", "TEST_HADOOP": filepath.Join(c.HadoopHome(), "bin", "hadoop"), "KRB5_CONFIG": c.Krb5Conf()},
		}
	}
	nodes, err := client.Nodes(t.Context())
	if err != nil || len(nodes) != 2 {
		t.Fatalf("%+v, %v", nodes, err)
	}
	for _, n := range nodes {
		if got, err := client.Processor(t.Context(), n.HTTP); err != nil || got != map[string]string{"amd64": "amd64", "arm64": "aarch64"}[runtime.GOARCH] {
			t.Errorf("the processor of %s is %q, %v", n.ID, got, err)
		}
	}
	t.Run("to its end", func(t *testing.T) { toItsEnd(t, e, client, base("good", "map")) })
	t.Run("a failure", func(t *testing.T) { fails(t, e, client, other, base("bad", "fail")) })
	t.Run("a kill", func(t *testing.T) { killed(t, e, client, other, base("long", "wait")) })
	if _, err := client.Application(t.Context(), "application_1_0001"); !errors.Is(err, yarn.ErrUnknown) {
		t.Errorf("an application without a user: %v", err)
	}
}

func toItsEnd(t *testing.T, e *edge, client *yarn.Client, job streaming.Job) {
	ctx := t.Context()
	id, err := e.hadoop.Submit(ctx, job, e.env)
	if err != nil {
		t.Fatal(err)
	}
	found, err := client.ByTag(ctx, job.Tags[0])
	if err != nil || len(found) != 1 || found[0].ID != id || found[0].Name != job.Name || found[0].Queue != "root.nightly" && found[0].Queue != "nightly" {
		t.Fatalf("%s by its tag: %+v, %v", id, found, err)
	}
	if a := watch(t, client, id); !a.Succeeded() || a.MemorySeconds == 0 {
		t.Fatalf("%+v", a)
	}
	// Each map writes "a" and "z" with its line; the first reduce gets keys below "m".
	for n, want := range []string{"a one\na two\n", "z one\nz two\n"} {
		lines := strings.SplitAfter(e.fs("-cat", job.Output+"/sub/part-"+string(rune('0'+n))), "\n")
		slices.Sort(lines) // values of one key have no order
		if got := strings.Join(lines, ""); got != want {
			t.Errorf("reduce %d wrote %q, not %q", n, got, want)
		}
	}
	var counters []yarn.Counter
	testcheck.Eventually(t, jobLimit, "the history", func() (bool, any) {
		counters, err = client.Counters(ctx, id)
		return err == nil, err
	})
	if i := slices.IndexFunc(counters, func(c yarn.Counter) bool { return c.Group == "test" && c.Name == "rows" }); i < 0 || counters[i].Map != 4 {
		t.Errorf("counters %+v", counters)
	}
	tasks, err := client.Tasks(ctx, id)
	if err != nil || len(tasks) != 4 || !tasks[1].Map || tasks[2].Map || tasks[3].Number != 1 || tasks[3].State != "SUCCEEDED" {
		t.Errorf("%+v, %v", tasks, err)
	}
}

func fails(t *testing.T, e *edge, client, other *yarn.Client, job streaming.Job) {
	ctx := t.Context()
	id, err := e.hadoop.Submit(ctx, job, e.env)
	if err != nil {
		t.Fatal(err)
	}
	if a := watch(t, client, id); a.Final != yarn.Failed || !strings.Contains(a.Diagnostics, "failed") {
		t.Fatalf("%+v", a)
	}
	var bad yarn.Attempt
	testcheck.Eventually(t, jobLimit, "the attempt that failed", func() (bool, any) {
		tasks, err := client.Tasks(ctx, id)
		if err != nil {
			return false, err
		}
		for _, task := range tasks {
			if task.State != "FAILED" {
				continue
			}
			attempts, err := client.Attempts(ctx, id, task.ID)
			if err != nil {
				return false, err
			}
			for _, a := range attempts {
				if a.State == "FAILED" {
					bad = a
					return true, nil
				}
			}
		}
		return false, fmt.Sprintf("%+v", tasks)
	})
	if !strings.Contains(bad.Diagnostics, "code 3") {
		t.Errorf("diagnostics %q", bad.Diagnostics)
	}
	var said []byte
	testcheck.Eventually(t, jobLimit, "its words", func() (bool, any) {
		said, err = client.Log(ctx, bad, "stderr", 4096)
		return err == nil, err
	})
	if !strings.Contains(string(said), "items: byte 77: no such column") {
		t.Errorf("it said %q", said)
	}
	if text, err := other.Log(ctx, bad, "stderr", 4096); err == nil {
		t.Errorf("another user reads %q", text)
	}
	if out := e.fs("-ls", "-R", job.Output); strings.Contains(out, "sub") || strings.Contains(out, "_SUCCESS") {
		t.Errorf("a failed job leaves\n%s", out)
	}
}

func killed(t *testing.T, e *edge, client, other *yarn.Client, job streaming.Job) {
	ctx := t.Context()
	id, err := e.hadoop.Submit(ctx, job, e.env)
	if err != nil {
		t.Fatal(err)
	}
	testcheck.Eventually(t, jobLimit, "a status from a map", func() (bool, any) {
		tasks, err := client.Tasks(ctx, id)
		if err != nil || len(tasks) == 0 {
			return false, err
		}
		attempts, err := client.Attempts(ctx, id, tasks[0].ID)
		return err == nil && len(attempts) == 1 && strings.HasPrefix(attempts[0].Status, "waiting"), fmt.Sprintf("%+v, %v", attempts, err)
	})
	if err := other.Kill(ctx, id); !errors.Is(err, yarn.ErrDenied) {
		t.Errorf("killed by another user: %v", err)
	}
	if err := client.Kill(ctx, id); err != nil {
		t.Fatal(err)
	}
	if a := watch(t, client, id); a.State != yarn.KilledApp || a.Final != yarn.Killed {
		t.Errorf("%+v", a)
	}
	if err := client.Kill(ctx, id); err != nil {
		t.Errorf("killed again: %v", err)
	}
}

func login(t *testing.T, c *testcluster.Cluster, user string) *kerberos.Client {
	t.Helper()
	conf, err := kerberos.LoadConfig(c.Krb5Conf())
	if err != nil {
		t.Fatal(err)
	}
	k, err := kerberos.Login(t.Context(), kerberos.Options{Config: conf, Principal: testcluster.Principal(user), Keytab: c.Keytab(user)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return k
}

func open(t *testing.T, o yarn.Options) *yarn.Client {
	t.Helper()
	c, err := yarn.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// fs runs Hadoop's file system shell.
func (e *edge) fs(args ...string) string {
	e.Helper()
	cmd := exec.CommandContext(e.Context(), filepath.Join(e.cluster.HadoopHome(), "bin", "hadoop"), append([]string{"org.apache.hadoop.fs.FsShell"}, args...)...)
	cmd.Env = e.env
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		e.Fatalf("%v: %v\n%s", args, err, stderr.String())
	}
	return string(out)
}

func watch(t *testing.T, client *yarn.Client, id string) (a yarn.Application) {
	t.Helper()
	testcheck.Eventually(t, jobLimit, "the end of "+id, func() (bool, any) {
		var err error
		a, err = client.Application(t.Context(), id)
		return err == nil && a.State.Ended(), fmt.Sprintf("%s, %v", a.State, err)
	})
	return a
}

// jobLimit is the timeout for YARN's handling of an application.
const jobLimit = 5 * time.Minute
