package session

import (
	"context"
	"runtime/debug"

	"bulkload/internal/cli/deliver"
	"bulkload/internal/cli/ending"
	"bulkload/internal/cli/metrics"
	"bulkload/internal/model/progress"
)

// metricsFile writes the metrics of the run that has ended.
type metricsFile struct {
	name    string
	labels  metrics.Labels
	session *Session
	input   *inputs
}

func (m metricsFile) Events() progress.Events { return progress.Events{} }

func (m metricsFile) Tell(_ context.Context, o ending.Outcome) error {
	return metrics.WriteFile(m.name, m.session.lastRun(m.input.amount(), o), m.labels)
}

// metricsPush pushes the metrics of the run that has ended.
type metricsPush struct {
	to      deliver.Target
	labels  metrics.Labels
	session *Session
	input   *inputs
}

func (m metricsPush) Events() progress.Events { return progress.Events{} }

func (m metricsPush) Tell(ctx context.Context, o ending.Outcome) error {
	return metrics.Push(ctx, m.to, deliver.Tries, m.session.lastRun(m.input.amount(), o), m.labels)
}

// lastRun is a run as metrics know it. A job that was done before was successful then, not now: a cron line that asks for
// the same day night after night must not look healthy.
func (s *Session) lastRun(input progress.Amount, o ending.Outcome) metrics.Run {
	r := metrics.Run{Code: o.Code, Began: o.Began, Ended: o.Ended, Result: o.Result, Input: input, Progress: o.Progress, Loads: s.about.Command != "build", Build: s.build()}
	switch {
	case o.Err != nil:
	case o.Result != nil && o.Result.Already:
		r.Success = o.Result.DoneAt
	default:
		r.Success = o.Ended
	}
	return r
}

// build is which program this is.
func (p *Program) build() metrics.Build {
	b := metrics.Build{Version: p.Version}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.Go = info.GoVersion
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				b.Revision = s.Value
			}
		}
	}
	return b
}
