package serve

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/status"
	"bulkload/internal/serve/console"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/teststate"
	"bulkload/pkg/setting"
)

var tokenField = regexp.MustCompile(`name="token" value="([0-9a-f]+)"`)

// act sends a form like a browser: with the client, the fields, and the browser's header about the form's origin.
func (b *board) act(job, action, client string, form url.Values, headers ...string) reply {
	r := httptest.NewRequest("POST", "/jobs/"+job+"/"+action, strings.NewReader(form.Encode()))
	r.SetBasicAuth(client, "secret-of-"+client)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return b.do(r)
}

// token returns the token of the forms on a job's page.
func (b *board) token(t *testing.T, job, client string) string {
	t.Helper()
	found := tokenField.FindStringSubmatch(b.as("secret-of-"+client, "/jobs/"+job).body)
	if found == nil {
		t.Fatal("the page has no form")
	}
	return found[1]
}

// TestConsoleActs checks that pause, resume and stop reach the process as signals, if the form is the console's own;
// each is audited.
func TestConsoleActs(t *testing.T) {
	got := make(chan os.Signal, 8)
	signal.Notify(got, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGTERM)
	t.Cleanup(func() { signal.Stop(got) })
	states := teststate.States{T: t, Dir: t.TempDir()}
	job := states.Running("sales:t", "night")
	states.Says(job, "night", 10)
	name := filepath.Base(job.Dir)
	var audit bytes.Buffer
	b := openBoard(t, states, clientsOfConsole(), Options{Audit: &audit}, console.Options{Control: true})
	token := b.token(t, name, "all")
	for what, r := range map[string]reply{
		"without a token":       b.act(name, "stop", "all", nil),
		"another client's":      b.act(name, "stop", "all", url.Values{"token": {b.token(t, name, "sales")}}),
		"of another site":       b.act(name, "stop", "all", url.Values{"token": {token}}, "Sec-Fetch-Site", "cross-site"),
		"of another origin":     b.act(name, "stop", "all", url.Values{"token": {token}}, "Origin", "https://elsewhere.example"),
		"of the same site only": b.act(name, "stop", "all", url.Values{"token": {token}}, "Sec-Fetch-Site", "same-site"),
	} {
		if r.status != 403 || strings.Contains(r.body, "console.js") || strings.Contains(r.body, "http-equiv") {
			t.Errorf("a form %s: %d %s", what, r.status, r.body)
		}
	}
	if len(got) > 0 {
		t.Fatalf("the process got %v", <-got)
	}
	for action, want := range map[string]os.Signal{"pause": syscall.SIGUSR1, "resume": syscall.SIGUSR2, "stop": syscall.SIGTERM} {
		r := b.act(name, action, "all", url.Values{"token": {token}}, "Sec-Fetch-Site", "same-origin")
		if r.status != 303 || r.header.Get("Location") != "/jobs/"+name+"?did="+action {
			t.Errorf("%s: %d %s", action, r.status, r.body)
		}
		select {
		case s := <-got:
			if s != want {
				t.Errorf("%s: the process got %v", action, s)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: the process got nothing", action)
		}
	}
	b.as("secret-of-all", "/jobs/"+name+"?did=pause").shows(t, "afterwards", "The process was asked to pause.")
	if r := b.act(name, "clean", "all", url.Values{"token": {token}}); r.status != 409 || !strings.Contains(r.body, "the job runs") {
		t.Errorf("a job that runs is cleaned: %d", r.status)
	}
	if text := audit.String(); strings.Count(text, `"job":"`+name+`","action":"stop"`) != 6 || !strings.Contains(text, `"client":"all"`) || strings.Contains(text, token) {
		t.Errorf("the audit log has\n%s", text)
	}
}

// TestConsoleRefuses checks a process that reports nothing, one that does not hold the lock, and one on another host.
func TestConsoleRefuses(t *testing.T) {
	states := teststate.States{T: t, Dir: t.TempDir()}
	job := states.Running("t", "night")
	b := openBoard(t, states, clientsOfConsole(), Options{}, console.Options{Control: true})
	refuses := func(action, why string) {
		t.Helper()
		name := filepath.Base(job.Dir)
		r := b.act(name, action, "all", nil, "Authorization", "Bearer secret-of-all")
		if r.status != 409 || !strings.Contains(r.body, why) {
			t.Errorf("%s: %d, want %q: %s", action, r.status, why, r.body)
		}
		if strings.Contains(r.body, "console.js") || strings.Contains(r.body, "http-equiv") { // its address takes forms only
			t.Errorf("%s: the page renews itself", action)
		}
	}
	refuses("pause", "as work does that can be paused")
	refuses("start", "the job runs")
	lock := filepath.Join(job.Dir, "lock")
	text, err := os.ReadFile(lock)
	testcheck.Must(t, err)
	testcheck.Must(t, os.Remove(lock)) // now the lock is another file
	testcheck.Must(t, os.WriteFile(lock, text, 0o600))
	refuses("stop", "does not hold the job&#39;s lock")
	now := time.Now().UTC()
	testcheck.Must(t, os.WriteFile(lock, []byte("process 7 on elsewhere since "+now.Format(time.RFC3339)+"\n"), 0o600))
	testcheck.Must(t, status.Live{Schema: 1, PID: 7, Host: "elsewhere", Updated: now}.Write(job.Dir))
	refuses("stop", "the job runs on elsewhere: a console or kill -TERM 7 there does it")
}

// TestConsoleCleans checks that clean first lists the files, and removes them after confirmation.
func TestConsoleCleans(t *testing.T) {
	states := teststate.States{T: t, Dir: t.TempDir()}
	name := filepath.Base(states.Failed("t", "night", "hdfs is full"))
	removed := ""
	var log, audit bytes.Buffer
	b := openBoard(t, states, clientsOfConsole(), Options{Audit: &audit, Log: slog.New(slog.NewTextHandler(&log, nil))}, console.Options{Control: true, Clean: func(_ context.Context, job string, remove bool) (*checkpoint.Cleaning, error) {
		if job == name && remove {
			removed = job
		}
		return &checkpoint.Cleaning{Schema: 1, Removed: remove, Dirs: []checkpoint.Leftover{{Kind: "state", Path: "/state/" + job, Remove: true, Because: setting.Plain("it was named")}}}, nil
	}})
	token := b.token(t, name, "all")
	b.act(name, "clean", "all", url.Values{"token": {token}}).shows(t, "asking", "would remove", "/state/"+name, `name="confirm"`, "it was named")
	if removed != "" {
		t.Fatal("it was removed unasked")
	}
	if text := log.String(); strings.Contains(text, "a client acts") {
		t.Errorf("nothing was done, and the log has\n%s", text)
	}
	b.act(name, "clean", "all", url.Values{"token": {token}, "confirm": {"yes"}}).shows(t, "confirmed", "Clean removed")
	if removed != name {
		t.Error("it was not removed")
	}
	if text := log.String(); strings.Count(text, "a client acts on a job") != 1 || !strings.Contains(text, "action=clean client=all") {
		t.Errorf("a removal is not in the log:\n%s", text)
	}
	if text := audit.String(); strings.Count(text, `"action":"preview"`) != 1 || strings.Count(text, `"action":"clean"`) != 1 || strings.Index(text, "preview") > strings.Index(text, `"clean"`) {
		t.Errorf("the audit log has\n%s", text)
	}
	b = openBoard(t, states, clientsOfConsole(), Options{}, console.Options{Control: true, Clean: func(context.Context, string, bool) (*checkpoint.Cleaning, error) {
		return nil, errors.New("HDFS is away")
	}})
	if r := b.act(name, "clean", "all", url.Values{"token": {b.token(t, name, "all")}}); r.status != 409 || !strings.Contains(r.body, "HDFS is away") {
		t.Errorf("%d %s", r.status, r.body)
	}
}
