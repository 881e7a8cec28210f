package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/engine/history"
	"bulkload/internal/engine/status"
	"bulkload/internal/test/testcheck"
)

// consoled is the program's console, used by a client that may act on jobs.
type consoled struct{ address string }

// console shows the jobs of the migration.
func (m *migration) console(t *testing.T) consoled {
	t.Helper()
	clients := filepath.Join(t.TempDir(), "clients.yaml")
	testcheck.Must(t, os.WriteFile(clients, fmt.Appendf(nil, "clients:\n- {name: oncall, token_sha256: [%x], tables: ['*'], control: ['*']}\n", sha256.Sum256([]byte("secret"))), 0o600))
	p := m.start(t, "console", "--control", "--state", m.state, "--clients", clients, "--listen", "127.0.0.1:0")
	p.says("msg=listening")
	return consoled{"http://" + regexp.MustCompile(`msg=listening address=(\S+)`).FindStringSubmatch(p.log())[1]}
}

// ask sends a request. It returns the status and, for jobs.json, the jobs.
func (c consoled) ask(t *testing.T, method, path string) (code int, jobs []status.State) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, c.address+path, strings.NewReader(""))
	testcheck.Must(t, err)
	r.Header.Set("Authorization", "Bearer secret")
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(r)
	testcheck.Must(t, err)
	defer answer.Body.Close()
	var list struct{ Jobs []status.State }
	if path == "/jobs.json" {
		testcheck.Must(t, json.NewDecoder(answer.Body).Decode(&list))
	}
	return answer.StatusCode, list.Jobs
}

// goesOnByConsole uses the console to restart the stopped job, to pause it and to resume it. It returns the log of the restarted command once n
// jobs are done.
func (m *migration) goesOnByConsole(t *testing.T, n int) string {
	t.Helper()
	c := m.console(t)
	_, jobs := c.ask(t, "GET", "/jobs.json")
	i := slices.IndexFunc(jobs, func(s status.State) bool { return s.State == history.JobStopped })
	if i < 0 {
		t.Fatalf("no job is stopped: %+v", jobs)
	}
	stopped := jobs[i]
	if status, _ := c.ask(t, "POST", "/jobs/"+stopped.Job+"/start"); status != http.StatusSeeOther {
		t.Fatalf("it is not started again: %d", status)
	}
	held := m.holdRunning(t)
	t.Cleanup(func() {
		if t.Failed() {
			testcheck.Must(t, syscall.Kill(held.PID, syscall.SIGCONT)) // so that it can end
		}
	})
	testcheck.Eventually(t, time.Minute, "the console pauses it", func() (bool, any) {
		status, _ := c.ask(t, "POST", "/jobs/"+held.Job+"/pause")
		return status == http.StatusSeeOther, status
	})
	testcheck.Must(t, syscall.Kill(held.PID, syscall.SIGCONT))
	running := "" // the held job, or the next one if it was almost finished
	testcheck.Eventually(t, time.Minute, "a job is paused", func() (bool, any) {
		_, jobs := c.ask(t, "GET", "/jobs.json")
		i := slices.IndexFunc(jobs, func(s status.State) bool {
			return s.State == history.JobRunning && s.Live != nil && s.Live.Paused != nil
		})
		if i >= 0 {
			running = jobs[i].Job
		}
		return i >= 0, jobs
	})
	if status, _ := c.ask(t, "GET", "/jobs/"+running+"/report"); status != http.StatusNotFound && status != http.StatusOK {
		t.Errorf("the report: %d", status)
	}
	if status, _ := c.ask(t, "POST", "/jobs/"+running+"/resume"); status != http.StatusSeeOther {
		t.Errorf("it is not resumed: %d", status)
	}
	testcheck.Eventually(t, 2*time.Minute, "all jobs are done", func() (bool, any) {
		_, jobs := c.ask(t, "GET", "/jobs.json")
		return len(jobs) == n && !slices.ContainsFunc(jobs, func(s status.State) bool { return s.State != history.JobDone }), jobs
	})
	if status, _ := c.ask(t, "POST", "/jobs/"+stopped.Job+"/start"); status != http.StatusConflict {
		t.Errorf("a job that is done is started: %d", status)
	}
	log, err := os.ReadFile(filepath.Join(stopped.Dir, "started.log"))
	testcheck.Must(t, err)
	return string(log)
}

// holdRunning stops the process of a running job by a signal that it cannot handle, so that a request finds the job
// running.
func (m *migration) holdRunning(t *testing.T) (held *status.State) {
	t.Helper()
	find := func() *status.State {
		jobs, err := status.ReadAll(m.state)
		testcheck.Must(t, err)
		for _, s := range jobs {
			if s.State == history.JobRunning && s.Live != nil {
				return s
			}
		}
		return nil
	}
	testcheck.Eventually(t, time.Minute, "a job runs", func() (bool, any) {
		before := find()
		if before == nil || syscall.Kill(before.PID, syscall.SIGSTOP) != nil {
			return false, before
		}
		if held = find(); held != nil && held.Job == before.Job {
			return true, held
		}
		return false, syscall.Kill(before.PID, syscall.SIGCONT) // it ended meanwhile
	})
	return held
}
