package mapreduce

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/test/jobtest"
	"bulkload/pkg/hdfsio"
)

type object = map[string]any

// job returns the ApplicationMaster's report about the job.
func job(done object) object {
	j := object{"id": strings.Replace(application, "application", "job", 1), "state": "RUNNING", "mapsTotal": 2, "reducesTotal": 2}
	for k, v := range done {
		j[k] = v
	}
	return object{"job": j}
}

func taskOf(kind string, number int, state string, elapsed time.Duration) object {
	return object{"id": fmt.Sprintf("task_1700000000000_0001_%s_%06d", kind, number), "type": map[string]string{"m": "MAP", "r": "REDUCE"}[kind],
		"state": state, "elapsedTime": elapsed.Milliseconds()}
}

// TestTaskTable checks that the result has the statistics of each task, with the time from the ApplicationMaster, and that the slow one is marked.
func TestTaskTable(t *testing.T) {
	b := newBench(t, "exit 1")
	b.Begun, b.manager.id = b.begun(application), application
	b.manager.more = map[string]any{
		ofJob("/counters"): object{"jobCounters": object{}},
		ofJob(""):          job(object{"mapsCompleted": 2, "reducesRunning": 1, "reducesCompleted": 1, "failedMapAttempts": 3}),
		ofJob("/tasks"): object{"tasks": object{"task": []object{taskOf("m", 0, "SUCCEEDED", 4*time.Second), taskOf("m", 1, "SUCCEEDED", 61*time.Second),
			taskOf("r", 0, "SUCCEEDED", 30*time.Second), taskOf("r", 1, "SUCCEEDED", 31*time.Second)}}},
	}
	var live []progress.Tasks
	b.Events.OnTasks = func(t progress.Tasks) { live = append(live, t) }
	asked := 0
	b.manager.asked = func(m *manager) {
		if asked++; asked == 3 {
			b.commit()
			m.state, m.final = "FINISHED", "SUCCEEDED"
		}
	}
	a, err := b.build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := (progress.Tasks{Application: application, Maps: 2, MapsDone: 2, Reduces: 2, ReducesDone: 1, ReducesRunning: 1, Failed: 3}); len(live) != 1 || live[0] != want {
		t.Errorf("the live view has %+v, not %+v", live, want)
	}
	info, err := os.Stat(b.pipe.work.Plan.Inputs[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	host, _ := os.Hostname()
	var given, got, read, written, records, rows int64
	for i, r := range a.Tasks {
		if (r.Kind == kindMap) != (i < 2) || r.Number != i%2 || r.Attempts != 1 || r.Node != host || r.Program <= 0 || r.Shuffled == 0 || r.Straggler != (i == 1) {
			t.Errorf("task %d: %+v", i, r)
		}
		if r.Kind == kindMap {
			given, read, records = given+r.Shuffled, read+r.Bytes, records+r.Rows
		} else {
			got, written, rows = got+r.Shuffled, written+r.Bytes, rows+r.Rows
		}
	}
	if len(a.Tasks) != 4 || a.Tasks[3].Wall != 31*time.Second {
		t.Fatalf("%+v", a.Tasks)
	}
	if given != got || records != 6000 || rows != 6000 || written != a.Manifests[0].Bytes || read < info.Size()*9/10 || read > info.Size() {
		t.Errorf("%d bytes given, %d got; %d records, %d rows; %d bytes written of %d, %d read of %d", given, got, records, rows, written, a.Manifests[0].Bytes, read, info.Size())
	}
}

// TestTaskRun checks that a second ApplicationMaster numbers attempts from 1000.
func TestTaskRun(t *testing.T) {
	for id, want := range map[string][2]int{"attempt_1_0001_m_000007_2": {7, 3}, "attempt_1_0001_r_000012_1000": {12, 1}, "attempt_1_0001_r_000012_2003": {12, 4}} {
		if r := taskRun(id, Ran{}); r.Number != want[0] || r.Attempts != want[1] {
			t.Errorf("%s: %+v", id, r)
		}
	}
}

// TestBudgetOfAllMaps checks that bad records that exceed the budget only together end the job when the last map has ended: the reduces
// need not write files that will not be loaded.
func TestBudgetOfAllMaps(t *testing.T) {
	for _, c := range []struct {
		budget string
		ends   bool
	}{{"8", true}, {"9", false}, {"0.05%", true}, {"1%", false}} {
		b := newBench(t, "exit 1")
		s := jobtest.CSVSpec(bad(t, false)) // nine bad records
		s.BadRecords = c.budget
		b.pipe = newPiped(t, s, [][]byte{[]byte("k04")}, 2, 2)
		b.Begun, b.manager.id = b.begun(application), application
		b.manager.more = map[string]any{ofJob("/counters"): object{"jobCounters": object{}}, ofJob(""): job(object{"mapsCompleted": 2})}
		asked := 0
		b.manager.asked = func(m *manager) {
			if asked++; asked == 3 {
				m.state, m.final = "FAILED", "FAILED" // not reached if the job is ended before
			}
		}
		_, err := b.build(t.Context())
		if ends := fail.KindOf(err) == fail.BadRows; ends != c.ends || (b.manager.killed == 1) != c.ends {
			t.Errorf("%s allowed of 9 bad records: %v, killed %d times", c.budget, err, b.manager.killed)
		}
		if want := map[bool]string{true: "[ended it could not succeed]"}[c.ends]; c.ends && fmt.Sprint(b.notes.all) != want {
			t.Errorf("%s allowed of 9 bad records: the journal has %v", c.budget, b.notes.all)
		}
	}
}

// TestOwnErrorOfATask checks that the last attempt's own error is the error of a failed job, and that its kind is the exit code.
func TestOwnErrorOfATask(t *testing.T) {
	for _, kind := range []fail.Kind{fail.Input, fail.HDFS} {
		b := newBench(t, "exit 1")
		b.Begun, b.manager.id = b.begun(application), application
		for i := range 4 {
			cause := fail.Errorf(kind, "hdfs:///in/x.csv at byte 77: no DataNode has it (try %d)", i)
			name := fmt.Sprintf("attempt_1700000000000_0001_m_000001_%d", i)
			if err := writeVerdict(t.Context(), hdfsio.Local{}, filepath.Join(b.pipe.dir, errorsName), name, cause); err != nil {
				t.Fatal(err)
			}
			when := time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC)
			if err := os.Chtimes(filepath.Join(b.pipe.dir, errorsName, name+".json"), when, when); err != nil {
				t.Fatal(err)
			}
		}
		var warned []string
		b.Events.OnWarn = func(msg string, kv ...any) { warned = append(warned, fmt.Sprint(kv...)) }
		asked := 0
		b.manager.asked = func(m *manager) {
			if asked++; asked == 3 {
				m.state, m.final = "FINISHED", "FAILED"
			}
		}
		_, err := b.build(t.Context())
		if fail.KindOf(err) != kind || !strings.Contains(err.Error(), "at byte 77") || !strings.Contains(err.Error(), "m_000001_3") || len(warned) != 4 {
			t.Errorf("%v: %v, %d warnings", kind, err, len(warned))
		}
	}
}

// failedTask sets up a job with a failed task, on a node that is the manager's own server.
func failedTask(b *bench, diagnostics string) {
	node := strings.TrimPrefix(b.server, "http://")
	b.manager.more = map[string]any{
		ofJob("/tasks"): object{"tasks": object{"task": []object{taskOf("m", 0, "SUCCEEDED", time.Second), taskOf("m", 1, "FAILED", time.Second)}}},
		ofJob("/tasks/task_1700000000000_0001_m_000001/attempts"): object{"taskAttempts": object{"taskAttempt": []object{{"id": "attempt_1700000000000_0001_m_000001_3",
			"state": "FAILED", "assignedContainerId": "container_1700000000000_0001_01_000009", "nodeHttpAddress": node, "diagnostics": diagnostics}}}},
		"/ws/v1/node/containerlogs/container_1700000000000_0001_01_000009/stderr": "Container: c\nLogContents:\nthe last that it said\nEnd of LogType:stderr\n",
	}
	asked := 0
	b.manager.asked = func(m *manager) {
		if asked++; asked == 3 {
			m.state, m.final = "FINISHED", "FAILED"
		}
	}
}

// TestStandardErrorOfATask checks that the end of standard error is in the command's error if a task has left no error of its own,
// for example because it was killed.
func TestStandardErrorOfATask(t *testing.T) {
	b := newBench(t, "exit 1")
	b.Begun, b.manager.id = b.begun(application), application
	failedTask(b, "subprocess failed with code 137")
	_, err := b.build(t.Context())
	if err == nil || !strings.Contains(err.Error(), "code 137") || !strings.Contains(err.Error(), "the last that it said") {
		t.Errorf("%v", err)
	}
}

// system returns the report of a NodeManager's Java about its processor.
func system(arch string) object {
	return object{"beans": []object{{"name": "java.lang:type=OperatingSystem", "Name": "Linux", "Arch": arch}}}
}

// TestOtherProcessorOfANode checks that a program that a node cannot start is a configuration error that names the processor to build for.
func TestOtherProcessorOfANode(t *testing.T) {
	ours, err := processorOf("/bin/true")
	if err != nil {
		t.Skip(err)
	}
	for arch, want := range map[string]string{"aarch64": "GOARCH=arm64", "loongarch64": "GOARCH=loong64", "": "uname -m"} {
		b := newBench(t, "exit 1")
		b.Begun, b.manager.id = b.begun(application), application
		failedTask(b, `java.io.IOException: Cannot run program "bulkload": error=8, Exec format error`)
		if arch != "" {
			b.manager.more["/jmx"] = system(arch)
		}
		_, err := b.build(t.Context())
		if goarchOf(arch) == ours {
			continue
		}
		if fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), ours) || !strings.Contains(err.Error(), "m_000001_3") {
			t.Errorf("%q: %v", arch, err)
		}
	}
}

// TestCheckNodes checks that a cluster with other processors is refused before anything is planned, that one with both causes a warning,
// and that nodes that do not answer are ignored.
func TestCheckNodes(t *testing.T) {
	ours, err := processorOf("/bin/true")
	if err != nil || ours != "amd64" {
		t.Skipf("of amd64: %v, %v", ours, err)
	}
	for name, c := range map[string]struct {
		nodes []string // processors; empty: it does not answer
		want  string   // part of the error
		warn  string
	}{
		"the same":    {[]string{"amd64", "amd64"}, "", ""},
		"another":     {[]string{"aarch64", "aarch64"}, "GOARCH=arm64", ""},
		"some":        {[]string{"aarch64", "amd64"}, "", "arm64"},
		"silent":      {[]string{"", ""}, "", ""},
		"half silent": {[]string{"", "aarch64"}, "GOARCH=arm64", ""},
		"none":        {nil, "", ""},
	} {
		b := newBench(t, "echo 'no queue of that name' >&2; exit 1")
		nodes := []object{}
		for i, arch := range c.nodes {
			m := &manager{more: map[string]any{}}
			if arch != "" {
				m.more["/jmx"] = system(arch)
			}
			nodes = append(nodes, object{"id": fmt.Sprintf("n%d:45454", i), "nodeHostName": fmt.Sprintf("n%d", i), "nodeHTTPAddress": strings.TrimPrefix(serve(t, m), "http://"), "state": "RUNNING"})
		}
		b.manager.more = map[string]any{"/ws/v1/cluster/nodes": object{"nodes": object{"node": nodes}}}
		warned := ""
		b.Events.OnWarn = func(_ string, kv ...any) { warned += fmt.Sprint(kv...) }
		_, err := b.build(t.Context())
		if want := map[bool]fail.Kind{true: fail.Config, false: fail.Check}[c.want != ""]; fail.KindOf(err) != want || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if (warned == "") != (c.warn == "") || !strings.Contains(warned, c.warn) {
			t.Errorf("%s: warned of %q", name, warned)
		}
		if c.want != "" && len(b.notes.all) > 0 {
			t.Errorf("%s: %v", name, b.notes.all)
		}
	}
	many := make([]int, 1000)
	for i := range many {
		many[i] = i
	}
	if some := spread(many, maxAsked); len(some) != maxAsked || some[0] != 0 || some[maxAsked-1] < 900 || !slices.IsSorted(some) {
		t.Errorf("of 1000 nodes %v are asked", some)
	}
}
