package main

import (
	"context"
	"runtime/debug"

	"bulkload/internal/cli/deliver"
	"bulkload/internal/cli/metrics"
	"bulkload/internal/model/progress"
)

// metricsFile writes the metrics of the run that has ended.
type metricsFile struct {
	name    string
	labels  metrics.Labels
	subject subject
	input   *inputs
}

func (m metricsFile) events() progress.Events { return progress.Events{} }

func (m metricsFile) tell(_ context.Context, o outcome) error {
	return metrics.WriteFile(m.name, lastRun(m.subject, m.input.amount(), o), m.labels)
}

// metricsPush pushes the metrics of the run that has ended.
type metricsPush struct {
	to      deliver.Target
	labels  metrics.Labels
	subject subject
	input   *inputs
}

func (m metricsPush) events() progress.Events { return progress.Events{} }

func (m metricsPush) tell(ctx context.Context, o outcome) error {
	return metrics.Push(ctx, m.to, deliver.Tries, lastRun(m.subject, m.input.amount(), o), m.labels)
}

// lastRun is a run as metrics know it. A job that was done before was successful then, not now: a cron line that asks for
// the same day night after night must not look healthy.
func lastRun(s subject, input progress.Amount, o outcome) metrics.Run {
	r := metrics.Run{Code: o.code, Began: o.began, Ended: o.ended, Result: o.result, Input: input, Progress: o.progress, Loads: s.command != "build", Build: program()}
	switch {
	case o.err != nil:
	case o.result != nil && o.result.Already:
		r.Success = o.result.DoneAt
	default:
		r.Success = o.ended
	}
	return r
}

// program is which program this is.
func program() metrics.Build {
	b := metrics.Build{Version: version}
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
