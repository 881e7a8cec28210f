package callers

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
)

// kwargs returns the arguments of a trigger that waits for a process of this host.
func kwargs(t *testing.T, dir string, pid int, state string) string {
	t.Helper()
	host, err := os.Hostname()
	testcheck.Must(t, err)
	b, err := json.Marshal(map[string]any{"directory": dir, "host": host, "pid": pid, "program": "bulkload",
		"env": map[string]string{"BULKLOAD_STATE": state}, "poll_seconds": 0.2})
	testcheck.Must(t, err)
	return string(b)
}

// trigger returns Python's arguments to run trigger.py.
func (a *airflow) trigger(t *testing.T, args ...string) []string {
	t.Helper()
	return append([]string{jobtest.Absolute(t, "testdata/airflow/trigger.py")}, args...)
}

// start starts a process of this Airflow, which ends with the test.
func (a *airflow) start(t *testing.T, s *site, args ...string) (*exec.Cmd, *lockedBuffer) {
	t.Helper()
	cmd, out := exec.CommandContext(t.Context(), a.python, args...), &lockedBuffer{}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = a.home, s.environ(t, a.env()...), out, out
	testcheck.Must(t, cmd.Start())
	return cmd, out
}

// ask runs trigger.py to its end.
func (a *airflow) ask(t *testing.T, s *site, args ...string) string {
	t.Helper()
	cmd, out := a.start(t, s, a.trigger(t, args...)...)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%q: %v: %s", args, err, out.String())
	}
	return out.String()
}

// held starts a deferred load, suspends its program, and kills all related processes of Airflow.
func (a *airflow) held(t *testing.T, s *site, dag, date string) (pid int) {
	t.Helper()
	cmd := a.command(t, s, dag, date, "{}", deferring)
	out := &lockedBuffer{}
	cmd.Stdout, cmd.Stderr = out, out
	testcheck.Must(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	testcheck.Eventually(t, 2*time.Minute, "a file that is written", func() (bool, any) {
		e := s.events(t, "check")
		return e["written"] > 0 && strings.Contains(out.String(), "continues without a slot"), out.String()
	})
	pid = s.holder("check")
	testcheck.Must(t, errors.Join(syscall.Kill(pid, syscall.SIGSTOP), cmd.Process.Kill()))
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	<-ended
	return pid
}

// TestAirflowDeferred kills all processes of Airflow while a task is deferred. The program continues; the next try
// finds it, and its outcome.
func TestAirflowDeferred(t *testing.T) {
	eachAirflow(t, func(t *testing.T, a *airflow) {
		s := newSite(t, day)
		const dag, date = "killed", "2026-11-20T00:00:00+00:00"
		pid := a.held(t, s, dag, date) // so that it still runs when the next try begins
		next := a.command(t, s, dag, date, "{}", deferring)
		again := &lockedBuffer{}
		next.Stdout, next.Stderr = again, again
		testcheck.Must(t, next.Start())
		testcheck.Eventually(t, 2*time.Minute, "the process is found", func() (bool, any) {
			return strings.Contains(again.String(), fmt.Sprintf("process %d of an earlier try is still running", pid)), again.String()
		})
		testcheck.Must(t, syscall.Kill(pid, syscall.SIGCONT))
		if err := next.Wait(); err != nil {
			t.Fatalf("%v: %s", err, again.String())
		}
		r := parseRun(t, again.String())
		if ti := r.Tasks["load_check"]; ti.State != "success" || ti.XCom["attempt"] != 1.0 || ti.XCom["pid"] != float64(pid) {
			t.Errorf("%+v: %s", ti, r.log)
		}
		s.judge(t, "check")
	})
}

// TestAirflowOtherHost checks that a triggerer on another host detects the end of a job through the table of states.
func TestAirflowOtherHost(t *testing.T) {
	eachAirflow(t, func(t *testing.T, a *airflow) {
		s := newSite(t, day)
		states := testcheck.Name(t) + "_states"
		s.state = "hbase:" + states
		s.drops(t, states)
		load := exec.CommandContext(t.Context(), program(t)+"/bulkload", "run", "--job", s.jobs+"/check.yaml", "--table", s.tables+"check",
			"--input", s.exports+"/check/"+day, "--state", s.state, "--verify=full")
		load.Env = s.environ(t, "XDG_CACHE_HOME="+t.TempDir())
		said := &lockedBuffer{}
		load.Stdout, load.Stderr = said, said
		testcheck.Must(t, load.Start())
		cmd, out := a.start(t, s, a.trigger(t, "wait", kwargs(t, a.home+"/nowhere", load.Process.Pid, s.state), "elsewhere")...)
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		if err := load.Wait(); err != nil {
			t.Fatalf("%v: %s", err, said.String())
		}
		if strings.Contains(out.String(), "event:") {
			t.Errorf("before the end: %s", out.String())
		}
		if err := <-ended; err != nil || !strings.Contains(out.String(), `"late": false`) {
			t.Errorf("%v: %s", err, out.String())
		}
	})
}

// pendingTerm reports whether a SIGTERM is pending for a suspended process.
func pendingTerm(pid int) bool {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(b), "ShdPnd:")
	var pending uint64
	_, _ = fmt.Sscanf(rest, "%x", &pending)
	return pending&(1<<(syscall.SIGTERM-1)) != 0
}

// TestAirflowTriggerer waits for a program with real triggerers: the first is killed, the second one gets the event. If the task is marked as
// failed meanwhile, the program is stopped.
func TestAirflowTriggerer(t *testing.T) {
	eachAirflow(t, func(t *testing.T, a *airflow) {
		for name, marked := range map[string]bool{"killed": false, "marked": true} {
			t.Run(name, func(t *testing.T) {
				copyFile(t, a.home+"/empty.db", a.home+"/airflow.db")
				testcheck.Must(t, os.RemoveAll(a.home+"/bulkload"))
				s := newSite(t, day)
				pid := a.held(t, s, "killed", "2026-11-20T00:00:00+00:00")
				dirs, err := filepath.Glob(a.home + "/bulkload/*")
				if err != nil || len(dirs) != 1 {
					t.Fatalf("%q: %v", dirs, err)
				}
				a.ask(t, s, "defer", kwargs(t, dirs[0], pid, s.state))
				triggerer := func() (*exec.Cmd, *lockedBuffer) {
					cmd, out := a.start(t, s, "-m", "airflow", "triggerer", "--skip-serve-logs")
					cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
					testcheck.Eventually(t, 2*time.Minute, "the trigger runs", func() (bool, any) {
						said := out.String() // Airflow 3 logs it only every minute
						return strings.Contains(said, "trigger killed/") || strings.Contains(said, "1 triggers currently running"), said
					})
					return cmd, out
				}
				cmd, out := triggerer()
				if marked {
					a.ask(t, s, "state", "failed")
					testcheck.Eventually(t, 2*time.Minute, "it stops the program", func() (bool, any) {
						return pendingTerm(pid), out.String()
					})
				} else {
					testcheck.Must(t, cmd.Process.Kill())
					_ = cmd.Wait()
					cmd, out = triggerer()
				}
				testcheck.Must(t, syscall.Kill(pid, syscall.SIGCONT))
				want := map[bool]string{true: "failed", false: "scheduled"}[marked]
				testcheck.Eventually(t, 2*time.Minute, "the task is "+want, func() (bool, any) {
					state := a.ask(t, s, "state")
					return strings.Contains(state, "state: "+want) && syscall.Kill(pid, 0) != nil, state + out.String()
				})
				testcheck.Must(t, cmd.Process.Signal(syscall.SIGTERM))
				_ = cmd.Wait()
				if e := s.events(t, "check"); (e["done"] == 1) == marked {
					t.Errorf("journal %v", e)
				}
			})
		}
	})
}
