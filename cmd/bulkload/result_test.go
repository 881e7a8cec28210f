package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/cli/ending"
	"bulkload/internal/cli/lineage"
	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/journal"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/testcheck"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// checkResult holds the last line of an output to the published schema, and gives its fields.
func checkResult(out []byte) (map[string]any, error) {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	schema, err := c.Compile("../../docs/result.schema.json")
	if err != nil {
		return nil, err
	}
	lines := bytes.Split(bytes.TrimSuffix(out, []byte("\n")), []byte("\n"))
	last := lines[len(lines)-1]
	if n := len(last); n > 8<<10 {
		return nil, fmt.Errorf("the result has %d bytes", n)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(last))
	if err != nil {
		return nil, fmt.Errorf("%.100q: %w", last, err)
	}
	if err := schema.Validate(v); err != nil {
		return nil, fmt.Errorf("%w in %s", err, last)
	}
	var fields map[string]any
	return fields, json.Unmarshal(last, &fields)
}

// TestSchemaHasKinds: the schema of results has the word of each kind of failure, and that of a command that was stopped.
func TestSchemaHasKinds(t *testing.T) {
	b, err := os.ReadFile("../../docs/result.schema.json")
	testcheck.Must(t, err)
	var schema struct {
		Properties struct {
			Kind struct{ Enum []string } `json:"error_kind"`
		}
	}
	testcheck.Must(t, json.Unmarshal(b, &schema))
	want := []string{"stopped"}
	for _, k := range fail.Kinds() {
		want = append(want, k.String())
	}
	slices.Sort(want)
	if got := slices.Sorted(slices.Values(schema.Properties.Kind.Enum)); !slices.Equal(got, want) {
		t.Errorf("the schema has %q, want %q", got, want)
	}
}

// validresult FILE STATUS [NAME=VALUE…] checks the last line of a file, or of stdout, by the schema, its status, and fields.
func validresult(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: validresult FILE STATUS [NAME=VALUE…]")
	}
	r, err := checkResult([]byte(ts.ReadFile(args[0])))
	if err != nil {
		ts.Fatalf("%v", err)
	}
	for _, want := range append([]string{"status=" + args[1]}, args[2:]...) {
		name, value, _ := strings.Cut(want, "=")
		if got := fmt.Sprint(r[name]); got != value {
			ts.Fatalf("%s is %s, want %s: %v", name, got, value, r)
		}
	}
}

// TestResultOfStop stops a build in its middle.
func TestResultOfStop(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the built program, which -short leaves out")
	}
	dir := t.TempDir()
	input := bigInput(t, dir)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		result := filepath.Join(dir, "result.json")
		cmd := exec.Command("bulkload", "build", "--key=id", "--table=t", "--input="+input, "--out="+filepath.Join(dir, "out"), "--workers=1",
			"--output=json", "--result-file="+result, "--report="+filepath.Join(dir, "report.html"))
		out := stopInPhase(t, cmd, "read", sig)
		r, err := checkResult(out)
		if err != nil {
			t.Fatal(err)
		}
		if r["status"] != "stopped" || r["exit_code"] != float64(128+sig) || r["table"] != "t" {
			t.Errorf("%s", out)
		}
		if file, err := os.ReadFile(result); err != nil || !bytes.Equal(file, out) {
			t.Errorf("%v: the file has %s", err, file)
		}
		if page, err := os.ReadFile(filepath.Join(dir, "report.html")); err != nil || !bytes.Contains(page, []byte("Why it stopped")) {
			t.Errorf("%v: the report does not say that it was stopped", err)
		}
	}
}

// bigInput is a CSV file that takes a second to read.
func bigInput(t *testing.T, dir string) string {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("id,v\n")
	for i := range 1_500_000 {
		fmt.Fprintf(&b, "%08d,some value that makes the record longer %d\n", i, i)
	}
	name := filepath.Join(dir, "big.csv")
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// stopInPhase starts a command, sends it a signal when its log names a phase, and gives its standard output.
func stopInPhase(t *testing.T, cmd *exec.Cmd, phase string, sig syscall.Signal) []byte {
	t.Helper()
	var out, all bytes.Buffer
	cmd.Stdout = &out
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		fmt.Fprintln(&all, lines.Text())
		if strings.Contains(lines.Text(), `msg="phase begins"`) && strings.Contains(lines.Text(), "phase="+phase) {
			if err := cmd.Process.Signal(sig); err != nil {
				t.Error(err)
			}
		}
	}
	err = cmd.Wait()
	if _, ok := errors.AsType[*exec.ExitError](err); !ok {
		t.Fatalf("%v: %s", err, all.Bytes())
	}
	return out.Bytes()
}

// TestAsksJSON finds the flag in arguments that were not understood.
func TestAsksJSON(t *testing.T) {
	for args, want := range map[string]bool{"run --nope --output json": true, "run --output=json": true, "run --output json --output text": false,
		"run -- --output json": false, "run --output": false, "": false} {
		if got := asksJSON(strings.Fields(args)); got != want {
			t.Errorf("%q: %t", args, got)
		}
	}
}

// TestTellFailure puts a failure into an object that was printed, and after what is none.
func TestTellFailure(t *testing.T) {
	for held, want := range map[string]string{
		``:                            `{"schema":1,"command":"","status":"failed","exit_code":3,"error":"no","error_kind":"check"}` + "\n",
		`{}`:                          `{"command":"","error":"no","error_kind":"check","exit_code":3,"status":"failed"}` + "\n",
		`{"schema":2,"error":"mine"}`: `{"command":"","error":"mine","error_kind":"check","exit_code":3,"schema":2,"status":"failed"}` + "\n",
		`[1,2]`:                       "[1,2]\n" + `{"schema":1,"command":"","status":"failed","exit_code":3,"error":"no","error_kind":"check"}` + "\n",
	} {
		var out bytes.Buffer
		g := &globals{program: program{output: "json"}}
		if held != "" {
			if err := g.print(&out, json.RawMessage(held), nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := g.tell(&out, nil, errors.New("no"), fail.Check.ExitCode()); err != nil || out.String() != want {
			t.Errorf("%s: %v\n%swant\n%s", held, err, out.String(), want)
		}
	}
}

// TestResultOfEveryKind holds the results of all kinds of failure to the schema, those too that no test provokes.
func TestResultOfEveryKind(t *testing.T) {
	for kind := fail.Unexpected; kind <= fail.Busy; kind++ {
		g := &globals{}
		cmd, _, err := newRootCmd(g).Find([]string{"run"})
		if err != nil {
			t.Fatal(err)
		}
		cmd.SetContext(t.Context())
		s, err := g.begin(cmd, slog.New(slog.DiscardHandler), lineage.Subject{Spec: spec.Spec{Table: "test:t"}}, &watchFlags{resultOnly: true, progress: "off"})
		testcheck.Must(t, err)
		e := s.events()
		e.OnStart(progress.Start{Table: "test:t", Attempt: 3, JobID: "night", Job: t.TempDir()})
		e.OnPhase("load")
		e.OnWarn("look at this")
		failure := &fail.Error{Kind: kind, Err: errors.New("it failed")}
		_ = s.end(&result.Result{Schema: 1, Table: "test:t", Attempt: 3}, failure)
		r := g.object(cmd, failure, ending.CodeOf(t.Context(), failure))
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if fields, err := checkResult(line); err != nil || fields["attempt"] != 3.0 || fields["warnings"] != 1.0 || fields["error"] != "it failed" {
			t.Errorf("kind %d: %v in %s", kind, err, line)
		}
	}
}

// TestStateWriterWarnsOnce says once that a state directory takes no file, and lets the job continue.
func TestStateWriterWarnsOnce(t *testing.T) {
	var log bytes.Buffer
	s := &session{program: &program{}, log: slog.New(slog.NewTextHandler(&log, nil))}
	dir := t.TempDir()
	lock, err := journal.TryLock(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	if err := os.Mkdir(filepath.Join(dir, checkpoint.LiveName), 0o700); err != nil {
		t.Fatal(err)
	}
	s.tracker.Events().OnStart(progress.Start{Job: dir, Attempt: 1})
	w := &stateWriter{session: s}
	for range 3 {
		w.tell()
	}
	if n := strings.Count(log.String(), "level=WARN"); n != 1 {
		t.Errorf("%d warnings: %s", n, log.String())
	}
	if err := w.End(ending.Outcome{}); err != nil {
		t.Error(err)
	}
}

// TestWriteTasks: the file has all tasks of a job on YARN.
func TestWriteTasks(t *testing.T) {
	y := &result.YARN{Tasks: make([]result.Task, 2000)}
	y.Tasks[7] = result.Task{Kind: "map", Number: 7, Wall: time.Second}
	dir := t.TempDir()
	if err := writeTasks(dir, y); err != nil {
		t.Fatal(err)
	}
	var all result.YARN
	text, err := os.ReadFile(filepath.Join(dir, checkpoint.TasksName))
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil || len(all.Tasks) != 2000 || all.Tasks[7] != y.Tasks[7] {
		t.Errorf("%v: %d tasks", err, len(all.Tasks))
	}
}
