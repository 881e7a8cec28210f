package streaming

import (
	"errors"
	"maps"
	"os"
	"reflect"
	"strings"
	"testing"
)

// nodeDir is the directory of a node's container files; testdata/task.env has their paths below it.
const nodeDir = "/nm"

func environment(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/task.env")
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if strings.HasPrefix(value, "yarn/") {
			value = nodeDir + "/" + value
		}
		env[name] = value
	}
	return env
}

func from(env map[string]string) (Task, error) {
	return TaskFrom(func(name string) (string, bool) { v, ok := env[name]; return v, ok })
}

func TestTaskFrom(t *testing.T) {
	got, err := from(environment(t))
	if err != nil {
		t.Fatal(err)
	}
	const app, container = "application_1795370865323_0002", "container_1795370865323_0002_01_000002"
	const local = nodeDir + "/yarn/local/usercache/loader/appcache/" + app
	want := Task{
		Attempt: "attempt_1795370865323_0002_m_000000_0", Map: true,
		Output:    "hdfs://localhost:18926/user/loader/out2/_temporary/1/_temporary/attempt_1795370865323_0002_m_000000_0",
		Root:      "hdfs://localhost:18926/user/loader/out2",
		LocalDirs: []string{local}, User: "loader", TokenFile: local + "/" + container + "/container_tokens",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, not %+v", got, want)
	}
	env := environment(t)
	maps.Copy(env, map[string]string{
		"mapreduce_task_attempt_id": "attempt_1_0002_r_000017_3", "mapreduce_task_partition": "17", "mapreduce_job_reduces": "18",
		"HADOOP_USER_NAME": "other", "LOCAL_DIRS": "/a,/b",
	})
	got, err = from(env)
	if err != nil || got.Map || got.Number != 17 || got.Try != 3 || got.Reduces != 18 || got.User != "other" || len(got.LocalDirs) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestTaskFromRefuses(t *testing.T) {
	if _, err := from(nil); !errors.Is(err, ErrNoTask) {
		t.Errorf("outside of a task: %v", err)
	}
	for name, value := range map[string]string{
		"mapreduce_task_attempt_id":                   "attempt_1_2_x_3_4",
		"mapreduce_task_partition":                    "5",
		"mapreduce_job_reduces":                       "many",
		"mapreduce_task_output_dir":                   "",
		"mapreduce_output_fileoutputformat_outputdir": "out",
	} {
		env := environment(t)
		env[name] = value
		if _, err := from(env); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s=%s: %v", name, value, err)
		}
	}
	env := environment(t)
	env["mapreduce_task_attempt_id"] = "attempt_1_0002_r_000000_0"
	if _, err := from(env); err == nil {
		t.Error("a reduce of a job without reduces is accepted")
	}
}

func TestReports(t *testing.T) {
	var b strings.Builder
	if err := Status(&b, "half\nreporter:counter:a,b,1\tdone "+strings.Repeat("é", 400)); err != nil {
		t.Fatal(err)
	}
	if err := Count(&b, "bulkload", "rows read", -3); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "reporter:status:half reporter:counter:a,b,1 done é") || len(lines[0]) > 520 ||
		lines[1] != "reporter:counter:bulkload,rows read,-3" {
		t.Errorf("%q", lines)
	}
	for _, bad := range []string{"", "a,b", "a\nb"} {
		if Count(&b, "g", bad, 1) == nil || Count(&b, bad, "n", 1) == nil {
			t.Errorf("counter %q is accepted", bad)
		}
	}
}
