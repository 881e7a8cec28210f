package lineage

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bulkload/internal/cli/deliver"

	"github.com/google/uuid"
)

func TestParseParent(t *testing.T) {
	const run = "01941f29-7c00-7087-8940-40e508b213bb"
	for in, want := range map[string]rootFacet{
		"default/dag.task/" + run:           {runID{run}, jobID{"default", "dag.task"}},
		"https://airflow/x/dag.task/" + run: {runID{run}, jobID{"https://airflow/x", "dag.task"}},
	} {
		if got, err := parseParent(in); err != nil || got != want {
			t.Errorf("%s: %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "x", run, "/" + run, "dag.task/" + run, "/dag.task/" + run, "ns//" + run, "ns/dag.task/1"} {
		if got, err := parseParent(in); err == nil {
			t.Errorf("%s: no error, but %v", in, got)
		}
	}
}

func FuzzParseParent(f *testing.F) {
	f.Add("default/dag.task/01941f29-7c00-7087-8940-40e508b213bb")
	f.Fuzz(func(t *testing.T, in string) {
		if p, err := parseParent(in); err == nil && p.Job.Namespace+"/"+p.Job.Name+"/"+p.Run.ID != in {
			t.Errorf("%q became %v", in, p)
		}
	})
}

func TestRunID(t *testing.T) {
	last := ""
	for range 100 {
		id, err := newRunID()
		if err != nil || uuid.MustParse(id).Version() != 7 || id <= last {
			t.Fatalf("%q behind %q: %v", id, last, err)
		}
		last = id
	}
}

func TestOpen(t *testing.T) {
	for _, tc := range []struct {
		to   string
		env  map[string]string
		want string // the sink
		err  string
	}{
		{to: "", want: ""},
		{to: "events.jsonl", want: "events.jsonl"},
		{to: "file:///var/events.jsonl", want: "/var/events.jsonl"},
		{to: "http://marquez:5000", want: "http://marquez:5000/api/v1/lineage"},
		{to: "http://marquez:5000/", want: "http://marquez:5000/api/v1/lineage"},
		{to: "https://x/proxy/lineage?token=s3cret", want: "https://x/proxy/lineage"},
		{to: "kafka://x", err: "not to kafka://"},
		{to: "http://tina:s3cret@", err: "not an address"},
		{env: map[string]string{"OPENLINEAGE_URL": "http://marquez:5000"}, want: "http://marquez:5000/api/v1/lineage"},
		{env: map[string]string{"OPENLINEAGE_URL": "http://marquez:5000/base", "OPENLINEAGE_ENDPOINT": "/events"}, want: "http://marquez:5000/base/events"},
		{env: map[string]string{"OPENLINEAGE_URL": "http://marquez:5000", "OPENLINEAGE_DISABLED": "True"}, want: ""},
		{env: map[string]string{"OPENLINEAGE_URL": "marquez"}, err: "OPENLINEAGE_URL: "},
		{to: "x", env: map[string]string{"OPENLINEAGE_URL": "http://marquez", "OPENLINEAGE_DISABLED": "true"}, want: "x"},
	} {
		sink, err := Open(tc.to, func(name string) string { return tc.env[name] })
		got := ""
		if sink != nil {
			got = sink.String()
		}
		if got != tc.want || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%q %v: %q, %v", tc.to, tc.env, got, err)
		}
	}
}

// TestFile checks that events are appended to a file.
func TestFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "events.jsonl")
	for range 2 {
		e := newEmitter(File(name))
		e.Emit(Event{Type: started})
		e.Emit(Event{Type: completed})
		if err := e.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for line := range strings.Lines(string(b)) {
		var e Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		types = append(types, e.Type)
	}
	if got := strings.Join(types, " "); got != "START COMPLETE START COMPLETE" {
		t.Error(got)
	}
}

// TestEndpoint checks that a server that is not ready at first receives the events in order, with the key.
func TestEndpoint(t *testing.T) {
	var got []string
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls++; calls == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		var e Event
		b, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(b, &e); err != nil {
			t.Error(err)
		}
		got = append(got, r.Method+" "+r.URL.String()+" "+r.Header.Get("Authorization")+" "+r.Header.Get("Content-Type")+" "+e.Type)
		w.WriteHeader(http.StatusCreated)
	}))
	defer server.Close()
	sink, err := Open(server.URL+"/x?y=z", func(name string) string { return map[string]string{"OPENLINEAGE_API_KEY": "s3cret"}[name] })
	if err != nil {
		t.Fatal(err)
	}
	e := newEmitter(sink)
	e.Emit(Event{Type: started})
	e.Emit(Event{Type: failed})
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
	want := "POST /x?y=z Bearer s3cret application/json START\nPOST /x?y=z Bearer s3cret application/json FAIL"
	if strings.Join(got, "\n") != want {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}

// TestCloseEnds checks that Close gives up on a server that never answers when the time is over.
func TestCloseEnds(t *testing.T) {
	asked, free := make(chan bool, 8), make(chan bool)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- true
		<-free
	}))
	defer server.Close()
	defer close(free)
	target, err := deliver.ParseTarget(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	e := newEmitter(httpSink{Target: target, Key: "s3cret"})
	e.Emit(Event{Type: started})
	e.Emit(Event{Type: aborted})
	<-asked
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = e.Close(ctx)
	if err == nil || !strings.Contains(err.Error(), "event START: try 1: ") || !strings.Contains(err.Error(), "event ABORT: try 1: ") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("error %v", err)
	}
}

// TestCloseEndsForPipe checks the same for a pipe without a reader.
func TestCloseEndsForPipe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	e := newEmitter(File(name))
	e.Emit(Event{Type: started})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := e.Close(ctx)
	reader, openErr := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // the write ends too
	if openErr != nil {
		t.Fatal(openErr)
	}
	defer reader.Close()
	if err == nil || !strings.Contains(err.Error(), "event START: write "+name) {
		t.Errorf("error %v", err)
	}
}
