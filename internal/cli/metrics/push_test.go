package metrics

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"bulkload/internal/cli/deliver"
	"bulkload/internal/cli/ending"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

func TestPush(t *testing.T) {
	var method, path, user, password string
	families := map[string]*dto.MetricFamily{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method, path = r.Method, r.URL.Path
		user, password, _ = r.BasicAuth()
		d := expfmt.NewDecoder(r.Body, expfmt.ResponseFormat(r.Header))
		for {
			f := &dto.MetricFamily{}
			if err := d.Decode(f); err != nil {
				break
			}
			families[f.GetName()] = f
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	defer server.Close()
	to, err := deliver.ParseTarget(strings.Replace(server.URL, "http://", "http://tina:s3cret@", 1))
	if err != nil {
		t.Fatal(err)
	}
	if err := Push(t.Context(), to, 1, done(), labels(t)); err != nil {
		t.Fatal(err)
	}
	if method != "POST" || !strings.HasPrefix(path, "/metrics/job/bulkload/") || !strings.Contains(path, "/table/test:check") || !strings.Contains(path, "/team/risk") {
		t.Errorf("%s %s", method, path)
	}
	if user != "tina" || password != "s3cret" {
		t.Errorf("user %q, password %q", user, password)
	}
	const further = 3 // number of tables that this run does not have
	if len(families) != len(lastRun)-further {
		t.Errorf("%d metrics came, want %d", len(families), len(lastRun)-further)
	}
	failed := Run{Outcome: ending.Outcome{Code: 7, Began: noon, Ended: noon}}
	clear(families)
	if err := Push(t.Context(), to, 1, failed, labels(t)); err != nil {
		t.Fatal(err)
	}
	if families["bulkload_last_success_timestamp_seconds"] != nil || families["bulkload_last_run_exit_code"] == nil {
		t.Error("a failed run must leave the time of the last success alone, and push the rest")
	}
	already := done()
	already.Result.Already, already.Success = true, noon.Add(-24*time.Hour)
	clear(families)
	if err := Push(t.Context(), to, 1, already, labels(t)); err != nil {
		t.Fatal(err)
	}
	if families["bulkload_last_success_timestamp_seconds"] != nil || families["bulkload_last_run_already_done"] == nil {
		t.Error("a run that finds its job done must leave the time of the last success alone, which may be that of a later job, and push the rest")
	}
}

// TestPushError checks that errors of every origin name the server's address and nothing secret.
func TestPushError(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	for name, tc := range map[string]struct {
		code  int
		tries int // number of attempts that arrive
		want  string
	}{
		"no server":  {code: 0, want: "connection refused"},
		"unfit":      {code: 400, tries: 1, want: `400 Bad Request: "inconsistent"`},
		"locked":     {code: 401, tries: 1, want: "401 Unauthorized"},
		"overloaded": {code: 503, tries: 2, want: "try 2: it answered 503"},
	} {
		t.Run(name, func(t *testing.T) {
			tries := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				tries++
				_, _ = io.Copy(io.Discard, r.Body)
				http.Error(w, "inconsistent", tc.code)
			}))
			defer server.Close()
			address := server.URL
			if tc.code == 0 {
				address = closed.URL
			}
			to, err := deliver.ParseTarget(strings.Replace(address, "http://", "http://tina:s3cret@", 1))
			if err != nil {
				t.Fatal(err)
			}
			err = Push(context.Background(), to, 2, done(), labels(t))
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), address) {
				t.Errorf("error %v, want %q and the address", err, tc.want)
			}
			if err != nil && (strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "tina")) {
				t.Errorf("error %v shows a secret", err)
			}
			if tries != tc.tries {
				t.Errorf("%d tries came, want %d", tries, tc.tries)
			}
		})
	}
}
