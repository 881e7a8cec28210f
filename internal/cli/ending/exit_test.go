package ending

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/test/testcheck"
)

// TestExitCode checks that every kind of failure has its own row in the table, however deeply it is wrapped.
func TestExitCode(t *testing.T) {
	want := map[fail.Kind]int{fail.Unexpected: 1, fail.Config: 2, fail.Check: 3, fail.BadRows: 4, fail.Input: 5,
		fail.HDFS: 6, fail.Load: 7, fail.Verify: 8, fail.State: 9, fail.Busy: 75}
	for _, kind := range fail.Kinds() {
		err := fmt.Errorf("step: %w", &fail.Error{Kind: kind, Err: errors.New("it broke")})
		if got := CodeOf(t.Context(), err); got != want[kind] {
			t.Errorf("kind %d ends with %d, want %d", kind, got, want[kind])
		}
	}
	for _, c := range []struct {
		err  error
		want int
	}{
		{fail.Usage(errors.New("no flag")), 2},
		{fail.Usage(fail.Errorf(fail.Input, "no file")), 2},
		{fmt.Errorf("run: %w", ErrAlready), 99},
		{context.Canceled, 1},
		{errors.New("no kind"), 1},
	} {
		if got := CodeOf(t.Context(), c.err); got != c.want {
			t.Errorf("%v ends with %d, want %d", c.err, got, c.want)
		}
	}
}

// TestRetry checks that the examples and docs/orchestration.md retry the kinds of failure for which a retry may help.
func TestRetry(t *testing.T) {
	var never []string
	for _, k := range fail.Kinds() {
		if !k.Retry() {
			never = append(never, fmt.Sprint(k.ExitCode()))
		}
	}
	slices.Sort(never)
	for file, text := range map[string]string{
		"python/airflow-provider-bulkload/src/airflow_provider_bulkload/operators.py": "FATAL = {" + strings.Join(never, ", ") + "}\n",
		"examples/kubernetes/job.yaml":       "values: [" + strings.Join(never, ", ") + "]\n",
		"examples/kubernetes/cronjob.yaml":   "values: [" + strings.Join(never, ", ") + "]\n",
		"charts/bulkload/templates/_pod.tpl": "values: [" + strings.Join(never, ", ") + "]\n",
		"examples/systemd/bulkload@.service": "RestartPreventExitStatus=" + strings.Join(never, " ") + "\n",
	} {
		if b, err := os.ReadFile("../../../" + file); err != nil || !strings.Contains(string(b), text) {
			t.Errorf("%s lacks %q: %v", file, text, err)
		}
	}
	b, err := os.ReadFile("../../../docs/orchestration.md")
	testcheck.Must(t, err)
	for _, k := range fail.Kinds() {
		row := regexp.MustCompile(fmt.Sprintf(`(?m)^\| %d \| [^|]* \| (yes|later|no) \|`, k.ExitCode())).FindSubmatch(b)
		if row == nil || (string(row[1]) != "no") != k.Retry() {
			t.Errorf("docs/orchestration.md has for %d: %q", k.ExitCode(), row)
		}
	}
}

// TestExits checks that codes are ascending, and that each row has a meaning and an instruction.
func TestExits(t *testing.T) {
	last := -1
	for _, s := range Exits() {
		if s.Code <= last {
			t.Errorf("%d stands behind %d", s.Code, last)
		}
		last = s.Code
		if s.Meaning == "" || s.Next == "" {
			t.Errorf("%d has no meaning, or says not what to do", s.Code)
		}
	}
}
