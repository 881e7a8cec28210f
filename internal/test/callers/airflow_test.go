package callers

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/engine/journal"
	"bulkload/internal/test/testcheck"
)

// The run of the 21st at half past two in Shanghai loads the export of the 20th.
const (
	night = "2026-11-20T18:30:00+00:00"
	day   = "20261120"
)

// TestAirflowNightly runs the example DAGs: a night's load, the same night again, and a day that was delivered again.
func TestAirflowNightly(t *testing.T) {
	eachAirflow(t, func(t *testing.T, a *airflow) {
		for _, dag := range []string{"nightly_bash", "nightly_operator"} {
			t.Run(dag, func(t *testing.T) {
				s := newSite(t, day)
				r := a.run(t, s, dag, night, "{}")
				for _, table := range []string{"check", "opinion"} {
					ti := r.Tasks["load_"+table]
					if ti.State != "success" || ti.Try != 1 || ti.XCom["table"] != s.tables+table || ti.XCom["attempt"] != 1.0 {
						t.Fatalf("%s: %+v: %s", table, ti, r.log)
					}
					s.judge(t, table)
				}
				again := a.run(t, s, dag, night, "{}")
				for name, ti := range again.Tasks {
					if ti.State != "skipped" || ti.Try != 1 {
						t.Errorf("again: %s: %+v: %s", name, ti, again.log)
					}
				}
				if dag == "nightly_bash" {
					return
				}
				if want := fmt.Sprintf("[hbase://hbase/%[1]scheck hbase://hbase/%[1]sopinion]", s.tables); fmt.Sprint(r.Assets) != want || len(again.Assets) != 0 {
					t.Errorf("assets %v, and %v of the tasks that were skipped", r.Assets, again.Assets)
				}
				if x := again.Tasks["load_check"].XCom; x["already_done"] != true {
					t.Errorf("result of a task that was skipped: %v", x)
				}
				r = a.run(t, s, dag, "2026-11-25T00:00:00+00:00", `{"day": "`+day+`", "delivery": "2"}`)
				if ti := r.Tasks["load_check"]; ti.State != "success" || ti.XCom["already_done"] == true {
					t.Errorf("delivered again: %+v: %s", ti, r.log)
				}
				s.judge(t, "check")
			})
		}
	})
}

// TestAirflowExitCodes ends the program with every kind of exit code, and checks the state of the task.
func TestAirflowExitCodes(t *testing.T) {
	eachWay(t, func(t *testing.T, a *airflow, way string) {
		s := newSite(t, day)
		r := a.run(t, s, "codes", night, "{}", way)
		for name, want := range map[string]string{
			"ends_0": "success 1", "ends_99": "skipped 1", "ends_75_then_99": "success 2",
			"ends_2": "failed 1", "ends_3": "failed 1", "ends_4": "failed 1", "ends_5": "failed 1", "ends_8": "failed 1",
			"ends_1": "failed 2", "ends_6": "failed 2", "ends_7": "failed 2", "ends_75": "failed 2", "ends_130": "failed 2", "ends_143": "failed 2",
			"ends_kill": "failed 2", "ends_silent": "failed 2", "no_program": "failed 1", "no_job_file": "failed 1", "no_input": "failed 1",
		} {
			if ti := r.Tasks[name]; fmt.Sprint(ti.State, " ", ti.Try) != want {
				t.Errorf("%s: %s %d, want %s", name, ti.State, ti.Try, want)
			}
		}
		if fmt.Sprint(r.Assets) != "[hbase://hbase/t]" {
			t.Errorf("assets %v", r.Assets)
		}
		for _, want := range []string{
			`(?i)warn[^\n]*bad records set aside phase=read rows=3`, `(?i)info[^\n]*plain words`, `ended with exit code 7: reason 7`,
			`was killed by SIGKILL: plain words`, `ended with exit code 1: plain words`, `ended with exit code 5: .*/nowhere/check`,
			`ended with exit code 2: .*/nowhere/check.yaml: no such file`,
		} {
			if !regexp.MustCompile(want).MatchString(r.log) {
				t.Errorf("the log has no %q", want)
			}
		}
		if t.Failed() {
			t.Log(r.log)
		}
	})
}

// TestAirflowTimeLimit checks that a task's execution_timeout stops the program.
func TestAirflowTimeLimit(t *testing.T) {
	eachWay(t, func(t *testing.T, a *airflow, way string) {
		// Airflow 2's dag.test() itself ends with the task's time limit.
		out, _ := a.command(t, newSite(t, day), "slow", night, "{}", way).CombinedOutput()
		pid := regexp.MustCompile(`stopping bulkload, process (\d+)`).FindSubmatch(out)
		if pid == nil || !bytes.Contains(out, []byte("AirflowTaskTimeout")) || bytes.Contains(out, []byte("killing it")) {
			t.Fatalf("%s", out)
		}
		if _, err := os.Stat("/proc/" + string(pid[1])); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("process %s is still there: %v", pid[1], err)
		}
	})
}

// TestAirflowResume kills the program in the middle of its build; Airflow's own retry resumes from the journal.
func TestAirflowResume(t *testing.T) {
	eachWay(t, func(t *testing.T, a *airflow, way string) {
		s := newSite(t, day)
		r := a.run(t, s, "resume", "2026-11-20T00:00:00+00:00", "{}", way)
		ti := r.Tasks["load_check"]
		if ti.State != "success" || ti.Try != 2 || ti.XCom["attempt"] != 2.0 || !strings.Contains(r.log, "was killed by SIGKILL") {
			t.Fatalf("%+v: %s", ti, r.log)
		}
		// Ten regions, ten files: the six of the first try are not written again.
		if e := s.events(t, "check"); e["written"] != 10 || e["attempt"] != 2 || e["done"] != 1 {
			t.Errorf("journal %v", e)
		}
		s.judge(t, "check")
	})
}

// TestAirflowOtherWorker kills the program while it sends files; the retry runs on a worker without any files of the first one, and resumes
// through the table of states.
func TestAirflowOtherWorker(t *testing.T) {
	eachAirflow(t, func(t *testing.T, a *airflow) {
		s := newSite(t, day)
		states := testcheck.Name(t) + "_states"
		s.state = "hbase:" + states
		s.drops(t, states)
		r := a.run(t, s, "other_worker", "2026-11-20T00:00:00+00:00", "{}")
		ti := r.Tasks["load_check"]
		if ti.State != "success" || ti.Try != 2 || ti.XCom["attempt"] != 2.0 || !strings.Contains(r.log, "was killed by SIGKILL") {
			t.Fatalf("%+v: %s", ti, r.log)
		}
		for _, worker := range []string{"1", "2"} {
			names, err := filepath.Glob(filepath.Join(a.home, "worker-"+worker, "bulkload", "state", "*", "*", journal.FileName))
			if err != nil || len(names) != 1 {
				t.Errorf("worker %s has journals %q: %v", worker, names, err)
			}
		}
		s.judge(t, "check")
	})
}

// TestAirflowKill makes Airflow end a running task: the program gets a SIGTERM, ends with 143, and another run of the
// task continues.
func TestAirflowKill(t *testing.T) {
	eachAirflow(t, func(t *testing.T, a *airflow) {
		s := newSite(t, day)
		const dag, date = "killed", "2026-11-20T00:00:00+00:00"
		cmd := a.command(t, s, dag, date, "{}")
		out := &lockedBuffer{}
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		testcheck.Eventually(t, 2*time.Minute, "a file that is written", func() (bool, any) {
			e := s.events(t, "check")
			return e["written"] > 0, e
		})
		pid := s.holder("check")
		// It is suspended, so that it cannot end before the request.
		if err := errors.Join(syscall.Kill(pid, syscall.SIGSTOP), cmd.Process.Signal(syscall.SIGTERM)); err != nil {
			t.Fatal(err)
		}
		testcheck.Eventually(t, time.Minute, "on_kill", func() (bool, any) {
			said := out.String()
			return strings.Contains(said, fmt.Sprintf("stopping bulkload, process %d", pid)), said
		})
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ended:
		case <-time.After(time.Minute):
			_ = cmd.Process.Kill()
			t.Fatalf("it does not end: %s", out.String())
		}
		for _, want := range []string{"terminated: stopping", "stopped by terminated"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("the log has no %q", want)
			}
		}
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d is still there: %v", pid, err)
		}
		e := s.events(t, "check")
		if e["done"] != 0 || t.Failed() {
			t.Fatalf("%v: %s", e, out.String())
		}
		r := a.run(t, s, dag, date, "{}")
		if ti := r.Tasks["load_check"]; ti.State != "success" || ti.XCom["attempt"] != 2.0 {
			t.Errorf("%+v: %s", ti, r.log)
		}
		if after := s.events(t, "check"); after["written"] != 10 {
			t.Errorf("journal before %v, after %v", e, after)
		}
		s.judge(t, "check")
	})
}
