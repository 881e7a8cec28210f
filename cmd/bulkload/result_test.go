package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/test/testcheck"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// checkResult validates the last line of an output with the published schema, and returns its fields.
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

// TestSchemaHasKinds checks that the schema of results has the name of each kind of failure, and that of a command
// that was stopped.
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
	heedHangups(t)
	dir := t.TempDir()
	input := bigInput(t, dir)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
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

// bigInput returns a CSV file that takes a second to read.
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

// stopInPhase starts a command, sends it a signal when its log names a phase, and returns its standard output.
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
