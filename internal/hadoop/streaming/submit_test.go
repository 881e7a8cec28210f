package streaming

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"
)

var update = flag.Bool("update", false, "write testdata/job.args")

func fullJob() Job {
	return Job{
		Name: "bulkload check:opinion", Queue: "root.nightly", Tags: []string{"bulkload-1a2b"},
		Input: "hdfs://bulk/stage/items", Output: "hdfs://bulk/stage/out", Reduces: 3, Partitions: "hdfs://bulk/stage/parts",
		Files:  []File{{"hdfs://bulk/stage/bulkload", "loader"}, {"/etc/plan.json", "plan.json"}},
		Mapper: []string{"loader", "map"}, Reducer: []string{"loader", "reduce"}, Env: map[string]string{"GOMEMLIMIT": "300MiB", "A": "1"},
		MapMemoryMB: 512, ReduceMemoryMB: 1024, MapHeapMB: 160, ReduceHeapMB: 200, MapCores: 1, ReduceCores: 2,
		MaxAttempts: 3, FileSystems: []string{"hdfs://other"},
		Properties: map[string]string{"some.password": "<sesame>"},
	}
}

func TestArgs(t *testing.T) {
	args, err := fullJob().Args("/tmp/p.xml")
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(args, "\n") + "\n"
	if *update {
		if err := os.WriteFile("testdata/job.args", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/job.args")
	if err != nil || got != string(want) {
		t.Errorf("%v\n%s", err, got)
	}
	// Properties that the user sets are not set again.
	j := fullJob()
	j.Properties["mapreduce.map.speculative"] = "true"
	args, err = j.Args("/tmp/p.xml")
	if err != nil || slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "mapreduce.map.speculative") }) {
		t.Errorf("%v, %v", args, err)
	}
}

func TestArgsRefused(t *testing.T) {
	for name, spoil := range map[string]func(*Job){
		"no name":            func(j *Job) { j.Name = "" },
		"two lines":          func(j *Job) { j.Name = "a\nb" },
		"no reduce":          func(j *Job) { j.Reduces = 0 },
		"no partitions":      func(j *Job) { j.Partitions = "" },
		"a tag in capitals":  func(j *Job) { j.Tags = []string{"Tag"} },
		"a tag of two":       func(j *Job) { j.Tags = []string{"a,b"} },
		"two inputs":         func(j *Job) { j.Input += ",b" },
		"a space":            func(j *Job) { j.Output += " b" },
		"a file twice":       func(j *Job) { j.Files = append(j.Files, j.Files[0]) },
		"a file as two":      func(j *Job) { j.Files[0].Path += ",b" },
		"a file with a path": func(j *Job) { j.Files[0].Name = "../x" },
		"no mapper":          func(j *Job) { j.Mapper = nil },
		"a quote":            func(j *Job) { j.Reducer = []string{"loader", `"x`} },
		"a secret":           func(j *Job) { j.Env["DB_PASSWORD"] = "x" },
		"a spaced value":     func(j *Job) { j.Env["X"] = "a b" },
		"no such variable":   func(j *Job) { j.Env["X=Y"] = "a" },
		"a negative":         func(j *Job) { j.MaxAttempts = -1 },
	} {
		j := fullJob()
		spoil(&j)
		if _, err := j.Args(""); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// program writes a shell script and returns its path.
func program(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFind(t *testing.T) {
	home := t.TempDir()
	hadoop := program(t, home, "bin/hadoop", "")
	mapred := program(t, home, "bin/mapred", "")
	jar := program(t, home, "share/hadoop/tools/lib/hadoop-streaming-3.4.2.jar", "")
	program(t, home, "share/hadoop/tools/lib/hadoop-streaming-3.4.2-sources.jar", "")
	bare := t.TempDir()
	bareMapred := program(t, bare, "bin/mapred", "")
	bareHadoop := program(t, t.TempDir(), "bin/hadoop", "")
	env := func(kv ...string) func(string) (string, bool) {
		return func(name string) (string, bool) {
			for i := 0; i < len(kv); i += 2 {
				if kv[i] == name {
					return kv[i+1], true
				}
			}
			return "", false
		}
	}
	for name, c := range map[string]struct {
		look Lookup
		want []string
	}{
		"HADOOP_HOME":   {Lookup{Env: env("HADOOP_HOME", home)}, []string{hadoop, "jar", jar}},
		"PATH":          {Lookup{Env: env("PATH", "/none:"+home+"/bin")}, []string{hadoop, "jar", jar}},
		"a home":        {Lookup{Hadoop: home, Env: env()}, []string{hadoop, "jar", jar}},
		"a program":     {Lookup{Hadoop: hadoop, Env: env()}, []string{hadoop, "jar", jar}},
		"mapred":        {Lookup{Hadoop: mapred, Env: env()}, []string{mapred, "streaming"}},
		"mapred alone":  {Lookup{Env: env("PATH", bare+"/bin")}, []string{bareMapred, "streaming"}},
		"not the first": {Lookup{Env: env("HADOOP_HOME", "/none", "PATH", ":"+bare+"/bin")}, []string{bareMapred, "streaming"}},
	} {
		got, err := Find(c.look)
		if err != nil || !slices.Equal(got.Command, c.want) {
			t.Errorf("%s: %v, %v, not %v", name, got, err, c.want)
		}
	}
	for name, look := range map[string]Lookup{
		"an empty home": {Hadoop: t.TempDir(), Env: env()},
		"no program":    {Hadoop: "/none/hadoop", Env: env()},
		"no jar":        {Hadoop: bareHadoop, Env: env()},
	} {
		if _, err := Find(look); !errors.Is(err, ErrNoClient) || !strings.Contains(err.Error(), "HADOOP_HOME") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

const id = "application_1795370865323_0002"

// The client's output in the form of Hadoop 3.4.3.
const words = `echo "2026-11-22 18:10:36,900 INFO  [main] impl.YarnClientImpl: Submitted application ` + id + `" >&2; `

func TestSubmit(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	c := &Client{Command: []string{program(t, dir, "hadoop", `printf '%s\n' "$@" > `+out+`; stat -c %a "$4" > `+out+`.mode; cat "$4" > `+out+".conf\n"+words+"\n"), "jar", "x.jar"}}
	got, err := c.Submit(t.Context(), fullJob(), nil)
	if err != nil || got != id {
		t.Fatalf("%q, %v", got, err)
	}
	args, err := os.ReadFile(out)
	if err != nil || strings.Contains(string(args), "sesame") || !strings.HasPrefix(string(args), "jar\nx.jar\n-conf\n") || !strings.HasSuffix(string(args), "-background\n") {
		t.Errorf("%v\n%s", err, args)
	}
	conf, err := os.ReadFile(out + ".conf")
	if err != nil || !strings.Contains(string(conf), "<name>some.password</name><value>&lt;sesame&gt;</value>") {
		t.Errorf("%v\n%s", err, conf)
	}
	if mode, err := os.ReadFile(out + ".mode"); err != nil || string(mode) != "600\n" {
		t.Errorf("%v, mode %s", err, mode)
	}
	path := strings.Split(string(args), "\n")[3]
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", path, err)
	}
}

func TestSubmitFails(t *testing.T) {
	dir := t.TempDir()
	run := func(ctx context.Context, text string) (string, error) {
		c := &Client{Command: []string{program(t, dir, "hadoop", text)}}
		return c.Submit(ctx, fullJob(), nil)
	}
	if got, err := run(t.Context(), "yes line | head -100000 >&2; echo Output directory exists >&2; exit 5"); got != "" || err == nil ||
		!strings.Contains(err.Error(), "exit status 5") || !strings.HasSuffix(err.Error(), "Output directory exists") || len(err.Error()) > 2*maxTail {
		t.Errorf("%q, %v", got, err)
	}
	// The client had named the id: the application runs.
	if got, err := run(t.Context(), words+"exit 1"); got != id || err == nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := run(t.Context(), "exit 0"); got != "" || !errors.Is(err, ErrNoID) {
		t.Errorf("%q, %v", got, err)
	}
	// A client that hangs is terminated with its children.
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	stop := errors.New("asked to stop")
	pid := filepath.Join(dir, "pid")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		got, err := run(ctx, words+"sleep 600 & echo $! > "+pid+".new; mv "+pid+".new "+pid+"; wait")
		if got != id || !errors.Is(err, stop) {
			t.Errorf("%q, %v", got, err)
		}
	}()
	testcheck.Eventually(t, time.Minute, "the client's child runs", func() (bool, any) {
		_, err := os.Stat(pid)
		return err == nil, err
	})
	cancel(stop)
	<-ended
	text, err := os.ReadFile(pid)
	if err != nil {
		t.Fatal(err)
	}
	stat := fmt.Sprintf("/proc/%s/stat", strings.TrimSpace(string(text)))
	// The signal was sent, but the kernel handles it asynchronously.
	testcheck.Eventually(t, time.Minute, "the client's child ends", func() (bool, any) {
		state, err := os.ReadFile(stat)
		return err != nil || strings.Contains(string(state), ") Z"), string(state)
	})
	c := &Client{Command: []string{dir + "/none"}}
	if _, err := c.Submit(t.Context(), fullJob(), nil); err == nil {
		t.Error("no program, no error")
	}
}

// TestListener checks that the id is found however the output is cut, and that a line
// without end takes no memory.
func TestListener(t *testing.T) {
	text := strings.Repeat("x", 3*maxTail) + "\nINFO impl.YarnClientImpl: Submitted application " + id + "\nINFO: Submitted application application_1_2\nend"
	for _, step := range []int{1, 7, len(text)} {
		l := &listener{}
		for rest := text; rest != ""; {
			n := min(step, len(rest))
			l.Write([]byte(rest[:n]))
			rest = rest[n:]
		}
		got, tail := l.result()
		if got != id || !strings.HasSuffix(tail, "end") || len(tail) > maxTail || cap(l.line) > 2*maxLine {
			t.Errorf("step %d: %q, tail of %d bytes, line of %d", step, got, len(tail), cap(l.line))
		}
	}
}
