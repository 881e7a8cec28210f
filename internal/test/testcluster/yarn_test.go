package testcluster

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestYARNOptions(t *testing.T) {
	for _, bad := range []Options{{NodeManagers: 2}, {YARN: true, NodeManagers: -1}, {YARN: true, NodeManagers: 10}} {
		if bad.Validate() == nil {
			t.Errorf("%+v: accepted", bad)
		}
	}
	if got := (Options{YARN: true}).withDefaults().NodeManagers; got != 2 {
		t.Errorf("%d node managers by default", got)
	}
	roles := startOrder(false, false, 1, 1, 1, 2)
	if want := []Role{ResourceManager, NodeManager, "nodemanager-2", HistoryServer}; !slices.Equal(roles[len(roles)-4:], want) {
		t.Errorf("roles %v", roles)
	}
}

// The clients' configuration of a cluster with YARN and Kerberos names no key.
func TestYARNClientsHaveNoKeytabs(t *testing.T) {
	l := layout{t.TempDir()}
	o := Options{YARN: true, Security: AtLevel(Privacy)}.withDefaults()
	if err := l.write(o, portsFrom(20000, 1, 1, 2), "/lib"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"yarn-site.xml", "mapred-site.xml"} {
		for dir, want := range map[string]bool{l.conf(): false, l.daemonConf(): true} {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(string(text), ".keytab"); got != want {
				t.Errorf("%s of %s names a keytab: %v", name, filepath.Base(dir), got)
			}
		}
	}
}

// A process that works in a node's directory is found and ended, and no other.
func TestContainersAreFound(t *testing.T) {
	nodes := filepath.Join(t.TempDir(), "nodes")
	work := filepath.Join(nodes, "nodemanager", "container_1_0001_01_000002")
	if err := os.MkdirAll(work, 0o755); err != nil {
		t.Fatal(err)
	}
	in, named, out := exec.Command("sleep", "600"), exec.Command("sleep", "600"), exec.Command("sleep", "600")
	in.Dir, named.Env = work, []string{"LOCAL_DIRS=" + nodes + "/x"}
	for _, cmd := range []*exec.Cmd{in, named, out} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	defer func() { out.Process.Kill(); out.Wait() }()
	found, err := containersBelow(nodes)
	if err != nil || len(found) != 2 {
		t.Fatalf("%v, %v", found, err)
	}
	for _, p := range found {
		if p.Pid() == in.Process.Pid && (p.Container != "container_1_0001_01_000002" || p.Node != NodeManager || !slices.Equal(p.Command, []string{"sleep", "600"})) {
			t.Errorf("%+v", p)
		}
	}
	if err := endContainers(t.Context(), nodes); err != nil {
		t.Fatal(err)
	}
	for _, cmd := range []*exec.Cmd{in, named} {
		if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
			t.Errorf("ended with %v", err)
		}
	}
	if _, _, err := processStat(out.Process.Pid); err != nil {
		t.Errorf("the process next to them: %v", err)
	}
}

func TestRESTIsBounded(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"a":%q}`, strings.Repeat("x", maxREST))
	}))
	defer server.Close()
	var port int
	if _, err := fmt.Sscanf(server.URL, "http://127.0.0.1:%d", &port); err != nil {
		t.Fatal(err)
	}
	c := &Cluster{state: &state{}}
	if err := c.rest(t.Context(), port, "/", &struct{}{}); err == nil {
		t.Error("an answer above the limit is accepted")
	}
}

func TestYARN(t *testing.T) {
	NeedsYARN(t)
	testYARN(t, Options{YARN: true, WithoutHBase: true})
}

func TestYARNSecured(t *testing.T) {
	NeedsYARN(t)
	testYARN(t, Options{YARN: true, WithoutHBase: true, Security: AtLevel(Privacy)})
}

// testYARN runs a Streaming job to its end, finds it in the history, and stops the cluster during another one.
func testYARN(t *testing.T, o Options) {
	ctx := t.Context()
	c, err := Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	user := "tester"
	var env []string
	if c.state.Security.Kerberos {
		user = Loader
		if _, err := c.Kerberos(ctx, nil, "kinit", "-kt", c.Keytab(Loader), Loader); err != nil {
			t.Fatal(err)
		}
	} else {
		env = []string{"HADOOP_USER_NAME=" + daemonUser}
	}
	home := "/user/" + user
	hadoop := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(ctx, filepath.Join(c.HadoopHome(), "bin", args[0]), args[1:]...)
		cmd.Env = append(c.clientEnvironment(), env...)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, lastLines(stderr.String(), logTail))
		}
		return string(out)
	}
	const shell = "org.apache.hadoop.fs.FsShell"
	input := filepath.Join(t.TempDir(), "in.txt")
	if err := os.WriteFile(input, []byte("b\na\nc\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if !c.state.Security.Kerberos {
		hadoop("hadoop", shell, "-mkdir", "-p", home)
		hadoop("hadoop", shell, "-chown", user, home)
		env = []string{"HADOOP_USER_NAME=" + user}
	}
	hadoop("hadoop", shell, "-put", input, home+"/in.txt")
	streaming := func(output, mapper string, more ...string) []string {
		args := append([]string{"mapred", "streaming", "-D", "mapreduce.job.maps=2", "-D", "mapreduce.job.reduces=1"}, more...)
		return append(args, "-input", home+"/in.txt", "-output", home+"/"+output, "-mapper", mapper, "-reducer", "/bin/cat")
	}
	hadoop(streaming("sorted", "/bin/cat")...)
	if got, want := hadoop("hadoop", shell, "-cat", home+"/sorted/part-00000"), "a\t\nb\t\nc\t\n"; got != want {
		t.Errorf("the job wrote %q, not %q", got, want)
	}
	var history struct {
		Jobs struct {
			Job []struct {
				User, State             string
				MapsTotal, ReducesTotal int
			}
		}
	}
	path := "/ws/v1/history/mapreduce/jobs"
	if !c.state.Security.Kerberos {
		path += "?user.name=" + user
	}
	if err := c.rest(ctx, c.state.Ports.YARN.HistoryWeb, path, &history); err != nil {
		t.Fatal(err)
	}
	if jobs := history.Jobs.Job; len(jobs) != 1 || jobs[0].State != "SUCCEEDED" || jobs[0].User != user || jobs[0].MapsTotal != 2 || jobs[0].ReducesTotal != 1 {
		t.Errorf("history %+v", history)
	}

	hadoop(append(streaming("never", "sleep 600"), "-background")...)
	wait(t, "a container that sleeps", func(context.Context) error {
		found, err := c.Containers()
		if err == nil && !slices.ContainsFunc(found, sleeps) {
			err = fmt.Errorf("%d processes, none of them", len(found))
		}
		return err
	})
	// A dead NodeManager leaves its containers running, and is started again.
	node := c.Daemon(NodeManager.Nth(2))
	if err := node.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	if err := node.WaitReady(ctx); err != nil {
		t.Error(err)
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	if left, err := c.Containers(); err != nil || len(left) > 0 {
		t.Errorf("left behind: %+v, %v", left, err)
	}
}

// sleeps reports whether a process is the mapper, whose path Streaming resolves.
func sleeps(p Process) bool {
	return len(p.Command) == 2 && filepath.Base(p.Command[0]) == "sleep" && p.Command[1] == "600"
}

// wait repeats a function until it returns no error.
func wait(t *testing.T, what string, ask func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	for {
		err := ask(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, err)
		case <-time.After(pollEvery):
		}
	}
}
