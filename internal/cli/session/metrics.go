package session

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"bulkload/internal/cli/ending"
	"bulkload/internal/cli/metrics"
	"bulkload/internal/model/progress"
)

// atEnd is an observer that only reports the end.
type atEnd func(context.Context, ending.Outcome) error

func (atEnd) Events() progress.Events { return progress.Events{} }

func (f atEnd) End(ctx context.Context, o ending.Outcome) error { return f(ctx, o) }

// lastRun returns the metrics of the run. A job that was done before keeps the time of its earlier success: a cron job
// that requests the same day night after night must not look healthy.
func (s *Session) lastRun(input progress.Amount, o ending.Outcome) metrics.Run {
	r := metrics.Run{Outcome: o, Input: input, Loads: s.about.Command != "build", Given: s.about.Command == "load", Build: s.program.Build}
	for _, t := range s.about.Spec.Tables {
		r.Further = append(r.Further, t.Table)
	}
	switch {
	case o.Err != nil:
	case o.Result != nil && o.Result.Already:
		r.Success = o.Result.DoneAt
	default:
		r.Success = o.Ended
	}
	return r
}

// closingTime is the time limit for running requests at the end.
const closingTime = time.Second

// listener serves the current run's metrics, and records the time of the last progress. It does not report the end:
// the server ends with the process.
type listener struct {
	server *metrics.Server
	moved  atomic.Int64 // nanoseconds of Unix time
	paused atomic.Bool
}

func (l *listener) lastMoved() time.Time { return time.Unix(0, l.moved.Load()) }

func (t *telemetryFlags) serve(s *Session, l metrics.Labels) (*listener, error) {
	if _, _, err := net.SplitHostPort(t.listen); err != nil {
		return nil, fmt.Errorf("%q is not a host:port", t.listen)
	}
	w := &listener{}
	w.moved.Store(time.Now().UnixNano())
	var err error
	w.server, err = metrics.Serve(t.listen, metrics.ServeOptions{Labels: l, Stalled: t.stalledAfter, Log: s.log,
		Live: metrics.Live{Progress: s.tracker.Progress, Moved: w.lastMoved, Paused: w.paused.Load, Build: s.program.Build}})
	if err == nil {
		s.log.Info("listening", "address", w.server.Addr())
	}
	return w, err
}

// Events record the time of all work. Notes and warnings do not count, since a retry warns endlessly.
func (l *listener) Events() progress.Events {
	move := func() { l.moved.Store(time.Now().UnixNano()) }
	return progress.Events{
		OnStart:   func(progress.Start) { move() },
		OnPhase:   func(string) { move() },
		OnScanned: func(int64) { move() },
		OnRows:    func(int64, int64) { move() },
		OnSplit:   move,
		OnSpill:   func(int64, int64) { move() },
		OnMerged:  func(int64) { move() },
		OnWritten: func(int64) { move() },
		OnHFile:   func(progress.HFile) { move() },
		OnChecked: func(int64) { move() },
		OnLoad:    func(string, int) { move() },
		OnRead:    func(int64) { move() },
		OnPause:   func(p progress.Pause) { l.paused.Store(p.Reason != ""); move() },
	}
}

func (l *listener) End(ctx context.Context, _ ending.Outcome) error {
	ctx, cancel := context.WithTimeout(ctx, closingTime)
	defer cancel()
	return l.server.Close(ctx)
}
