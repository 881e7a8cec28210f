package serve

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bulkload/internal/test/testcheck"
)

// TestReload checks that valid job files replace the previous ones, and that otherwise the previous ones stay.
func TestReload(t *testing.T) {
	s := checks(t, Options{}, 1)
	if r := s.get("/v1/twin/rows?check_id=A"); r.status != 404 {
		t.Fatal(r.body)
	}
	s.write(t, "twin", checkJob)
	for name, text := range map[string]string{
		"no YAML": "table: [", "an unknown field": checkJob + "nope: 1\n", "no key": "table: check\n", "no table": "key: id\n",
		"a column with the name of a parameter": "table: t\nkey: limit\ncolumns: [limit]\n", "a key that the query columns do not make": "table: t\nkey: md5hex(a, b)\nquery: [a]\ncolumns: [a, b]\n",
		"a large one": strings.Repeat("#", maxJobFile+1),
	} {
		s.write(t, "wrong", text)
		if err := s.Reload(); err == nil || !strings.Contains(err.Error(), "wrong.yaml") {
			t.Errorf("%s: %v", name, err)
		}
		if r := s.get("/v1/twin/rows?check_id=A"); r.status != 404 {
			t.Errorf("%s: some of the job files are in use", name)
		}
		if r := s.get("/v1/check/rows?check_id=A"); r.status != 200 {
			t.Errorf("%s: %s", name, r.body)
		}
	}
	if err := os.Remove(filepath.Join(s.dir, "wrong.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	if r := s.get("/v1/twin/rows?check_id=A"); r.status != 200 || !strings.Contains(s.get("/openapi.json").body, "/v1/twin/rows") {
		t.Errorf("%s", r.body)
	}
	s.write(t, "two words", checkJob)
	if err := s.Reload(); err == nil {
		t.Error("a name with a blank is taken")
	}
	if _, err := Open(Options{Jobs: t.TempDir()}); err == nil {
		t.Error("no job file is taken")
	}
	if _, err := Open(Options{Jobs: filepath.Join(s.dir, "none")}); err == nil {
		t.Error("no directory is taken")
	}
}

// TestWatch checks that changed files are read after they stayed unchanged for one interval.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := checks(t, Options{WatchEvery: time.Second}, 1)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { s.watch(ctx); close(ended) }()
		served := func(name string) bool { return s.resources().byName[name] != nil }
		<-time.After(1500 * time.Millisecond) // of the bubble: between two looks
		s.write(t, "twin", checkJob)
		<-time.After(time.Second)
		if served("twin") {
			t.Error("a file is read while it may still be written")
		}
		<-time.After(time.Second)
		if !served("twin") {
			t.Error("the file was not read")
		}
		s.write(t, "third", "table: [")
		<-time.After(5 * time.Second)
		if served("third") || !served("twin") {
			t.Error("a wrong file changed what is served")
		}
		s.write(t, "third", checkJob)
		<-time.After(5 * time.Second)
		if !served("third") {
			t.Error("the corrected file was not read")
		}
		stop()
		<-ended
	})
}

// TestCallersThatHangUp checks that a caller that hangs up while the salts of a job are compared says nothing about its table.
func TestCallersThatHangUp(t *testing.T) {
	s := checks(t, Options{}, 1)
	for _, r := range s.resources().list {
		r.state.Store(&tableState{})
	}
	testcheck.Must(t, s.Reload()) // the salts are compared again
	ctx, hangUp := context.WithCancel(t.Context())
	gone := make(chan struct{})
	defer close(gone)
	s.fake.onRow = func(int, []byte) error {
		hangUp()
		<-gone
		return nil
	}
	s.do(httptest.NewRequestWithContext(ctx, "GET", "/v1/check/rows?check_id=A", nil))
	if r := s.get("/readyz"); strings.Contains(r.body, `"ready":false`) {
		t.Errorf("%s", r.body)
	}
}
