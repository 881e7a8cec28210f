package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bulkload/internal/cli/ending"
	"bulkload/internal/cli/lineage"
	"bulkload/internal/cli/metrics"
	"bulkload/internal/cli/ui"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/setting"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/spf13/cobra"
)

// TestAsksJSON checks that the flag is found in arguments that could not be parsed.
func TestAsksJSON(t *testing.T) {
	for args, want := range map[string]bool{"run --nope --output json": true, "run --output=json": true, "run --output json --output text": false,
		"run -- --output json": false, "run --output": false, "": false} {
		if got := wantsJSON(strings.Fields(args)); got != want {
			t.Errorf("%q: %t", args, got)
		}
	}
}

// TestPlanKeepsResult checks that a command that only plans leaves the result of an earlier one as it is.
func TestPlanKeepsResult(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.json")
	const earlier = `{"schema":1,"status":"done","exit_code":0}`
	testcheck.Must(t, os.WriteFile(file, []byte(earlier), 0o600))
	p := &Program{Console: &ui.Console{File: os.Stderr}}
	root := testCommand(p, func(*cobra.Command) {})
	run := root.Commands()[0]
	run.Flags().Bool("plan", false, "")
	root.SetArgs([]string{"run", "--plan", "--table", "t:x", "--result-file", file})
	cmd, err := root.ExecuteContextC(t.Context())
	testcheck.Must(t, err)
	code := p.End(t.Context(), io.Discard, cmd, nil)
	if got, err := os.ReadFile(file); err != nil || string(got) != earlier || code != 0 {
		t.Errorf("exit %d, %s, %v", code, got, err)
	}
}

// TestResultWithoutAJob checks that a command that works on no job, such as one that drops an old table, leaves the result of its own in the place of
// an earlier one, and its output as it is.
func TestResultWithoutAJob(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.json")
	for _, failure := range []error{nil, errors.New("no")} {
		testcheck.Must(t, os.WriteFile(file, []byte(`{"schema":1,"status":"already","exit_code":0}`), 0o600))
		stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
		testcheck.Must(t, err)
		defer stderr.Close()
		p := &Program{Console: &ui.Console{File: stderr}}
		var out bytes.Buffer
		root := testCommand(p, func(*cobra.Command) { err = p.Print(&out, map[string]int{"dropped": 1}, nil) })
		root.SetArgs([]string{"run", "--table", "t:x", "--output", "json", "--result-file", file})
		cmd, e := root.ExecuteContextC(t.Context())
		testcheck.Must(t, errors.Join(err, e))
		if _, err := os.Stat(file); !os.IsNotExist(err) {
			t.Errorf("the result of an earlier command is there: %v", err)
		}
		code := p.End(t.Context(), &out, cmd, failure)
		want := map[bool]string{true: `{"schema":1,"status":"done","exit_code":0,`, false: `{"schema":1,"status":"failed","exit_code":1,"error":"no",`}[failure == nil]
		if text, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(text), want) || !strings.Contains(string(text), `"table":"t:x"`) {
			t.Errorf("%d, %v: %s", code, err, text)
		}
		if failure == nil && out.String() != `{"dropped":1}`+"\n" {
			t.Errorf("the output is %s", out.String())
		}
	}
}

// fullDisk accepts no output.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, fmt.Errorf("write: %w", syscall.ENOSPC) }

// TestFullDisk checks that a job that is done exits with 1 if there is no room for its result, and other commands as for any full disk.
func TestFullDisk(t *testing.T) {
	for _, c := range []struct {
		outcome *ending.Outcome // nil: the command works on no job
		err     error
		want    int
	}{
		{&ending.Outcome{}, nil, 1}, {&ending.Outcome{}, ending.ErrAlready, 1}, {&ending.Outcome{}, syscall.ENOSPC, 1},
		{&ending.Outcome{Err: syscall.ENOSPC}, syscall.ENOSPC, 6}, {nil, nil, 6},
	} {
		stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
		testcheck.Must(t, err)
		defer stderr.Close()
		p := &Program{Console: &ui.Console{File: stderr}}
		root := testCommand(p, func(*cobra.Command) { err = p.Print(fullDisk{}, 1, nil) })
		root.SetArgs([]string{"run", "--table", "t:x", "--output", "json"})
		cmd, e := root.ExecuteContextC(t.Context())
		testcheck.Must(t, errors.Join(err, e))
		if c.outcome != nil {
			c.outcome.Describe(cmd, "v1", "t:x")
			p.session = &Session{cmd: cmd, outcome: c.outcome}
		}
		if code := p.End(t.Context(), fullDisk{}, cmd, c.err); code != c.want {
			t.Errorf("%+v, %v: exit code %d, want %d", c.outcome, c.err, code, c.want)
		}
	}
}

// TestUnwrittenResultFile checks that the output of a job that is done says with which code the command ends if its result cannot be written to its file.
func TestUnwrittenResultFile(t *testing.T) {
	for _, ended := range []error{nil, ending.ErrAlready} {
		dir := filepath.Join(t.TempDir(), "results")
		testcheck.Must(t, os.Mkdir(dir, 0o700))
		stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
		testcheck.Must(t, err)
		defer stderr.Close()
		p := &Program{Console: &ui.Console{File: stderr}}
		root := testCommand(p, func(*cobra.Command) {})
		root.SetArgs([]string{"run", "--table", "t:x", "--output", "json", "--result-file", filepath.Join(dir, "r.json")})
		cmd, err := root.ExecuteContextC(t.Context())
		testcheck.Must(t, errors.Join(err, os.Remove(dir)))
		outcome := &ending.Outcome{}
		outcome.Describe(cmd, "v1", "t:x")
		p.session = &Session{cmd: cmd, outcome: outcome}
		var out bytes.Buffer
		code := p.End(t.Context(), &out, cmd, ended)
		if want := `{"schema":1,"status":"failed","exit_code":1,"error":"--result-file: `; code != 1 || !strings.HasPrefix(out.String(), want) {
			t.Errorf("exit code %d: %s", code, out.String())
		}
	}
}

// TestTellFailure checks that a failure is added to a printed object, and follows output that is not an object.
func TestTellFailure(t *testing.T) {
	for held, want := range map[string]string{
		``:                            `{"schema":1,"command":"","status":"failed","exit_code":3,"error":"no","error_kind":"check"}` + "\n",
		`{}`:                          `{"command":"","error":"no","error_kind":"check","exit_code":3,"status":"failed"}` + "\n",
		`{"schema":2,"error":"mine"}`: `{"command":"","error":"mine","error_kind":"check","exit_code":3,"schema":2,"status":"failed"}` + "\n",
		`[1,2]`:                       "[1,2]\n" + `{"schema":1,"command":"","status":"failed","exit_code":3,"error":"no","error_kind":"check"}` + "\n",
	} {
		var out bytes.Buffer
		p := &Program{output: "json"}
		if held != "" {
			if err := p.Print(&out, json.RawMessage(held), nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.writeResult(&out, nil, errors.New("no"), fail.Check.ExitCode()); err != nil || out.String() != want {
			t.Errorf("%s: %v\n%swant\n%s", held, err, out.String(), want)
		}
	}
}

// TestStopWithErrors checks that errors of the clean-up after a stop are said, also where they are wrapped with the stop, and that a stop
// alone has no error.
func TestStopWithErrors(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ending.Signal(syscall.SIGTERM))
	left := &fs.PathError{Op: "unlinkat", Path: "/out/_writing", Err: syscall.EPERM}
	staged := fail.Errorf(fail.HDFS, "staging is left (see %s)", setting.State)
	stop := fmt.Errorf("read: %w", context.Cause(ctx))
	for name, c := range map[string]struct {
		err  error
		want []string
	}{
		"alone":    {stop, nil},
		"canceled": {errors.Join(context.Canceled, stop), nil},
		"joined":   {errors.Join(stop, left), []string{left.Error()}},
		"wrapped":  {fmt.Errorf("directory a: %w", errors.Join(errors.Join(stop, left), context.Canceled, staged)), []string{left.Error(), "staging is left (see --state)"}},
		"message":  {fmt.Errorf("%w: %w", left, stop), nil},
	} {
		file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
		testcheck.Must(t, err)
		p := &Program{Console: &ui.Console{File: file}}
		if code := p.End(ctx, io.Discard, nil, c.err); code != 143 {
			t.Errorf("%s: exit code %d", name, code)
		}
		want := "bulkload: stopped by terminated\n"
		for _, text := range c.want {
			want += "bulkload: after the stop: " + text + "\n"
		}
		if got, err := os.ReadFile(file.Name()); err != nil || string(got) != want {
			t.Errorf("%s: %v\n%swant\n%s", name, err, got, want)
		}
		testcheck.Must(t, file.Close())
	}
}

// TestResultOfEveryKind validates the results of all kinds of failure with the schema, also of those that no test
// provokes.
func TestResultOfEveryKind(t *testing.T) {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	schema, err := c.Compile("../../../docs/result.schema.json")
	testcheck.Must(t, err)
	for kind := fail.Unexpected; kind <= fail.Busy; kind++ {
		p := &Program{Build: metrics.Build{Version: "dev"}}
		cmd, _, err := testCommand(p, nil).Find([]string{"run"})
		testcheck.Must(t, err)
		cmd.SetContext(t.Context())
		s, err := p.Begin(cmd, slog.New(slog.DiscardHandler), lineage.Subject{Spec: spec.Spec{Table: "test:t"}}, &Watch{resultOnly: true, progress: "off"})
		testcheck.Must(t, err)
		e := s.Events()
		e.OnStart(progress.Start{Table: "test:t", Attempt: 3, JobID: "night", Job: t.TempDir()})
		e.OnPhase("load")
		e.OnWarn("look at this")
		failure := &fail.Error{Kind: kind, Err: errors.New("it failed")}
		_ = s.End(&result.Result{Schema: 1, Table: "test:t", Attempt: 3}, failure)
		r := p.object(cmd, failure, ending.CodeOf(t.Context(), failure))
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
		testcheck.Must(t, err)
		if fields, _ := v.(map[string]any); schema.Validate(v) != nil || fmt.Sprint(fields["attempt"]) != "3" || fmt.Sprint(fields["warnings"]) != "1" || fields["error"] != "it failed" {
			t.Errorf("kind %d: %v in %s", kind, schema.Validate(v), line)
		}
	}
}
