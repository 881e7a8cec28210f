package metrics

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bulkload/internal/model/progress"
)

func serve(t *testing.T, o ServeOptions) *Server {
	t.Helper()
	s, err := Serve("127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func get(t *testing.T, s *Server, path string) (int, string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	r, err := client.Get("http://" + s.Addr() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

func TestServe(t *testing.T) {
	var now atomic.Int64 // seconds after noon
	var paused atomic.Bool
	s := serve(t, ServeOptions{Labels: labels(t), Stalled: 10 * time.Minute, Now: func() time.Time { return noon.Add(time.Duration(now.Load()) * time.Second) },
		Live: Live{Progress: progressNow, Moved: func() time.Time { return noon }, Paused: paused.Load}})

	code, text := get(t, s, "/metrics")
	if code != 200 {
		t.Fatalf("/metrics answered %d: %s", code, text)
	}
	for _, want := range []string{`bulkload_phase_active{phase="write",table="test:check",team="risk"} 1`, `bulkload_read_rows_total{table="test:check",team="risk"} 900`,
		"go_goroutines ", "process_cpu_seconds_total "} {
		if !strings.Contains(text, want) {
			t.Errorf("/metrics has no %q", want)
		}
	}
	lint(t, ours(text))

	var p progress.Progress
	if code, text = get(t, s, "/status"); code != 200 || json.Unmarshal([]byte(text), &p) != nil || p.Start.Table != "test:check" || len(p.Phases) != 2 {
		t.Errorf("/status answered %d: %s", code, text)
	}

	now.Store(600)
	if code, text = get(t, s, "/healthz"); code != 200 || text != `{"status":"ok","phase":"write","since_progress_seconds":600,"stalled_after_seconds":600}`+"\n" {
		t.Errorf("/healthz answered %d: %s", code, text)
	}
	now.Store(601)
	if code, text = get(t, s, "/healthz"); code != 503 || !strings.Contains(text, `"status":"stalled"`) {
		t.Errorf("/healthz answered %d: %s", code, text)
	}
	paused.Store(true)
	if code, text = get(t, s, "/healthz"); code != 200 || !strings.Contains(text, `"status":"paused"`) {
		t.Errorf("/healthz answered %d: %s", code, text)
	}
	if _, text = get(t, s, "/metrics"); !strings.Contains(text, `bulkload_paused{table="test:check",team="risk"} 1`) {
		t.Error("/metrics does not show a pause")
	}
	if code, _ = get(t, s, "/"); code != 404 {
		t.Errorf("/ answered %d", code)
	}
	if code, _ = get(t, s, "/debug/pprof/"); code != 404 {
		t.Errorf("/debug/pprof/ answered %d", code)
	}
}

// ours returns the lines of this program's own metrics.
func ours(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.Contains(line, "bulkload_") {
			b.WriteString(line)
		}
	}
	return b.String()
}

func TestNeverStalled(t *testing.T) {
	s := serve(t, ServeOptions{Labels: labels(t), Live: Live{Progress: func() progress.Progress { return progress.Progress{} }, Moved: func() time.Time { return time.Time{} }}})
	if code, text := get(t, s, "/healthz"); code != 200 || !strings.Contains(text, `"phase":""`) {
		t.Errorf("/healthz answered %d: %s", code, text)
	}
}

func TestTakenPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := Serve(l.Addr().String(), ServeOptions{Labels: labels(t)}); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("error %v", err)
	}
}

// TestClose checks that a running request is cut off when the time is over, and that the port is free afterwards.
func TestClose(t *testing.T) {
	asked, free := make(chan bool), make(chan bool)
	s, err := Serve("127.0.0.1:0", ServeOptions{Labels: labels(t), Live: Live{Moved: time.Now, Progress: func() progress.Progress {
		close(asked)
		<-free
		return progress.Progress{}
	}}})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		r, err := http.Get("http://" + s.Addr() + "/status")
		if err == nil {
			_, err = io.ReadAll(r.Body)
			_ = r.Body.Close()
		}
		ended <- err
	}()
	<-asked
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Close(ctx); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil {
		t.Error("the request under way was not cut off")
	}
	close(free)
	l, err := net.Listen("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
}
