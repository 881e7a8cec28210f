package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/cli/ending"
	"bulkload/internal/cli/lineage"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/pkg/hdfsio"
)

// pythonEnv names a Python that has openlineage-python, specEnv OpenLineage's own schemas. Both are optional.
const (
	pythonEnv = "BULKLOAD_TEST_OPENLINEAGE_PYTHON"
	specEnv   = "BULKLOAD_TEST_OPENLINEAGE_SPEC"
)

// TestOpenLineageClient reads every kind of event, with every facet, with OpenLineage's own client.
func TestOpenLineageClient(t *testing.T) {
	python := os.Getenv(pythonEnv)
	if python == "" {
		t.Skip("needs OpenLineage's client: make test-metrics")
	}
	file := filepath.Join(t.TempDir(), "events.jsonl")
	args := quiet(t, "--openlineage", file, "--input", exports, "--date", "2026-03-01")
	t.Setenv("OPENLINEAGE_PARENT_ID", "https://airflow/prod/load.check/01941f29-7c00-7087-8940-40e508b213bb")
	t.Setenv("OPENLINEAGE_ROOT_PARENT_ID", "prod/load/01941f29-7c00-7087-8940-40e508b213bc")
	if _, err := execute(t.Context(), &globals{}, args); err != nil {
		t.Fatal(err)
	}
	conf := &hdfsio.Conf{}
	conf.Set("hbase.zookeeper.quorum", "zk2,zk1", "test")
	conf.Set("fs.defaultFS", "hdfs://nn:8020", "test")
	w := lineage.Subject{Command: "run", Env: &cluster.Env{Conf: conf}, Spec: spec.Spec{Table: "test:check", Key: "id", Inputs: []string{"hdfs:///exports/a", "/exports/b"}}}
	manifest := &manifest.Manifest{Family: "f", Columns: []string{"id", "name"}, Records: 3, HFiles: 1, Bytes: 100}
	for _, o := range []ending.Outcome{
		{Result: &result.Result{Manifest: manifest}},
		{Err: errors.New("HDFS is gone"), Code: fail.HDFS.ExitCode()},
		{Err: context.Canceled, Code: 143},
	} {
		l := lineage.Observe(lineage.File(file), lineage.Options{Cmd: newRootCmd(&globals{}), Log: slog.New(slog.DiscardHandler), About: w, Job: "nightly", Version: version,
			Input: func() progress.Amount { return progress.Amount{} }})
		if err := l.End(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	lines, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := judge(t, python, lines); err != nil || !strings.HasPrefix(out, "8 events, ") {
		t.Errorf("%v: %s", err, out)
	}
	// The judge must be able to refuse.
	complete := bytes.SplitAfter(lines, []byte("\n"))[1]
	for name, spoil := range map[string]func(e map[string]any){
		"run id":     func(e map[string]any) { e["run"].(map[string]any)["runId"] = "1" },
		"event type": func(e map[string]any) { e["eventType"] = "DONE" },
		"facet": func(e map[string]any) {
			e["run"].(map[string]any)["facets"].(map[string]any)["parent"] = map[string]any{"who": "x"}
		},
		"time":        func(e map[string]any) { e["eventTime"] = "yesterday" },
		"no job name": func(e map[string]any) { delete(e["job"].(map[string]any), "name") },
	} {
		e := map[string]any{}
		if err := json.Unmarshal(complete, &e); err != nil {
			t.Fatal(err)
		}
		spoil(e)
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if out, err := judge(t, python, line); err == nil {
			t.Errorf("%s: the judge takes %s: %s", name, line, out)
		}
	}
}

func judge(t *testing.T, python string, lines []byte) (string, error) {
	t.Helper()
	args := []string{"../../internal/cli/lineage/testdata/judge.py"}
	if spec := os.Getenv(specEnv); spec != "" {
		args = append(args, spec)
	}
	c := exec.CommandContext(t.Context(), python, args...)
	c.Stdin = bytes.NewReader(lines)
	out, err := c.CombinedOutput()
	return string(out), err
}
