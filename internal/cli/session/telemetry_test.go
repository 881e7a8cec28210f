package session

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"bulkload/internal/cli/ending"
	"bulkload/internal/cli/lineage"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
)

// TestListens checks that a running job serves its metrics, and that the port is free afterwards.
func TestListens(t *testing.T) {
	cmd := testCommand(&Program{}, nil)
	cmd.SetContext(t.Context())
	t.Setenv("OPENLINEAGE_URL", "")
	s, err := (&Program{}).Begin(cmd, slog.New(slog.DiscardHandler), lineage.Subject{Command: "run", Spec: spec.Spec{Table: "test:check"}, Env: &cluster.Env{Conf: &hdfsio.Conf{}}},
		&Watch{report: "off", progress: "off", telemetryFlags: telemetryFlags{listen: "127.0.0.1:0", stalledAfter: time.Minute}})
	testcheck.Must(t, err)
	l := s.observers[1].(observers).parts[0].(*listener)
	l.moved.Store(0)
	e := s.Events()
	status := func() int {
		r, err := http.Get(fmt.Sprintf("http://%s/healthz", l.server.Addr()))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		_, _ = io.Copy(io.Discard, r.Body)
		return r.StatusCode
	}
	e.OnWarn("a retry")
	if got := status(); got != 503 {
		t.Errorf("a job that only warns is healthy: %d", got)
	}
	e.OnRows(1, 1)
	if got := status(); got != 200 {
		t.Errorf("a job that reads is not healthy: %d", got)
	}
	for name, work := range map[string]func(int64){"copies a stream": e.OnScanned, "checks files": e.OnChecked, "compares": e.OnRead} {
		l.moved.Store(0)
		if work(1); status() != 200 {
			t.Errorf("a job that %s is not healthy", name)
		}
	}
	if err := s.End(nil, nil); err != nil {
		t.Fatal(err)
	}
	again, err := net.Listen("tcp", l.server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	_ = again.Close()
	http.DefaultClient.CloseIdleConnections()
}

// TestStopTells checks the time limit of the reports after a stop, also for a stop during the reports: the whole
// program has 15 s.
func TestStopTells(t *testing.T) {
	for name, tc := range map[string]struct{ stop, want time.Duration }{ // 0: at once; below 0: never
		"never":  {-1, reportTime},
		"before": {0, stoppedReportTime},
		"during": {4 * time.Second, 4*time.Second + stoppedReportTime},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tc.stop == 0 {
					cancel()
				} else if tc.stop > 0 {
					time.AfterFunc(tc.stop, cancel)
				}
				begun := time.Now()
				if err := (observers{[]observer{patient{}}, &inputs{}}).End(ctx, ending.Outcome{}); err == nil {
					t.Error("no request was kept from waiting")
				}
				if got := time.Since(begun); got != tc.want {
					t.Errorf("reported for %s, want %s", got, tc.want)
				}
			})
		})
	}
}

// patient waits for a response that does not arrive.
type patient struct{}

func (patient) Events() progress.Events { return progress.Events{} }

func (patient) End(ctx context.Context, _ ending.Outcome) error {
	<-ctx.Done()
	return ctx.Err()
}
