package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/engine/history"
	"bulkload/internal/engine/status"
	"bulkload/internal/serve/console"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/teststate"
)

// board is a console under test.
type board struct {
	service
	states teststate.States
}

// openBoard returns a console of the jobs in a directory, which reads at each look.
func openBoard(t testing.TB, states teststate.States, clients string, o Options, c console.Options) *board {
	t.Helper()
	if clients != "" {
		o.Clients = filepath.Join(t.TempDir(), "clients.yaml")
		testcheck.Must(t, os.WriteFile(o.Clients, []byte(clients), 0o600))
	}
	c.Name, c.Every = cmp.Or(c.Name, states.Dir), 1
	if c.Current == nil {
		c.Current = func(context.Context) (string, error) { return states.Dir, nil }
	}
	o.Console, o.Limits.Deadline = console.New(c), time.Minute
	s, err := Open(o)
	testcheck.Must(t, err)
	return &board{service{Server: s, dir: states.Dir}, states}
}

// shows checks that a page is complete and has texts.
func (r reply) shows(t testing.TB, what string, texts ...string) {
	t.Helper()
	if r.status != 200 {
		t.Errorf("%s: %d %s", what, r.status, r.body)
	}
	wellFormed(t, strings.Replace(r.body, "<!doctype html>", "", 1))
	for _, text := range texts {
		if !strings.Contains(r.body, text) {
			t.Errorf("%s lacks %q", what, text)
		}
	}
}

// TestConsoleShows checks that 300 jobs, five of them running, are on one page and in JSON, and that each has its own
// page.
func TestConsoleShows(t *testing.T) {
	states := teststate.States{T: t, Dir: t.TempDir()}
	running := states.Many(300, 5)
	b := openBoard(t, states, "", Options{}, console.Options{})
	list := b.get("/")
	list.shows(t, "the list", "all 300", "running 5", "failed 8", `role="img"`, "rows of the last 30 jobs", "write 50%", "2m30s", "night-287", `<meta http-equiv="refresh"`)
	if n := strings.Count(list.body, `<tr id="job-`); n != 300 {
		t.Errorf("%d jobs are shown", n)
	}
	if at, other := strings.Index(list.body, "now-0"), strings.Index(list.body, "night-"); at < 0 || at > other {
		t.Error("those that run are not first")
	}
	b.get("/?state=failed").shows(t, "the failed", "night-007")
	if n := strings.Count(b.get("/?state=failed&table=sales:t7").body, `<tr id="job-`); n != 8 {
		t.Errorf("%d jobs of a state and a table", n)
	}
	if still := b.get("/?live=off").body; strings.Contains(still, "<script") || strings.Contains(still, "http-equiv") {
		t.Error("a page that is to stay renews itself")
	}
	var all struct{ Jobs []status.State }
	testcheck.Must(t, json.Unmarshal([]byte(b.get("/jobs.json").body), &all))
	if len(all.Jobs) != 300 || all.Jobs[0].State != history.JobRunning {
		t.Errorf("JSON has %d jobs", len(all.Jobs))
	}
	name := filepath.Base(running[4].Dir)
	b.get("/jobs/"+name).shows(t, "one that runs", "write 50%", "phase begins", "left in all", "/exports/now-4.csv", "hdfs://ns/tmp/bulkload-load/")
	var one status.State
	testcheck.Must(t, json.Unmarshal([]byte(b.get("/jobs/"+name+".json").body), &one))
	if one.JobID != "now-4" || len(one.Log) != 1 || one.Command != "run" {
		t.Errorf("JSON has %+v", one)
	}
	states.Says(running[4], "now-4", 77)
	testcheck.Eventually(t, time.Minute, "the page has what the job says", func() (bool, any) {
		r := b.get("/jobs/" + name)
		return strings.Contains(r.body, "write 77%"), r.body
	})
	b.get("/jobs/none-0123456789ab").refuses(t, "no job", noState)
	b.get("/v1/jobs").refuses(t, "rows", noPath)
	if r := b.get("/readyz"); r.status != 200 {
		t.Errorf("it is not ready: %s", r.body)
	}
}

// TestConsoleHeaders checks that pages have only the service's own script, that reports have neither a script nor an
// origin, and that nothing is cached.
func TestConsoleHeaders(t *testing.T) {
	states := teststate.States{T: t, Dir: t.TempDir()}
	dir := states.Done("t", "night", 10, time.Second)
	testcheck.Must(t, os.WriteFile(filepath.Join(dir, "report.html"), []byte("<script>alert(1)</script>"), 0o600))
	b := openBoard(t, states, "", Options{}, console.Options{})
	for path, policy := range map[string]string{"/": consolePolicy, "/jobs/" + filepath.Base(dir): consolePolicy, "/jobs/" + filepath.Base(dir) + "/report": reportPolicy} {
		h := b.get(path).header
		if h.Get("Content-Security-Policy") != policy || h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, h)
		}
	}
	if !strings.Contains(reportPolicy, "sandbox") || strings.Contains(reportPolicy, "script") || strings.Contains(consolePolicy, "unsafe") || !strings.Contains(consolePolicy, "form-action 'self'") {
		t.Error("policies let too much through")
	}
	for _, file := range []string{"/console.js", "/console.css", "/page.css"} {
		if r := b.get(file); r.status != 200 || r.body == "" {
			t.Errorf("%s: %d", file, r.status)
		}
	}
	b.get("/jobs/"+filepath.Base(states.Failed("t", "other", "x"))+"/report").refuses(t, "no report", noPath)
}

// TestConsoleHostile checks that names, errors and logs with HTML are plain text on pages.
func TestConsoleHostile(t *testing.T) {
	const evil = `<img src=x onerror=alert(1)>"'&`
	states := teststate.States{T: t, Dir: t.TempDir()}
	job := states.Running("t", evil)
	states.Says(job, evil, 10, evil, "</pre><script>alert(2)</script>")
	failed := states.Failed("t", "failed", evil)
	b := openBoard(t, states, "", Options{}, console.Options{})
	for _, path := range []string{"/", "/jobs/" + filepath.Base(job.Dir), "/jobs/" + filepath.Base(failed), "/?state=%3Cimg%3E&table=%22%3E%3Cimg%3E"} {
		r := b.get(path)
		r.shows(t, path)
		if strings.Contains(r.body, "<img") || strings.Contains(r.body, "<script>") {
			t.Errorf("%s has tags of a job", path)
		}
	}
}

// TestConsoleAway checks that pages show the last known state while the place is out of reach, say so, and recover by
// themselves.
func TestConsoleAway(t *testing.T) {
	states := teststate.States{T: t, Dir: filepath.Join(t.TempDir(), "state")}
	away := states.Dir + "-away"
	b := openBoard(t, states, "", Options{}, console.Options{})
	b.get("/").shows(t, "before there is anything", "out of reach", "No job was seen yet", "no such file")
	name := filepath.Base(states.Done("t", "night", 1234, time.Second))
	b.get("/").shows(t, "it is there", "1,234")
	testcheck.Must(t, os.Rename(states.Dir, away))
	for _, path := range []string{"/", "/jobs/" + name} {
		b.get(path).shows(t, "it has gone", "out of reach", "This page is old", "night")
	}
	var all struct {
		Away time.Time `json:"away_since"`
		Jobs []status.State
	}
	testcheck.Must(t, json.Unmarshal([]byte(b.get("/jobs.json").body), &all))
	if all.Away.IsZero() || len(all.Jobs) != 1 {
		t.Errorf("JSON has %+v", all)
	}
	testcheck.Must(t, os.Rename(away, states.Dir))
	if r := b.get("/"); strings.Contains(r.body, "out of reach") || !strings.Contains(r.body, "1,234") {
		t.Errorf("it has come back: %s", r.body)
	}
}

// clientsOfConsole returns clients with and without rights.
func clientsOfConsole() string {
	var b strings.Builder
	b.WriteString("clients:\n")
	for name, rights := range map[string]string{"all": `{tables: ["*"], control: ["*"]}`, "look": `{tables: ["*"]}`, "sales": `{tables: ["sales:t"], control: [pause]}`} {
		fmt.Fprintf(&b, "- {name: %s, token_sha256: [%s], %s\n", name, digest("secret-of-"+name), rights[1:])
	}
	return b.String()
}

// TestConsoleMatrix checks what each client may see and do.
func TestConsoleMatrix(t *testing.T) {
	states := teststate.States{T: t, Dir: t.TempDir()}
	jobs := map[string]string{"sales:t": filepath.Base(states.Done("sales:t", "a", 1, time.Second)), "other": filepath.Base(states.Done("other", "a", 1, time.Second))}
	for _, control := range []bool{true, false} {
		b := openBoard(t, states, clientsOfConsole(), Options{}, console.Options{Control: control})
		b.get("/").refuses(t, "nobody", unauthenticated)
		for client, rights := range map[string]struct {
			sees string
			may  string
		}{"all": {"sales:t other", "pause resume stop start clean"}, "look": {"sales:t other", ""}, "sales": {"sales:t", "pause"}} {
			for table, job := range jobs {
				sees := strings.Contains(rights.sees, table)
				if r := b.as("secret-of-"+client, "/jobs/"+job); (r.status == 200) != sees {
					t.Errorf("%s sees a job of %s: %d", client, table, r.status)
				}
				if r := b.as("secret-of-"+client, "/"); strings.Contains(r.body, job) != sees {
					t.Errorf("the list of %s has the job of %s", client, table)
				}
				for _, action := range console.Actions() {
					r := httptest.NewRequest("POST", "/jobs/"+job+"/"+string(action), strings.NewReader(""))
					r.Header.Set("Authorization", "Bearer secret-of-"+client)
					r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
					want := http.StatusConflict // for jobs that are done, and a console that removes nothing
					switch {
					case !sees:
						want = http.StatusNotFound
					case !control || !strings.Contains(rights.may, string(action)):
						want = http.StatusForbidden
					}
					if got := b.do(r); got.status != want {
						t.Errorf("control %v: %s may %s a job of %s: %d, want %d", control, client, action, table, got.status, want)
					}
				}
			}
		}
	}
	if _, err := Open(Options{Console: console.New(console.Options{}), Clients: filepath.Join(t.TempDir(), "none")}); err == nil {
		t.Error("a file of clients that is missing is taken")
	}
}

// BenchmarkConsole builds the page of 300 jobs; five run, and are read again each time.
func BenchmarkConsole(b *testing.B) {
	states := teststate.States{T: b, Dir: b.TempDir()}
	states.Many(300, 5)
	console := openBoard(b, states, "", Options{}, console.Options{})
	for b.Loop() {
		if r := console.get("/"); r.status != 200 {
			b.Fatal(r.status)
		}
	}
}
